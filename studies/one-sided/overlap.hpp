// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <selion/world.hpp>

#include "harness/rows.hpp"
#include "operations.hpp"
#include "processor.hpp"
#include "waiting.hpp"

namespace one_sided {

/// The source's test of how much a rank can compute while its operations are under way.
class overlap_test {
public:
    /// @param how what is done while nothing that is under way is complete.
    /// @pre the caller is the origin. World, operations and processor outlive the test.
    overlap_test(const selion::world& world, slots& operations, const processor& cpu, waiting how);

    /// Nanoseconds of each operation, with so much to compute for each.
    study::spread effective_latency(double cpu_ns);

    /// The time to compute that is free: the largest one with which an operation takes at most
    /// `tolerated` longer than with nothing to compute; a line is drawn between measured times.
    double free_ns();

    static constexpr double tolerated = 0.02;

private:
    study::spread time_runs(std::uint64_t iterations, double cpu_ns);
    double run(std::uint64_t iterations, double cpu_ns);
    void issue(std::uint32_t slot);
    void reap_and_reissue(std::uint64_t to_issue);
    std::uint32_t reap_one();
    void reap_until_done();

    const selion::world& world_;
    slots& operations_;
    const processor& cpu_;
    waiting how_;
    std::vector<selion::counter> counted_;  ///< for each slot
    std::vector<selion::counter*> all_;
    std::uint32_t last_ = 0;  ///< slot that was reaped last
};

}  // namespace one_sided
