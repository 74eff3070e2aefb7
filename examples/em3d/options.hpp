// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "random_graph.hpp"

namespace em3d {

/// What the command line asks for.
struct options {
    std::optional<std::string> mesh_file;  ///< unset: the random graph
    random_graph_settings graph;           ///< of which the seed counts for meshes as well
    std::uint32_t iterations = 100;
    std::optional<std::string> field_file;  ///< written after the run; for meshes only
    bool is_verified = false;
    bool is_json = false;
    bool is_help = false;
};

/// A command line that cannot be used, in one sentence.
class bad_option : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// @param arguments without the program's name. Throws `bad_option`.
options parse_options(std::span<const char* const> arguments);

/// What --help prints.
const char* help_text();

}  // namespace em3d
