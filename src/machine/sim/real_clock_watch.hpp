// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace selion::machine::sim {

/// In the checking build, warns once when a rank of a simulated machine reads the host's clock: its
/// time is not the machine's, and makes runs differ. Does nothing in other builds.
void watch_real_clock();

}  // namespace selion::machine::sim
