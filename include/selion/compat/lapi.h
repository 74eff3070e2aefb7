/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/** For programs that say `#include <lapi.h>`: the target selion::lapi has this folder on its
 * path. */
#include <selion/lapi.h>
