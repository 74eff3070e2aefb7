// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "sparse_matrix.hpp"

namespace conjugate_gradients {

/// A file that cannot be used, in one sentence that begins with its name and, where there is one,
/// the line: `file:line: …`.
class bad_file : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The matrix in the text of a Matrix Market file (R. F. Boisvert, R. Pozo, K. A. Remington: "The
/// Matrix Market exchange formats: initial design", NISTIR 5935, 1996): coordinate; real, integer
/// or pattern; general or symmetric; square. Memory grows with the entries that are there, never
/// with the counts that the file claims. Throws `bad_file`.
/// @param file name for messages.
sparse_matrix parse_matrix_market(std::string_view text, const std::string& file);

/// Reads a file. Throws `bad_file`, also for what is missing or unreadable.
sparse_matrix read_matrix_market(const std::string& file);

}  // namespace conjugate_gradients
