// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>

#include "coherence/protocol_host.hpp"
#include "coherence/rank_set.hpp"
#include "selion/detail/block_view.hpp"

namespace selion::coherence {

/// A rank that wants a block, or the home's own access that waits for it.
struct block_request {
    std::uint32_t rank;
    message_kind kind;  ///< get_shared, get_modified or upgrade
    block_access* own = nullptr;
};

/// The home's side of the protocol: what it knows of its blocks that others have had. See
/// protocol.md.
class directory {
public:
    /// @param rank whose it is.
    directory(protocol_host& host, std::uint32_t rank, std::uint64_t block_bytes)
        : host_(host), rank_(rank), block_bytes_(block_bytes) {}

    /// What the home may do with a block at once. @param block address of its first byte.
    detail::own_state state_of(std::uint64_t block) const;
    /// Whether nobody else has ever had it.
    bool is_untouched(std::uint64_t block) const { return blocks_.find(block) == blocks_.end(); }
    /// An access of the home's own that is not its right now.
    /// @param access waits until the host is told that it is finished.
    void ask(block_access& access, std::uint64_t block);

    void receive(std::uint32_t from, const block_message& message);

    /// Who may have copies.
    const rank_set& sharers_of(std::uint64_t block) const;

    std::uint64_t entries() const { return blocks_.size(); }
    std::uint64_t invalidations() const { return invalidations_; }
    std::uint64_t flushes() const { return flushes_; }

private:
    /// What is being done for one rank, and who waits.
    struct service {
        block_request served;
        std::size_t missing = 0;  ///< acknowledgements
        bool wants_data = false;  ///< of the owner
        std::deque<block_request> waiting;
    };
    struct home_block {
        std::uint32_t owner = nobody;
        rank_set sharers;
        std::unique_ptr<service> busy;
    };
    static constexpr std::uint32_t nobody = UINT32_MAX;
    using block_map = std::unordered_map<std::uint64_t, home_block>;

    void ask(block_map::value_type& which, const block_request& request);
    bool begin(block_map::value_type& which);
    void carry_out(block_map::value_type& which);
    void grant(block_map::value_type& which, const block_request& to);
    void forget_sharer(std::uint32_t rank);
    void come_home(home_block& block, std::uint64_t address, std::span<const std::byte> data);
    void show(std::uint64_t address, const home_block& block);

    protocol_host& host_;
    std::uint32_t rank_;
    std::uint64_t block_bytes_;
    block_map blocks_;
    std::uint64_t invalidations_ = 0;
    std::uint64_t flushes_ = 0;
};

}  // namespace selion::coherence
