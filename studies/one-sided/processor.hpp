// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <selion/world.hpp>

namespace one_sided {

/// Whether a message to a rank that computes interrupts it: `progress=interrupt` in the spec.
bool interrupts_ranks(const selion::world& world);

/// The source's `Cpu_Loop`. On simulated machines the time is charged; on real ones it is spent in
/// a loop of floating-point operations, whose speed has been measured before.
class processor {
public:
    explicit processor(const selion::world& world);
    void compute(double nanoseconds) const;

private:
    double steps_per_ns_ = 0;  ///< 0: time is charged
};

}  // namespace one_sided
