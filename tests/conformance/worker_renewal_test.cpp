// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>

#include "spmd.hpp"

/// Workers that are replaced after some calls.
namespace {

using selion::routine_call;
using selion::worker_kind;
using selion::worker_pool;

const selion::routine process_id{"process_id", [] { return static_cast<std::int32_t>(getpid()); }};

std::string what_is_told_of_a_limit(worker_pool& pool) {
    try {
        selion::detail::limit_calls(pool, 2);
    } catch (const selion::error& trouble) {
        return trouble.what();
    }
    return "";
}

SPMD_TEST(worker_pool, only_processes_are_replaced) {
    const std::string wanted = "cannot be replaced after some calls: only processes can";
    if (world.rank() == 0 && world.machine().capabilities.real_time) {
        worker_pool threads({.workers = 1, .kind = worker_kind::thread});
        const std::string told = what_is_told_of_a_limit(threads);
        test.that(told.find(wanted) != std::string::npos, told);
    }
    if (world.size() < 2) return;
    worker_pool ranks(world, {.workers = 1, .kind = worker_kind::rank});
    if (!ranks.is_host()) return;
    const std::string told = what_is_told_of_a_limit(ranks);
    test.that(told.find(wanted) != std::string::npos, told);
}

SPMD_TEST(worker_pool, a_process_goes_after_some_calls_when_nobody_has_them) {
    if (world.rank() != 0 || !world.machine().capabilities.real_time) return;
    worker_pool pool({.workers = 1, .kind = worker_kind::process});
    selion::detail::limit_calls(pool, 2);
    const std::int32_t first = pool.call(process_id).get();
    std::optional<routine_call<std::int32_t>> second = pool.call(process_id);
    test.equal(second->get(), first);
    auto third = pool.call(process_id);
    test.that(!third.wait(std::chrono::milliseconds(20)), "somebody has the second yet");
    test.equal(pool.call({.worker = 0}, process_id).get(), first);
    second.reset();
    test.that(third.get() != first, "it is another process");
    test.equal(pool.counts().replaced, std::uint64_t{0});
}

}  // namespace
