// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <selion/selion.hpp>

#include "measurement.hpp"
#include "modes.hpp"

namespace bench {

int ping_pong(const request& what);
int ring(const request& what);
int barrier(const request& what);
int messages(const request& what);
int events(const request& what);

/// The machine of a measurement unless SELION_MACHINE names another.
inline selion::run_options on_crossbar(const request& what) {
    return {.machine = "sim:crossbar,ranks=" + std::to_string(what["ranks"])};
}

/// A signal of the caller that lies at the same offset on every rank if all make one alike. Unlike
/// `allocate` it does not wait for the others, which would be a barrier in what is measured.
inline selion::global_ptr<selion::signal> make_signal(const selion::world& world) {
    return selion::allocate_local<selion::signal>(world, 1);
}

/// What all lines say.
inline row row_of(std::string_view operation, const selion::world& world) {
    row made(operation, "selion");
    made.add("machine", world.machine().spec).add("ranks", world.size());
    return made;
}

}  // namespace bench
