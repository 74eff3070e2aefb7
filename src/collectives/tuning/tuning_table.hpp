// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "selion/collective_choice.hpp"
#include "selion/error.hpp"
#include "selion/schedule.hpp"

namespace selion::collectives {

/// A way that was measured, or predicted.
struct tuning_candidate {
    collective_choice choice;
    double ns;
    bool keeps_association;
};

/// What is known of one collective and one size of blocks: those to be chosen first in front.
struct tuning_row {
    collective_kind what;
    std::uint32_t members;
    std::size_t bytes;  ///< for blocks of up to so many bytes
    std::vector<tuning_candidate> candidates = {};
    bool is_predicted = false;
};

/// The machine that a row is of, as it is written.
std::string_view machine_in(std::string_view row);

/// What was measured on a host for one kind of machine. How it is written: tuning.md.
class tuning_table {
public:
    /// @param text of the file. @param host `host_fingerprint` of this one. @param machine whose
    /// rows are wanted.
    /// @return status bad_argument where it is damaged or another host's, with the rest of a
    /// sentence that begins with the name of the file.
    static result<tuning_table> read(std::string_view text, std::string_view host,
                                     std::string_view machine);
    /// The rows of a file as they are written, pieces of `text`, if it is whole and of one of the
    /// hosts; else as `read`.
    static result<std::vector<std::string_view>> rows_in(std::string_view text,
                                                         std::span<const std::string> hosts);
    /// A table of rows of that kind; others are left out.
    static result<tuning_table> of_rows(std::span<const std::string_view> rows,
                                        std::string_view machine);

    /// Rows for a team by rising bytes: of that many members, or of the next fewer that were
    /// measured, but not of fewer than half; else none.
    std::span<const tuning_row> rows(collective_kind what, std::uint32_t members) const;

    bool is_empty() const { return rows_.empty(); }

private:
    std::vector<tuning_row> rows_;  ///< by collective, members, bytes
};

}  // namespace selion::collectives
