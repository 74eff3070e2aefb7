// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "offload/rank_layout.hpp"
#include "offload/worker_group.hpp"

namespace selion::offload {

/// The side of a rank that is a worker.
std::unique_ptr<rank_service> make_rank_server(detail::rank_context& context,
                                               const rank_memory& memory);

}  // namespace selion::offload
