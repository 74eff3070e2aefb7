// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherence/block_access.hpp"
#include "coherence/block_message.hpp"
#include "selion/detail/block_view.hpp"

namespace selion::coherence {

/// What both sides of the protocol need of the rank that they run for.
class protocol_host {
public:
    virtual ~protocol_host() = default;
    /// Data are copied. May take in other messages before it returns, so callers send last.
    virtual void send(std::uint32_t rank, const block_message& message) = 0;
    /// Where a block of the rank's own lies.
    virtual std::byte* memory_of(std::uint64_t block) = 0;
    /// What others may have of it: without what the rank has not released.
    virtual const std::byte* released_memory_of(std::uint64_t block) = 0;
    /// The rank may no longer write the block at once, or not even read it.
    virtual void forget(std::uint64_t block) = 0;
    /// What the rank may do at once with a block of its own, as others may see it: one that it may
    /// write is nobody else's, and one that it may read nobody has written. Not called, but in
    /// checking builds.
    virtual void show(std::uint64_t block, detail::own_state state) = 0;
    /// Whether a block has been used since this was asked last.
    virtual bool was_used(std::uint64_t block) = 0;
    /// A block is about to be written at its place here, for which the rank has the right.
    virtual void begin_write(std::uint64_t block, const std::byte* here) = 0;
    /// The home of a block that has been written, and whoever has copies of it, are to get that.
    virtual void send_changes(std::uint64_t block, const std::byte* here) = 0;
    /// A waiting access has been carried out.
    virtual void finish(block_access& access) = 0;
};

}  // namespace selion::coherence
