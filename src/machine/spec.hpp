// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "selion/error.hpp"

namespace selion::machine {

/// A machine spec in its parts: `kind:body,option=value,…`.
struct machine_spec {
    std::string text;  ///< as given
    std::string kind;
    std::string body;  ///< between the colon and the first comma; empty when absent
    std::map<std::string, std::string, std::less<>> options;
};

/// Splits a spec. @error bad_argument for an empty kind, an option without a value or given twice.
result<machine_spec> split_spec(std::string_view text);

/// How many processes, ranks and threads a machine on one host consists of.
struct node_shape {
    std::uint32_t processes = 1;
    std::uint32_t ranks_per_process = 1;
    std::uint32_t carriers_per_process = 1;  ///< fewer than ranks: the ranks are fibers
    bool fibers_by_default = false;          ///< the spec left the choice, and cores are few
    bool carriers_given = false;             ///< the spec says "@C"

    std::uint32_t ranks() const { return processes * ranks_per_process; }
    std::uint32_t carriers() const { return processes * carriers_per_process; }
    bool has_fibers() const { return carriers_per_process < ranks_per_process; }
    /// The carrier of a rank, counted over all processes: carrier `c` of `C` in a process with `R`
    /// ranks has those from R c / C on.
    std::uint32_t carrier_of(std::uint32_t rank) const {
        const std::uint64_t local = rank % ranks_per_process;
        const std::uint64_t carrier = ((local + 1) * carriers_per_process - 1) / ranks_per_process;
        return rank / ranks_per_process * carriers_per_process +
               static_cast<std::uint32_t>(carrier);
    }
};

/// @param cores usable cores; fills in what the spec leaves out.
/// @error bad_argument with the mistake and the legal forms.
result<node_shape> threads_shape(const machine_spec& spec, std::uint32_t cores);
result<node_shape> processes_shape(const machine_spec& spec, std::uint32_t cores);

/// The complete spec of a shape: "threads:64@2", "processes:2x4".
std::string spec_of(std::string_view kind, const node_shape& shape);

/// Most ranks that an address can name.
inline constexpr std::uint32_t max_ranks = (1u << 20) - 1;
/// Most ranks that share memory: each has a byte at least of what a collective shares.
inline constexpr std::uint32_t max_mapped_ranks = 32 * 1024;

/// A count of ranks, threads or processes in a spec: 1 to `max_ranks`.
std::optional<std::uint32_t> parse_count(std::string_view text);
/// "\"x\" is not a number of ranks (1 to …)".
std::string not_a_count(std::string_view text, std::string_view what);

}  // namespace selion::machine
