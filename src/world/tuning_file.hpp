// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "collectives/tuning/tuning_table.hpp"
#include "machine/machine.hpp"

namespace selion::detail {

/// The table of measured collectives of one job. Its first process finds and opens the file, and
/// hands it to the others, so that all read the same one: ranks that do not agree how to carry out
/// a collective wait for ever. A file that is of no use is told in a sentence and left alone.
class tuning_file {
public:
    /// @error system_failure in a process that was handed a file which the first could read and
    /// this one cannot.
    tuning_file(const machine_description& description, const machine::launcher& launcher);
    ~tuning_file();
    tuning_file(const tuning_file&) = delete;
    tuning_file& operator=(const tuning_file&) = delete;

    /// Null where there is none.
    const collectives::tuning_table* table() const { return table_ ? &*table_ : nullptr; }
    /// To hand to other processes; -1: none.
    int file() const { return file_; }

private:
    void find(const machine_description& description);
    void take(int handed, const machine_description& description);

    int file_ = -1;
    std::optional<collectives::tuning_table> table_;
};

}  // namespace selion::detail
