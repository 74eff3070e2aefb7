// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lapi/task.hpp"

namespace selion::lapi {

/// Waits until the data of all operations of this task are where they belong.
void fence(task& own);
/// Collective: waits for all tasks, and runs completion handlers meanwhile, which others may wait
/// for. (The library's own barrier would serve messages only.)
void meet(task& own);

}  // namespace selion::lapi
