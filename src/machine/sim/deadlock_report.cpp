// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "machine/process/failure.hpp"
#include "machine/process/last_words.hpp"
#include "machine/sim/observed_simulation.hpp"

namespace selion::machine::sim {

void end_in_deadlock(const simulation& all) {
    announce({{},
              fmt::format("deadlock at {} ps: nothing can happen any more{}",
                          all.model().tick.to_ps(all.time()),
                          explain_waits(observed_simulation(all, true))),
              {}});
    say_last_words();
    std::fflush(nullptr);
    _exit(1);
}

}  // namespace selion::machine::sim
