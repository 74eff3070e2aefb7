// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "Selion needs C++20: compile with -std=c++20"
#else

/// Everything: a partitioned global address space for programs in C++20.
#include <selion/access_replay.hpp>
#include <selion/addresses.hpp>
#include <selion/as_future.hpp>
#include <selion/atomic_ref.hpp>
#include <selion/atomics.hpp>
#include <selion/block_collectives.hpp>
#include <selion/cached.hpp>
#include <selion/cached_array.hpp>
#include <selion/cached_reference.hpp>
#include <selion/charge.hpp>
#include <selion/coherent_space.hpp>
#include <selion/collective_choice.hpp>
#include <selion/collective_explanation.hpp>
#include <selion/collective_sync.hpp>
#include <selion/counter.hpp>
#include <selion/distribution.hpp>
#include <selion/dma.hpp>
#include <selion/error.hpp>
#include <selion/error_handler.hpp>
#include <selion/expect.hpp>
#include <selion/future.hpp>
#include <selion/global_ptr.hpp>
#include <selion/machines.hpp>
#include <selion/memory.hpp>
#include <selion/mesh_order.hpp>
#include <selion/message.hpp>
#include <selion/meter.hpp>
#include <selion/meters.hpp>
#include <selion/offload_model.hpp>
#include <selion/put_get.hpp>
#include <selion/rank.hpp>
#include <selion/rank_scope.hpp>
#include <selion/reduction.hpp>
#include <selion/routine.hpp>
#include <selion/routine_call.hpp>
#include <selion/rpc.hpp>
#include <selion/run.hpp>
#include <selion/schedule.hpp>
#include <selion/signal.hpp>
#include <selion/split_phase.hpp>
#include <selion/split_phase_collectives.hpp>
#include <selion/split_phase_varying.hpp>
#include <selion/spread_array.hpp>
#include <selion/spread_layout.hpp>
#include <selion/spread_reference.hpp>
#include <selion/spread_slice.hpp>
#include <selion/strided.hpp>
#include <selion/team.hpp>
#include <selion/this_rank.hpp>
#include <selion/time_limit.hpp>
#include <selion/transfers.hpp>
#include <selion/tuning.hpp>
#include <selion/varying_blocks.hpp>
#include <selion/varying_collectives.hpp>
#include <selion/when_all.hpp>
#include <selion/worker_array.hpp>
#include <selion/worker_pool.hpp>
#include <selion/world.hpp>

#endif
