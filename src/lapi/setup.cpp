// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lapi/fences.hpp"
#include "lapi/task.hpp"
#include "machine/machine.hpp"
#include "selion/world.hpp"

namespace selion::lapi {
namespace {

int check_info(const lapi_handle_t* handle, const lapi_info_t* info) {
    if (handle == nullptr) return LAPI_ERR_RET_PTR_NULL;
    if (info == nullptr) return LAPI_ERR_INFO_NULL;
    return info->info6 != 0 || info->add_info != nullptr ? LAPI_ERR_INFO_NONZERO : LAPI_SUCCESS;
}

/// What a query answers; a pointer to what can be set, or else the value.
struct answer {
    int* variable = nullptr;
    int value = 0;
    int least = 0;
    int most = 0;
};

answer settable(int& variable, int least, int most) { return {&variable, variable, least, most}; }
answer fixed(std::uint64_t value) { return {nullptr, static_cast<int>(value)}; }

/// @pre a legal query.
answer answer_to(task& own, lapi_query_t query) {
    switch (query) {
        case TASK_ID: return fixed(own_context().rank);
        case NUM_TASKS: return fixed(own_context().ranks);
        case MAX_UHDR_SZ: return fixed(most_header_bytes);
        case MAX_DATA_SZ: return fixed(most_data_bytes);
        case ERROR_CHK: return settable(own.set.checks_errors, 0, 1);
        case TIMEOUT:
            return settable(own.set.timeout_seconds, shortest_timeout_seconds,
                            longest_timeout_seconds);
        case MIN_TIMEOUT: return fixed(shortest_timeout_seconds);
        case MAX_TIMEOUT: return fixed(longest_timeout_seconds);
        case INTERRUPT_SET: return settable(own.set.interrupts, 0, 1);
        case LOC_ADDRTBL_SZ: return fixed(address_table_entries);
        case ACK_THRESHOLD: return settable(own.set.acknowledge_threshold, 1, 30);
        case LAST_QUERY: break;
    }
    return {};
}

bool is_query(lapi_query_t query) { return static_cast<uint>(query) < LAST_QUERY; }

/// A task's state is its own thread's, so no other may run its handlers; and what a task waits for
/// is owed by tasks that live.
void expect_suitable_machine() {
    selion::detail::rank_context& context = own_context();
    const selion::machine_description& machine = context.host->description();
    const bool has_notifier = machine.capabilities.real_time &&
                              machine.capabilities.progress == selion::progress_kind::interrupt;
    if (has_notifier) {
        context.host->launcher().end_job(
            context, fmt::format("LAPI_Init: tasks of LAPI serve messages in their own calls, and "
                                 "{} has a thread for that; leave out progress=interrupt",
                                 machine.spec));
    }
    if (context.deaths != nullptr) {
        context.host->launcher().end_job(
            context,
            "LAPI_Init: a program with LAPI's names cannot outlive a task; leave out "
            "SELION_RANK_DEATH=report");
    }
}

}  // namespace
}  // namespace selion::lapi

using namespace selion::lapi;

int LAPI_Init(lapi_handle_t* hndl, lapi_info_t* info) {
    if (const int code = check_info(hndl, info); code != LAPI_SUCCESS) return code;
    task& own = make_task();
    if (own.handle != 0) return LAPI_ERR_ALL_HNDL_IN_USE;
    expect_no_handler(own, "LAPI_Init");
    expect_suitable_machine();
    const bool is_first = own.last_handle == 0;
    own.handle = ++own.last_handle;
    own.error_handler = info->err_hndlr;
    own.set = {};
    own.addresses = {};
    *hndl = own.handle;
    // Nobody sends to a task that is none yet; one that was a task before may have handlers to run.
    if (is_first) {
        selion::detail::sync(selion::detail::everybody(own_context()), own.site);
    } else {
        meet(own);
    }
    return LAPI_SUCCESS;
}

int LAPI_Term(lapi_handle_t hndl) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    expect_no_handler(*own, "LAPI_Term");
    while (own->ripe_count.value() != 0) run_completions(*own);
    own->handle = 0;
    return LAPI_SUCCESS;
}

int LAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int* ret_val) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    if (!is_query(query)) return LAPI_ERR_QUERY_TYPE;
    if (ret_val == nullptr) return LAPI_ERR_RET_PTR_NULL;
    *ret_val = answer_to(*own, query).value;
    return LAPI_SUCCESS;
}

int LAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val) {
    task* const own = find_task(hndl);
    if (own == nullptr) return LAPI_ERR_HNDL_INVALID;
    if (!is_query(query)) return LAPI_ERR_QUERY_TYPE;
    const answer now = answer_to(*own, query);
    if (now.variable == nullptr) return LAPI_ERR_QUERY_TYPE;
    if (set_val < now.least || set_val > now.most) return LAPI_ERR_SET_VAL;
    *now.variable = set_val;
    return LAPI_SUCCESS;
}
