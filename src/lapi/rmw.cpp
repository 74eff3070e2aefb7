// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>

#include "lapi/operation.hpp"

namespace selion::lapi {
namespace {

template <class Integer>
struct rmw_request {
    Integer* variable;
    Integer input[2];
    Integer* previous;
    lapi_cntr_t* counter;
    RMW_ops_t operation;
};

template <class Integer>
struct rmw_answer {
    Integer* place;
    Integer value;
    lapi_cntr_t* counter;
};

/// What the variable becomes; unsigned, so that sums may overflow.
template <class Integer>
Integer changed(Integer before, const rmw_request<Integer>& what) {
    using bits = std::make_unsigned_t<Integer>;
    const auto old = static_cast<bits>(before);
    const auto input = static_cast<bits>(what.input[0]);
    switch (what.operation) {
        case FETCH_AND_ADD: return static_cast<Integer>(old + input);
        case FETCH_AND_OR: return static_cast<Integer>(old | input);
        case SWAP: return what.input[0];
        case COMPARE_AND_SWAP: return before == what.input[0] ? what.input[1] : before;
        case LAST_RMW_OP: break;
    }
    return before;
}

template <class Integer>
arrival take_answer(const rmw_answer<Integer>& came, message_info) {
    if (came.place != nullptr) *came.place = came.value;
    count(came.counter);
    return {};
}

/// Atomic because a task handles one message at a time.
template <class Integer>
arrival modify(const rmw_request<Integer>& came, message_info about) {
    const Integer before = *came.variable;
    *came.variable = changed(before, came);
    Integer told = before;
    if (came.operation == COMPARE_AND_SWAP) told = before == came.input[0] ? 1 : 0;
    send(about.origin, take_answer<Integer>,
         rmw_answer<Integer>{came.previous, told, came.counter});
    return {};
}

template <class Integer>
int start_rmw(const operation& what, rmw_request<Integer> request, const Integer* input) {
    if (what.code != LAPI_SUCCESS) return what.code;
    if (static_cast<uint>(request.operation) >= LAST_RMW_OP) return LAPI_ERR_RMW_OP;
    if (request.variable == nullptr) return LAPI_ERR_TGT_VAR_NULL;
    if (reinterpret_cast<std::uintptr_t>(request.variable) % sizeof(Integer) != 0) {
        return LAPI_ERR_TGT_VAR_ALIGN;
    }
    if (input == nullptr) return LAPI_ERR_IN_VAL_NULL;
    const bool takes_two = request.operation == COMPARE_AND_SWAP;
    std::memcpy(request.input, input, (takes_two ? 2 : 1) * sizeof(Integer));
    what.message(modify<Integer>, request);
    return LAPI_SUCCESS;
}

}  // namespace
}  // namespace selion::lapi

using namespace selion::lapi;

int LAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int* tgt_var, int* in_val,
             int* prev_tgt_val, lapi_cntr_t* org_cntr) {
    return start_rmw<int>({hndl, tgt}, {tgt_var, {}, prev_tgt_val, org_cntr, op}, in_val);
}

int LAPI_Rmw64(lapi_handle_t hndl, RMW_ops_t op, uint tgt, long long* tgt_var, long long* in_val,
               long long* prev_tgt_val, lapi_cntr_t* org_cntr) {
    return start_rmw<long long>({hndl, tgt}, {tgt_var, {}, prev_tgt_val, org_cntr, op}, in_val);
}
