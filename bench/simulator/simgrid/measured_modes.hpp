// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measurement.hpp"
#include "modes.hpp"

namespace bench {

int ping_pong(const request& what);
int ring(const request& what);
int barrier(const request& what);
int dissemination(const request& what);

}  // namespace bench
