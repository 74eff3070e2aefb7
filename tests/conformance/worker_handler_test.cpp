// SPDX-License-Identifier: Apache-2.0
/// Handlers of messages that call workers, while their rank does so itself.
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

using selion::worker_kind;
using selion::worker_pool;
using place_of_signal = selion::global_ptr<selion::signal>;

const selion::routine total_of{"total_of", [](std::span<const std::int32_t> data) {
                                   return std::accumulate(data.begin(), data.end(),
                                                          std::int64_t{0});
                               }};
const selion::routine at_once{"at_once", [] {}};
/// Says that it has begun, and waits for its end.
const selion::routine from_to{"from_to", [](place_of_signal begun, place_of_signal over) {
                                  selion::notify(begun, selion::signal_add(1));
                                  selion::wait_until(over, 1);
                              }};

/// What handlers on the host find there.
struct handlers_desk {
    worker_pool* pool = nullptr;
    std::vector<std::int32_t> data;
    std::vector<selion::routine_call<std::int64_t>> calls;
    place_of_signal over;  ///< of a call of the rank's own
};
handlers_desk* at_host = nullptr;

void call_worker() { at_host->calls.push_back(at_host->pool->call(total_of, at_host->data)); }

void call_worker_and_wait(void*) {
    at_host->pool->call({.worker = 0}, at_once).wait();
    selion::notify(at_host->over, selion::signal_set(1));
}

SPMD_TEST(worker_pool, handlers_call_while_their_rank_sends) {
    if (world.machine().capabilities.real_time) {
        return test.skip("there handlers may run on other threads than the host's");
    }
    if (world.size() < 3) return test.skip("needs a host, a worker and another rank");
    constexpr std::size_t count = 20;
    constexpr std::int64_t longer = 3000;  // than what travels with a call
    handlers_desk desk;
    desk.data.assign(longer, 7);
    worker_pool pool(world, {.workers = 1, .kind = worker_kind::rank});
    if (pool.is_host()) {
        desk.pool = &pool;
        at_host = &desk;
    }
    world.barrier();
    if (world.rank() == 2) {
        for (std::size_t i = 0; i < count; ++i) selion::rpc(0, call_worker).get();
    }
    if (!pool.is_host()) return;
    const std::vector<std::int32_t> ones(longer, 1);
    while (desk.calls.size() < count) test.equal(pool.call(total_of, ones).get(), longer);
    for (auto& call : desk.calls) test.equal(call.get(), 7 * longer);
    desk.calls.clear();
    at_host = nullptr;
}

SPMD_TEST(worker_pool, completion_handlers_call_while_their_rank_waits) {
    if (world.progress() == selion::progress_kind::interrupt) {
        return test.skip("there such handlers run on another thread than the host's");
    }
    if (world.size() < 5) return test.skip("needs a host, three workers and another rank");
    handlers_desk desk;
    spmd::symmetric_array<selion::signal> signals(world, 2);
    worker_pool pool(world, {.workers = 3, .kind = worker_kind::rank});
    if (pool.is_host()) {
        desk.pool = &pool;
        desk.over = signals.at(3, 1);
        at_host = &desk;
    }
    world.barrier();
    if (world.rank() == 4) {
        selion::wait_until(signals.own(0), 2);  // both calls have begun
        selion::counter complete;
        selion::send(0,
                     [](const int&, selion::message_info) {
                         return selion::arrival{.completion = call_worker_and_wait,
                                                .argument = nullptr,
                                                .may_wait = true};
                     },
                     0, {}, {.completion = &complete});
        complete.wait(1);
    }
    pool.serve();
    if (!pool.is_host()) return;
    {
        std::vector<selion::routine_call<>> each;
        for (std::uint32_t worker = 0; worker < 3; ++worker) {
            each.push_back(pool.call({.worker = worker}, at_once));
        }
        for (auto& call : each) call.wait();
    }
    auto longer = pool.call({.worker = 1}, from_to, signals.at(4), signals.at(2, 1));
    auto wanted = pool.call({.worker = 2}, from_to, signals.at(4), signals.at(3, 1));
    test.that(wanted.wait(std::chrono::seconds(20)), "its end is seen");
    selion::notify(signals.at(2, 1), selion::signal_set(1));
    longer.wait();
    pool.wait_all();
    at_host = nullptr;
}

}  // namespace
