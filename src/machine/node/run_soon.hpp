// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace selion::machine::node {

/// Asks the kernel to let the calling thread run as soon as it is woken, also where threads that
/// compute have all cores: it says that it needs the processor for a short time only. Linux 6.12
/// and later heed that; others take no notice.
void ask_to_run_soon();

}  // namespace selion::machine::node
