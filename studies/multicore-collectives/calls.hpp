// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <selion/selion.hpp>

#include "harness/arguments.hpp"

namespace multicore {

/// A collective, and bytes of it: of the vector, or of an exchange for each pair.
struct subject {
    selion::collective_kind what = selion::collective_kind::barrier;
    std::uint64_t bytes = 0;
};

/// Reads and checks `collective` and `bytes`. @error study::bad_argument
subject read_subject(const nlohmann::ordered_json& params);

/// Up to so many bytes a flag that one member writes and all others read carries the data along.
inline constexpr std::uint64_t flag_bytes = 112;

/// No tree: a root and all others, or each with each.
inline constexpr std::uint32_t flat = 0;

/// A k-nomial tree of so many branches, or `flat`. Exchanges have no trees: Bruck's algorithm has
/// the radix, and the flat one goes through all others in turn, each rank beginning behind itself.
selion::collective_choice choice_of(selion::collective_kind what, selion::collective_way way,
                                    std::uint32_t radix);

/// Zeroed memory of every rank, alike in lines of the cache on all runs. Collective.
std::span<double> shared_doubles(const selion::world& world, std::uint64_t count);

/// One collective of a team, called again and again.
class team_call {
public:
    /// Collective of the world. The memory lives as long as the job.
    team_call(const selion::world& world, selion::team team, const subject& what);

    /// From now on in shared memory, by a tree or flat. A radix of the team's size is flat.
    /// Flat and short ones go through one flag of each member, which all others may read.
    void choose(std::uint32_t radix);
    void choose(const std::optional<selion::collective_choice>& how);
    void run(std::uint32_t root) const;

    const selion::team& team() const { return team_; }
    const subject& what() const { return what_; }

private:
    selion::team team_;
    subject what_;
    bool by_flags_ = false;
    std::span<double> own_;
    std::span<double> others_;  ///< of an exchange
};

}  // namespace multicore
