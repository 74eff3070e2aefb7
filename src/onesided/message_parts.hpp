// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "machine/machine.hpp"
#include "selion/counter.hpp"

/// Messages in the words of the machine: which of these a message has is its kind; those that are
/// words stand in front of its arguments, in this order.
namespace selion::detail {

enum message_part : std::uint16_t {
    origin_counter = 1,    ///< address at the origin, of a message whose data are lent
    target_counter = 2,    ///< global address
    completion = 4,        ///< address of a counter at the origin
    future_of_result = 8,  ///< address of a state at the origin
    long_arguments = 16,   ///< they stand in front of the data
    // Replies:
    count_reply = 32,  ///< counters count
    value_reply = 64,  ///< a future has its value
    error_reply = 128,
};

/// Words, and then what else fits, filled up to whole words.
class argument_writer {
public:
    void add(std::uint64_t word) { add(&word, sizeof word); }
    void add(const void* from, std::size_t bytes) {
        if (bytes != 0) std::memcpy(bytes_.data() + used_, from, bytes);
        used_ += in_whole_words(bytes);
    }
    std::size_t free_bytes() const { return bytes_.size() - used_; }
    std::span<const std::byte> bytes() const { return {bytes_.data(), used_}; }

private:
    std::array<std::byte, most_argument_bytes> bytes_;
    std::size_t used_ = 0;
};

class argument_reader {
public:
    explicit argument_reader(std::span<const std::byte> bytes) : rest_(bytes) {}
    std::uint64_t word() {
        std::uint64_t value = 0;
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_ = rest_.subspan(sizeof value);
        return value;
    }
    std::uint64_t word_if(bool is_there) { return is_there ? word() : 0; }
    std::span<const std::byte> rest() const { return rest_; }

private:
    std::span<const std::byte> rest_;
};

inline counter* counter_at(std::uint64_t address) { return reinterpret_cast<counter*>(address); }

/// By handlers, and by what follows them.
void send_reply(rank_context& context, std::uint32_t origin, std::uint16_t kind,
                const argument_writer& arguments, std::span<const std::byte> data = {});

}  // namespace selion::detail
