// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "machine/machine.hpp"
#include "meters/record/recorder.hpp"

namespace selion::detail {

/// The files that SELION_TRACE and SELION_METERS name. The first process begins and ends them;
/// every rank appends its part, whole, when its function has returned.
class record_files {
public:
    record_files();

    /// @error bad_argument when a file cannot be written.
    void begin(const machine_description& description) const;
    void end() const;
    /// A recorder for one rank; null when nothing is recorded.
    std::unique_ptr<meters::recorder> make_recorder() const;
    void append(const meters::recorder& recorder, std::uint32_t rank) const;

private:
    std::string trace_path_;
    std::string meters_path_;
    bool records_ = false;
};

}  // namespace selion::detail
