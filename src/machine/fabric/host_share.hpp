// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "machine/fabric/card.hpp"
#include "machine/fabric/launcher_link.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/shared_mapping.hpp"
#include "selion/error.hpp"

/// Memory that ranks of one host share: who they are, and how they come to one mapping. Why, and
/// what each step relies on: protocol.md.
namespace selion::machine::fabric {

/// Neighbours in number.
struct rank_range {
    std::uint32_t first = 0;
    std::uint32_t count = 1;
    bool contains(std::uint32_t rank) const { return rank - first < count; }
};

/// What this process has to do for the memory of its host's ranks.
class host_share {
public:
    /// @param place the ranks in it may be renumbered until the mapping is made.
    /// @param offer_of what the card of another rank says. Called once all cards are out.
    host_share(const launch_place& place, std::function<share_offer(std::uint32_t rank)> offer_of)
        : place_(place), offer_of_(std::move(offer_of)) {}
    ~host_share();
    host_share(const host_share&) = delete;
    host_share& operator=(const host_share&) = delete;

    /// What the own card says. @param is_direct the rank wants to share.
    share_offer offer(bool is_direct);
    /// Of each rank's memory, as rank 0 finds right. @error bad_argument
    result<std::uint64_t> reserve_bytes(const node::job_setting& setting) const;
    /// Makes or joins the mapping of the ranks that share memory with the own one: neighbours on
    /// its host that see each other's processes. All of them find the same.
    /// @param setting as `terms` has it, wherever all have to do alike.
    result<node::shared_mapping> make_mapping(const node::job_setting& setting,
                                              const job_terms& terms);

    /// The ranks of the mapping, once it is made.
    rank_range near() const { return near_; }
    std::uint32_t own_index() const { return place_.rank - near_.first; }
    std::string text() const;

private:
    share_offer offer_of(std::uint32_t rank) const;
    void find_near();
    bool have_barriers() const;
    result<node::shared_mapping> create(const node::mapping_plan& plan, std::uint32_t thread_level);

    const launch_place& place_;
    std::function<share_offer(std::uint32_t rank)> offer_of_;
    share_offer own_;
    int file_ = -1;  ///< a memory file, until it is known whose the ranks of the host take
    rank_range near_;
};

}  // namespace selion::machine::fabric
