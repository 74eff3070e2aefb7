// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything: a partitioned global address space for programs in C++20.
#include <selion/addresses.hpp>
#include <selion/atomic_ref.hpp>
#include <selion/atomics.hpp>
#include <selion/block_collectives.hpp>
#include <selion/charge.hpp>
#include <selion/collective_choice.hpp>
#include <selion/collective_explanation.hpp>
#include <selion/collective_sync.hpp>
#include <selion/counter.hpp>
#include <selion/error.hpp>
#include <selion/error_handler.hpp>
#include <selion/expect.hpp>
#include <selion/future.hpp>
#include <selion/global_ptr.hpp>
#include <selion/machines.hpp>
#include <selion/memory.hpp>
#include <selion/message.hpp>
#include <selion/meters.hpp>
#include <selion/put_get.hpp>
#include <selion/rank.hpp>
#include <selion/rank_scope.hpp>
#include <selion/reduction.hpp>
#include <selion/rpc.hpp>
#include <selion/run.hpp>
#include <selion/schedule.hpp>
#include <selion/signal.hpp>
#include <selion/split_phase.hpp>
#include <selion/split_phase_collectives.hpp>
#include <selion/strided.hpp>
#include <selion/team.hpp>
#include <selion/tuning.hpp>
#include <selion/varying_blocks.hpp>
#include <selion/world.hpp>
