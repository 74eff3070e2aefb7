// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "collectives/tuning/tuning_table.hpp"
#include "machine/machine.hpp"

namespace selion::detail {

/// The table of measured collectives of one job. On a network rank 0 has it alone, and the rows
/// that count go to the others by messages (`network_start`). Elsewhere its first process finds and
/// opens the file, and hands it to the others, so that all read the same one: ranks that do not
/// agree how to carry out a collective wait for ever. A file that is of no use is told in a
/// sentence and left alone.
class tuning_file {
public:
    /// @error system_failure in a process that was handed a file which the first could read and
    /// this one cannot.
    tuning_file(const machine_description& description, const machine::launcher& launcher);
    ~tuning_file();
    tuning_file(const tuning_file&) = delete;
    tuning_file& operator=(const tuning_file&) = delete;

    /// Null where there is none, and on networks.
    const collectives::tuning_table* table() const { return table_ ? &*table_ : nullptr; }
    /// To hand to other processes; -1: none.
    int file() const { return file_; }

    /// Of rank 0 on a network: whether the file has rows of any.
    bool knows_networks() const { return !text_.empty(); }
    /// Rows of one, a line each, that are all understood; none where there are none. Says what is
    /// wrong.
    std::string rows_of_network(const std::string& name) const;

private:
    void find(const machine_description& description);
    void find_networks();
    /// @return whether there is a file to be read.
    bool open_named_or_usual();
    bool open_usual_of_whole_host();
    void take(int handed, const machine_description& description);

    int file_ = -1;
    std::optional<collectives::tuning_table> table_;
    std::string path_;
    std::string text_;       ///< of the file, for rows of networks
    bool is_named_ = false;  ///< by the user
};

}  // namespace selion::detail
