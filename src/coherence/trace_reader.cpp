// SPDX-License-Identifier: Apache-2.0
#include "coherence/trace_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "selion/detail/rank_context.hpp"
#include "selion/error.hpp"

namespace selion::coherence {

using trace_format::record;
using trace_format::unfold_sign;

trace_reader::trace_reader(const std::string& path) : path_(path), buffer_(1 << 16) {
    file_.rdbuf()->pubsetbuf(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    file_.open(path, std::ios::binary | std::ios::ate);
    file_bytes_ = static_cast<std::uint64_t>(std::max<std::streamoff>(file_.tellg(), 0));
    file_.seekg(0);
    if (!file_) {
        throw error(status::bad_argument,
                    fmt::format("the trace {} cannot be read: {}", path, std::strerror(errno)));
    }
    std::string magic(trace_format::magic.size(), '\0');
    file_.read(magic.data(), static_cast<std::streamsize>(magic.size()));
    head_.rank = static_cast<std::uint32_t>(number());
    head_.ranks = static_cast<std::uint32_t>(number());
    head_.run = number();
    head_.space = number();
    head_.block_bytes = number();
    head_.offset = number();
    head_.bytes = number();
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << detail::offset_bits;
    const bool is_possible = head_.rank < head_.ranks && std::has_single_bit(head_.block_bytes) &&
                             head_.block_bytes >= 8 && head_.block_bytes <= 65536 &&
                             head_.bytes <= most_bytes && head_.offset <= most_bytes;
    if (!file_ || magic != trace_format::magic || !is_possible) {
        throw error(status::bad_argument, fmt::format("{} is no trace of accesses", path));
    }
}

/// 0 at the end of the file.
std::uint64_t trace_reader::number() {
    constexpr unsigned bits = 7;
    constexpr unsigned most_bits = 64;
    constexpr std::uint64_t more = 1 << bits;
    std::uint64_t found = 0;
    for (unsigned shift = 0; shift < most_bits; shift += bits) {
        const int byte = file_.get();
        if (byte == std::ifstream::traits_type::eof()) return 0;
        const auto part = static_cast<std::uint64_t>(byte);
        found |= part % more << shift;
        if (part < more) return found;
    }
    file_.setstate(std::ios::failbit);
    return 0;
}

void trace_reader::read_array() {
    named_array array;
    array.offset = number();
    array.bytes = number();
    array.name.resize(std::min(number(), file_bytes_));  // what is cut off is not there
    file_.read(array.name.data(), static_cast<std::streamsize>(array.name.size()));
    if (file_) arrays_.push_back(array);
}

void trace_reader::refuse(const std::string& what) {
    throw error(status::bad_argument,
                fmt::format("{} {} near byte {}, which no trace of accesses has", path_, what,
                            static_cast<std::int64_t>(file_.tellg())));
}

void trace_reader::read_totals() {
    misses_ = number();
    waited_ps_ = static_cast<std::int64_t>(number());
    left_out_ = number();
    if (!file_) return;
    if (file_.peek() != std::ifstream::traits_type::eof()) refuse("goes on behind its totals");
    is_whole_ = true;
}

/// @return false: the file ends before.
bool trace_reader::read_access(record what) {
    const std::uint64_t last_end = access_.address + access_.bytes;
    access_.what = what;
    access_.address = last_end + static_cast<std::uint64_t>(unfold_sign(number()));
    access_.bytes = number();
    if (access_.bytes > head_.bytes) {
        refuse(
            fmt::format("has an access of {} bytes to a space of {}", access_.bytes, head_.bytes));
    }
    return read_time();
}

bool trace_reader::read_time() {
    // Sums of a damaged file may be any.
    access_.at_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(access_.at_ns) +
                                              static_cast<std::uint64_t>(unfold_sign(number())));
    return static_cast<bool>(file_);
}

bool trace_reader::advance() {
    while (true) {
        const int what = file_.get();
        if (!file_) return false;
        switch (static_cast<record>(what)) {
            case record::array: read_array(); continue;
            case record::totals: read_totals(); return false;
            case record::read:
            case record::write: return read_access(static_cast<record>(what));
            case record::flush:
            case record::invalidate: access_.what = static_cast<record>(what); return read_time();
        }
        refuse(fmt::format("has a record of kind {}", what));
    }
}

}  // namespace selion::coherence
