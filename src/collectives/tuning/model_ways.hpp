// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "collectives/tuning/cost_model.hpp"

namespace selion::collectives {

/// The ways of which it is worth while to predict what they take.
std::vector<collective_choice> ways_to_predict(const block_shape& block, const team_shape& team);

}  // namespace selion::collectives
