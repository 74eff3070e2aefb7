// SPDX-License-Identifier: Apache-2.0
#include "measured_modes.hpp"

namespace bench {

/// One lap of one token, with the start of the ranks. Their end and the process around them are the
/// business of whoever runs the program.
int ring(const request& what) {
    const stopwatch watch;
    return selion::run(what.argc, what.argv, on_crossbar(what), [&](selion::world& world) {
        const auto own = make_signal(world);
        const auto next = own.on((world.rank() + 1) % world.size());
        if (world.rank() != 0) {
            selion::wait_until(own, 1);
            selion::notify(next, selion::signal_set(1));
            return;
        }
        selion::notify(next, selion::signal_set(1));
        selion::wait_until(own, 1);
        row_of("ring", world).add_times(watch, 1).print();
    });
}

}  // namespace bench
