// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "lapi/names.hpp"
#include "lapi/pieces.hpp"

namespace selion::lapi {

/// An active message whose data are longer than one message of the floor below.
struct arriving_message {
    piece_walk place;  ///< where the next bytes go
    std::uint64_t missing_bytes;
    compl_hndlr_t* function;
    void* argument;
    lapi_cntr_t* target_counter;
    lapi_cntr_t* completion_counter;
};

/// Those that are under way to this task, by the sender and its number.
using arriving_messages = std::map<std::pair<std::uint32_t, std::uint64_t>, arriving_message>;

}  // namespace selion::lapi
