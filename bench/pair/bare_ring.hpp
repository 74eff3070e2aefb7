// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "harness/flags.hpp"

namespace bench::bare {

/// Messages by hand: a line for each, with the function that its receiver calls and its arguments;
/// eight lines are used in turn. The least that a message can cost.
struct alignas(64) ring_slot {
    std::uint64_t number;    ///< of the message that is in it, from 1
    std::uint64_t function;  ///< its distance from `ring_anchor`: processes lie at other addresses
    std::array<std::uint64_t, 2> about;
    std::array<std::uint64_t, 4> arguments;
};
inline constexpr std::uint64_t ring_slots = 8;
struct alignas(128) ring {
    std::array<ring_slot, ring_slots> slots;
};

inline char ring_anchor = 0;

class ring_end;
using ring_function = void (*)(ring_end&, const std::array<std::uint64_t, 4>&);

/// One of two ranks, which write to each other's ring.
class ring_end {
public:
    ring_end(ring* own, ring* other) : own_(own), other_(other) {}

    [[gnu::noinline]] void send(ring_function function, std::uint64_t argument) {
        ring_slot& slot = other_->slots[sent_ % ring_slots];
        slot.function = reinterpret_cast<std::uint64_t>(function) - anchor();
        slot.about = {1, sizeof argument};
        slot.arguments[0] = argument;
        raise(slot.number, ++sent_);
    }
    /// Calls the function of the next message, once that is there.
    template <between_looks Between>
    void receive() {
        ring_slot& slot = own_->slots[taken_ % ring_slots];
        await<Between>(slot.number, ++taken_);
        const std::array<std::uint64_t, 4> arguments = slot.arguments;
        reinterpret_cast<ring_function>(slot.function + anchor())(*this, arguments);
    }

private:
    static std::uint64_t anchor() { return reinterpret_cast<std::uint64_t>(&ring_anchor); }

    ring* own_;
    ring* other_;
    std::uint64_t sent_ = 0;
    std::uint64_t taken_ = 0;
};

}  // namespace bench::bare
