// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <new>

#include "lapi/task.hpp"

namespace selion::lapi {
namespace {

/// Counters of LAPI are ints.
int value_of(const counter& which) {
    return static_cast<int>(std::clamp<std::int64_t>(which.value(), INT32_MIN, INT32_MAX));
}

/// Ranks that share this one's thread may run: who looks at a counter again and again would keep
/// them from changing it.
void let_others_run(std::source_location site) {
    counter nothing;
    static_cast<void>(nothing.wait(1, std::chrono::nanoseconds(0), site));
}

void probe(task& own) {
    if (own_context().own.in_handler) return;
    if (!selion::progress(own.site) && own_context().group_size > 1) let_others_run(own.site);
    run_completions(own);
}

}  // namespace
}  // namespace selion::lapi

using namespace selion::lapi;

int LAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val) {
    if (find_task(hndl) == nullptr) return LAPI_ERR_HNDL_INVALID;
    if (cntr == nullptr) return LAPI_ERR_CNTR_NULL;
    // The memory may hold anything: programs set counters before they use them.
    (new (cntr) selion::counter)->set(val);
    return LAPI_SUCCESS;
}

int LAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int* val) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    if (cntr == nullptr) return LAPI_ERR_CNTR_NULL;
    if (val == nullptr) return LAPI_ERR_RET_PTR_NULL;
    // In interrupt mode programs may look at a counter until it has changed, and call nothing else.
    if (own->set.interrupts != 0) probe(*own);
    *val = value_of(*as_counter(cntr));
    return LAPI_SUCCESS;
}

int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val, int* cur_cntr_val) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    if (cntr == nullptr) return LAPI_ERR_CNTR_NULL;
    if (val < 0) return LAPI_ERR_CNTR_VAL;
    expect_may_wait(*own, "LAPI_Waitcntr");
    probe(*own);  // who waits for what is there, again and again, serves messages too
    wait_for(*own, *as_counter(cntr), static_cast<std::uint64_t>(val));
    if (cur_cntr_val != nullptr) *cur_cntr_val = value_of(*as_counter(cntr));
    return LAPI_SUCCESS;
}

int LAPI_Probe(lapi_handle_t hndl) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    probe(*own);
    return LAPI_SUCCESS;
}
