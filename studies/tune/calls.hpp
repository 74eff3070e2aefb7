// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <selion/selion.hpp>

namespace tune {

/// Calls one collective over and over, with blocks in this rank's own memory. What a rank gives it
/// has just written, and what it gets it reads, as programs do: so a way is charged for lines that
/// it leaves in the wrong cache.
class caller {
public:
    caller(const selion::team& team, selion::collective_kind what, std::size_t bytes);

    /// Writes, calls, reads.
    void call(std::uint64_t turn);

    /// Writes and reads only. Waits for nobody.
    void touch(std::uint64_t turn);

private:
    /// What this rank gives in a call and what it gets, both may be the same or nothing.
    struct share {
        std::span<double> given;
        std::span<const double> got;
    };
    [[nodiscard]] share share_of(std::uint32_t root);
    void carry_out(std::uint32_t root);

    const selion::team& team_;
    selion::collective_kind what_;
    std::vector<double> block_;
    std::vector<double> blocks_;       ///< one for each member
    std::vector<double> more_blocks_;  ///< as many
};

}  // namespace tune
