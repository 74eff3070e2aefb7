// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace em3d {

/// What a run found out.
struct report {
    std::string graph;  ///< the mesh's file, or what the random graph was made from
    std::string machine;
    std::uint32_t ranks = 0;
    std::uint32_t electric_nodes = 0;
    std::uint32_t magnetic_nodes = 0;
    std::uint64_t dependencies = 0;
    std::uint64_t cut = 0;
    std::uint64_t remote_reads = 0;          ///< by all ranks, in all iterations
    std::vector<std::int64_t> iteration_ns;  ///< barrier to barrier; on rank 0 only
    std::uint64_t checksum = 0;
    std::optional<std::string> difference;  ///< set if verified; empty: none
};

/// Some lines for people.
std::string as_text(const report& run);

/// One line of JSON. The file's name is taken for UTF-8.
std::string as_json(const report& run);

}  // namespace em3d
