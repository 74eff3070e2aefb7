// SPDX-License-Identifier: Apache-2.0
#include "lapi/fences.hpp"

#include "lapi/operation.hpp"

namespace selion::lapi {
namespace {

/// Comes after everything that its sender has sent before. What it sends back comes after every
/// answer that was due; and the count of its own completion comes after those of puts, which go
/// back another way.
arrival answer_fence(const std::uint64_t& counter_of_origin, message_info about) {
    count_at(about.origin, reinterpret_cast<counter*>(counter_of_origin));
    return {};
}

arrival enter_round(const std::uint32_t& round, message_info) {
    count(&task_of_handler().round_counts[round]);
    return {};
}

}  // namespace

void fence(task& own) {
    counter answers;
    const std::map<std::uint32_t, std::uint64_t> reached = own.reached;
    for (const auto& [target, last] : reached) {
        send(target, answer_fence, reinterpret_cast<std::uint64_t>(&answers), {},
             {.completion = &answers}, own.site);
    }
    wait_for(own, answers, 2 * reached.size());
    // Not before: a completion handler that runs meanwhile may have a fence of its own.
    std::erase_if(own.reached, [&](const auto& now) {
        const auto then = reached.find(now.first);
        return then != reached.end() && then->second == now.second;
    });
}

void meet(task& own) {
    const std::uint32_t tasks = own_context().ranks;
    std::uint32_t round = 0;
    // In round k each task hears of the 2^k tasks before it; a neighbour that is ahead counts early
    // for the next time.
    for (std::uint64_t distance = 1; distance < tasks; distance *= 2, ++round) {
        const auto next = static_cast<std::uint32_t>((own_context().rank + distance) % tasks);
        send(next, enter_round, round, {}, {}, own.site);
        wait_for(own, own.round_counts[round], 1);
    }
}

}  // namespace selion::lapi

using namespace selion::lapi;

int LAPI_Fence(lapi_handle_t hndl) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    expect_may_wait(*own, "LAPI_Fence");
    fence(*own);
    run_completions(*own);
    return LAPI_SUCCESS;
}

int LAPI_Gfence(lapi_handle_t hndl) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    expect_no_handler(*own, "LAPI_Gfence");
    fence(*own);
    meet(*own);
    run_completions(*own);
    return LAPI_SUCCESS;
}
