// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <selion/selion.hpp>

namespace tune {

/// Calls one collective over and over, with blocks in this rank's own memory.
class caller {
public:
    caller(const selion::team& team, selion::collective_kind what, std::size_t bytes);
    void call(std::uint64_t turn);

private:
    const selion::team& team_;
    selion::collective_kind what_;
    std::vector<double> block_;
    std::vector<double> blocks_;       ///< one for each member
    std::vector<double> more_blocks_;  ///< as many
};

}  // namespace tune
