// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <selion/collective_choice.hpp>
#include <selion/detail/export.hpp>
#include <selion/machines.hpp>
#include <selion/schedule.hpp>
#include <selion/world.hpp>

namespace selion {

/// Whether a reduction or scan that is carried out so has the association of values that
/// selion/reduction.hpp and `team::scan` promise; what moves blocks only has none to keep. Of
/// tuned choices only such are taken.
/// @param members of the team: pairs of pairs keep it for 2, 3, 4, 6, 7, 8, 12, … of them, the
/// numbers 2^a - 2^b. @pre a schedule's root is member 0.
SELION_API bool keeps_association(collective_kind what, const collective_choice& choice,
                                  std::uint32_t members);

/// Where a job runs, as far as tables tell it apart: threads, fibers, processes, hybrid for
/// processes of several ranks, or fabric.
SELION_API std::string_view tuning_machine(const machine_description& machine);
/// The same of a job that runs. Networks differ: `fabric/net/2x4` goes over the provider net, with
/// two groups of ranks that share memory, of four at most.
SELION_API std::string tuning_machine(const world& all);

/// Where the table of measured collectives of this host belongs; `selion tune` writes it.
struct tuning_place {
    std::string host;  ///< a short name of what decides how quick it is
    std::string path;  ///< in the user's cache folder; empty where there is no such folder
};
SELION_API tuning_place usual_tuning_place();
/// Path of the table that a job started now would look for: the one that SELION_TUNING names, or
/// the usual one. Whether it is there is not asked. Empty where tables are off, or have no place.
SELION_API std::string tuning_path_in_use();

}  // namespace selion
