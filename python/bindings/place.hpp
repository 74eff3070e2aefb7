// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bindings {

/// Notes which line of the program calls, outside of this package: reports of hangs and deaths name
/// it. For calls that may wait; it takes some 20 ns for each function of Python that it passes.
/// @pre the caller holds the GIL.
void note_place();

}  // namespace bindings
