// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lapi/names.hpp"

namespace selion::lapi {

/// Pieces of memory one behind the other, as a vector of LAPI describes them.
class piece_walk {
public:
    /// One piece.
    piece_walk(void* address, std::size_t bytes)
        : address_(static_cast<std::byte*>(address)), bytes_(bytes) {}
    /// @pre the vector stays while it is walked.
    explicit piece_walk(const lapi_vec_t& vector) : vector_(&vector) { find_next(); }

    bool is_at_end() const { return bytes_ == 0; }
    std::byte* address() const { return address_; }
    /// Bytes of the present piece that are left; 0 only at the end.
    std::size_t bytes() const { return bytes_; }

    void advance(std::size_t bytes) {
        address_ += bytes;
        bytes_ -= bytes;
        if (bytes_ == 0) find_next();
    }

private:
    void find_next() {
        while (bytes_ == 0 && vector_ != nullptr && next_ < vector_->num_vecs) {
            start_piece(next_++);
        }
    }
    void start_piece(std::uint64_t which) {
        if (vector_->vec_type == LAPI_GEN_STRIDED_XFER) {
            const auto stride = reinterpret_cast<std::uint64_t>(vector_->info[2]);
            address_ = static_cast<std::byte*>(vector_->info[0]) + which * stride;
            bytes_ = reinterpret_cast<std::uint64_t>(vector_->info[1]);
        } else {
            address_ = static_cast<std::byte*>(vector_->info[which]);
            bytes_ = vector_->len[which];
        }
    }

    const lapi_vec_t* vector_ = nullptr;
    std::uint64_t next_ = 0;
    std::byte* address_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Copies bytes to where a walk stands, and moves it on. @return how many found a place.
inline std::size_t write_to(piece_walk& place, std::span<const std::byte> data) {
    std::size_t done = 0;
    while (done < data.size() && !place.is_at_end()) {
        const std::size_t now = std::min(place.bytes(), data.size() - done);
        std::memcpy(place.address(), data.data() + done, now);
        place.advance(now);
        done += now;
    }
    return done;
}

/// Fills a buffer from where a walk stands, and moves it on. @return the bytes that there were.
inline std::size_t read_from(piece_walk& source, std::span<std::byte> into) {
    std::size_t done = 0;
    while (done < into.size() && !source.is_at_end()) {
        const std::size_t now = std::min(source.bytes(), into.size() - done);
        std::memcpy(into.data() + done, source.address(), now);
        source.advance(now);
        done += now;
    }
    return done;
}

/// Bytes of all pieces.
std::uint64_t total_bytes(const lapi_vec_t& vector);

/// @return LAPI_SUCCESS, or what is wrong with a vector of the origin, or of the target.
int check_origin_vector(const lapi_vec_t* vector);
int check_target_vector(const lapi_vec_t* vector);
enum class data_way { to_target, to_origin };
/// The same for a pair of them, one of which has to have room for what the other has.
int check_vectors(const lapi_vec_t* target, const lapi_vec_t* origin, data_way way);

}  // namespace selion::lapi
