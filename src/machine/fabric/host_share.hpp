// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "machine/fabric/card.hpp"
#include "machine/fabric/launcher_link.hpp"
#include "machine/fabric/rank_places.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/shared_mapping.hpp"
#include "selion/error.hpp"

/// Memory that ranks of one host share: who they are, and how they come to one mapping. Why, and
/// what each step relies on: protocol.md.
namespace selion::machine::fabric {

/// What this process has to do for the memory of its host's ranks.
class host_share {
public:
    /// @param place the processes in it may be renumbered until the mapping is made.
    /// @param offer_of what the card of another process says. Called once all cards are out.
    host_share(const launch_place& place,
               std::function<share_offer(std::uint32_t process)> offer_of)
        : place_(place), offer_of_(std::move(offer_of)) {}
    ~host_share();
    host_share(const host_share&) = delete;
    host_share& operator=(const host_share&) = delete;

    /// What the own card says. @param is_direct its ranks want to share.
    share_offer offer(bool is_direct);
    /// Of each rank's memory, as rank 0 finds right. @error bad_argument
    result<std::uint64_t> reserve_bytes(const node::job_setting& setting) const;
    /// Makes or joins the mapping of the processes that share memory with the own one: neighbours
    /// on its host that see each other. All of them find the same.
    /// @param setting as `terms` has it, wherever all have to do alike.
    result<node::shared_mapping> make_mapping(const node::job_setting& setting,
                                              const job_terms& terms);

    /// How many processes the mapping is of, once it is made, and which of them is the own one.
    std::uint32_t near_count() const { return near_count_; }
    std::uint32_t own_index() const { return place_.process - first_near_; }
    /// Other processes of the host that this one sees, and the numbers by which it does.
    std::vector<std::pair<std::uint32_t, std::int32_t>> seen_beside() const;
    /// The ranks of the mapping.
    rank_range mapped(std::uint32_t ranks_per_process) const {
        return {first_near_ * ranks_per_process, near_count_ * ranks_per_process};
    }

private:
    share_offer offer_of(std::uint32_t process) const;
    void find_near(std::uint32_t ranks_per_process, const job_terms& terms);
    bool have_barriers() const;
    result<node::shared_mapping> create(const node::mapping_plan& plan, std::uint32_t thread_level);

    const launch_place& place_;
    std::function<share_offer(std::uint32_t process)> offer_of_;
    share_offer own_;
    int file_ = -1;  ///< a memory file, until it is known whose the processes of the host take
    std::uint32_t first_near_ = 0;
    std::uint32_t near_count_ = 1;
};

}  // namespace selion::machine::fabric
