// SPDX-License-Identifier: Apache-2.0
#pragma once

/// LAPI's names as functions only, for the library, which defines them.
#define SELION_LAPI_WITHOUT_PLACES
#include "selion/lapi.h"
