// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string_view>

#include "lapi/names.hpp"

namespace selion::lapi {
namespace {

constexpr std::string_view sentence(int code) {
    switch (code) {
        case LAPI_SUCCESS: return "the call has done what it should";
        case LAPI_ERR_ADDR_HNDL_RANGE:
            return "the place in the address table is not from 1 to LOC_ADDRTBL_SZ - 1";
        case LAPI_ERR_ADDR_TBL_NULL: return "the table for addresses is null";
        case LAPI_ERR_ALL_HNDL_IN_USE:
            return "this task has a handle already; call LAPI_Term before LAPI_Init";
        case LAPI_ERR_CNTR_NULL: return "the counter is null";
        case LAPI_ERR_CNTR_VAL: return "the value to wait for is less than 0";
        case LAPI_ERR_CODE_UNKNOWN: return "there is no such code";
        case LAPI_ERR_DATA_LEN: return "the data are longer than MAX_DATA_SZ bytes";
        case LAPI_ERR_HDR_HNDLR_NULL:
            return "the header handler is null, or the target has none of that name";
        case LAPI_ERR_HNDL_INVALID:
            return "the handle is not the one that LAPI_Init gave, or LAPI_Term has ended it";
        case LAPI_ERR_IN_VAL_NULL: return "the input value is null";
        case LAPI_ERR_INFO_NONZERO: return "info6 or add_info is not zero";
        case LAPI_ERR_INFO_NULL: return "the lapi_info_t is null";
        case LAPI_ERR_ORG_ADDR_NULL: return "the address of the data at the origin is null";
        case LAPI_ERR_ORG_STRIDE: return "the origin's stride is shorter than its blocks";
        case LAPI_ERR_ORG_VEC_ADDR: return "an address of the origin's vector is null";
        case LAPI_ERR_ORG_VEC_LEN:
            return "the origin's vector is longer than MAX_DATA_SZ bytes in all, or the list of "
                   "its lengths is longer than a message";
        case LAPI_ERR_ORG_VEC_NULL: return "the origin's vector is null";
        case LAPI_ERR_ORG_VEC_TYPE: return "there is no such type of vector as the origin's";
        case LAPI_ERR_QUERY_TYPE: return "there is no such query, or its value cannot be set";
        case LAPI_ERR_RET_PTR_NULL: return "the place for the result is null";
        case LAPI_ERR_RMW_OP: return "there is no such operation";
        case LAPI_ERR_SET_VAL: return "the value is outside of what can be set";
        case LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL:
            return "the first address of the origin's strided vector is null";
        case LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL:
            return "the first address of the target's strided vector is null";
        case LAPI_ERR_TGT: return "there is no such task; they are 0 to NUM_TASKS - 1";
        case LAPI_ERR_TGT_ADDR_NULL: return "there is no place for the data at the target";
        case LAPI_ERR_TGT_STRIDE: return "the target's stride is shorter than its blocks";
        case LAPI_ERR_TGT_VAR_ALIGN:
            return "the target's variable is not at a multiple of its size, 4 or 8 bytes";
        case LAPI_ERR_TGT_VAR_NULL: return "the target's variable is null";
        case LAPI_ERR_TGT_VEC_ADDR: return "an address of the target's vector is null";
        case LAPI_ERR_TGT_VEC_LEN:
            return "the target's vector is longer than MAX_DATA_SZ bytes in all";
        case LAPI_ERR_TGT_VEC_NULL: return "the target's vector is null";
        case LAPI_ERR_TGT_VEC_TYPE: return "there is no such type of vector as the target's";
        case LAPI_ERR_UHDR_LEN: return "the header is longer than MAX_UHDR_SZ bytes";
        case LAPI_ERR_UHDR_NULL: return "the header is null, and its length is not 0";
        case LAPI_ERR_HDR_LEN: return "the header is not of whole words";
        case LAPI_ERR_MEMORY_EXHAUSTED: return "there is no memory left";
        case LAPI_ERR_MULTIPLE_WAITERS: return "another thread waits for the same";
        case LAPI_ERR_TGT_PURGED: return "the task has been purged";
        case LAPI_ERR_TIMEOUT: return "the time limit of an operation is over";
        case LAPI_ERR_UNKNOWN: return "an error that nobody knows";
        case LAPI_ERR_VEC_LEN_DIFF: return "the lengths of the two vectors do not fit";
        case LAPI_ERR_VEC_NUM_DIFF: return "the two vectors have different numbers of pieces";
        case LAPI_ERR_VEC_TYPE_DIFF: return "the two vectors are of different types";
        default: return {};
    }
}

constexpr bool all_fit() {
    for (int code = LAPI_ERR_FIRSTCODE; code <= LAPI_ERR_LASTCODE; ++code) {
        if (sentence(code).empty() || sentence(code).size() >= LAPI_MAX_ERR_STRING) return false;
    }
    return true;
}
static_assert(all_fit());

}  // namespace
}  // namespace selion::lapi

int LAPI_Msg_string(int error_code, void* buf) {
    if (buf == nullptr) return LAPI_ERR_RET_PTR_NULL;
    const std::string_view known = selion::lapi::sentence(error_code);
    const std::string_view text =
        known.empty() ? selion::lapi::sentence(LAPI_ERR_CODE_UNKNOWN) : known;
    std::memcpy(buf, text.data(), text.size());
    static_cast<char*>(buf)[text.size()] = '\0';
    return known.empty() ? LAPI_ERR_CODE_UNKNOWN : LAPI_SUCCESS;
}
