// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace bindings {

/// Notes which line of the program calls, outside of this package: reports of hangs and deaths name
/// it. For calls that may wait; it takes some 20 ns for each function of Python that it passes.
/// @pre the caller holds the GIL.
void note_place();

/// The same while this lasts, for a call that is no collective: reports name the last one of a rank
/// that is absent, called or started, with the place that is noted then.
class place_of_start {
public:
    place_of_start();
    ~place_of_start();
    place_of_start(const place_of_start&) = delete;
    place_of_start& operator=(const place_of_start&) = delete;

private:
    std::string before_;
};

}  // namespace bindings
