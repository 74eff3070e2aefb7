// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/fabric/endpoint.hpp"

namespace selion::machine::fabric {

/// Data of a long message, for its target to read, or where that has read them ("Lent messages" in
/// protocol.md).
struct lent_buffer {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity = 0;
    std::uint64_t key = 0;          ///< by which peers read it
    std::shared_ptr<void> offered;  ///< what lets them, as long as it lives
};

/// The buffers of one rank, which are used again. Of its port, under whose lock they are.
class lent_buffers {
public:
    /// @param end whose peers read them; null: nobody does.
    /// @param most_bytes of all together.
    lent_buffers(endpoint* end, std::uint64_t most_bytes) : end_(end), most_bytes_(most_bytes) {}

    /// @param must it may be more than `most_bytes` then, until it is given back.
    /// @return null: there is no room for so much now.
    lent_buffer* take(std::size_t bytes, bool must = false);
    void give_back(lent_buffer* buffer);
    /// Whether peers have any. Others may look meanwhile.
    bool are_lent() const { return lent_.load(std::memory_order_relaxed) != 0; }

private:
    /// Capacities are powers of two.
    static constexpr std::size_t kinds = 48;

    lent_buffer* make(std::size_t capacity);
    bool make_room(std::size_t bytes);
    void drop(lent_buffer* buffer);

    endpoint* end_;
    std::uint64_t most_bytes_;
    std::uint64_t bytes_ = 0;  ///< of all that there are
    std::vector<std::unique_ptr<lent_buffer>> all_;
    std::array<std::vector<lent_buffer*>, kinds> free_;  ///< by the logarithm of their capacity
    std::atomic<std::uint64_t> lent_ = 0;
};

}  // namespace selion::machine::fabric
