// SPDX-License-Identifier: Apache-2.0
#include "selion/machines.hpp"

namespace selion {

const char* version() { return SELION_VERSION; }

}  // namespace selion
