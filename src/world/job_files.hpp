// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/knobs.hpp"
#include "machine/machine.hpp"

namespace selion::detail {

/// The files that variables name to a job. A process may be in another folder than the one in which
/// the job was begun: the first process says where they lie, and the others are told.
///
/// What an earlier job of the program has written stays: "all.json", "all.2.json", ... A device
/// takes what all of them write, and so does the file of SELION_TIME.
class job_files {
public:
    /// @pre it is made once a job, in each process that has ranks of it.
    explicit job_files(const machine::launcher& launcher);

    /// Empty: none.
    std::string of(base::knob which) const;
    /// For other processes of the job.
    const machine::numbered_files& all() const { return all_; }

private:
    machine::numbered_files all_;
};

}  // namespace selion::detail
