// SPDX-License-Identifier: Apache-2.0
/// What LAPI's functions say to arguments that are wrong, and what they know of themselves.
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "conformance/lapi_task.hpp"

namespace {

using spmd::lapi_task;

void* refuse(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return nullptr; }

SPMD_TEST(lapi, queries_and_settings) {
    const lapi_task own(test, world);
    const auto query = [&](lapi_query_t which) {
        int value = -1;
        own.good(LAPI_Qenv(own.handle, which, &value));
        return value;
    };
    test.equal(query(TASK_ID), static_cast<int>(world.rank()));
    test.equal(query(NUM_TASKS), static_cast<int>(world.size()));
    test.at_least(query(MAX_UHDR_SZ), 512);
    test.at_least(query(MAX_DATA_SZ), 1 << 30);
    test.at_least(query(LOC_ADDRTBL_SZ), 64);
    test.equal(query(INTERRUPT_SET), 1);
    own.good(LAPI_Senv(own.handle, TIMEOUT, query(MIN_TIMEOUT)));
    test.equal(query(TIMEOUT), query(MIN_TIMEOUT));
    test.equal(LAPI_Senv(own.handle, TIMEOUT, query(MAX_TIMEOUT) + 1), int{LAPI_ERR_SET_VAL});
    test.equal(LAPI_Senv(own.handle, TASK_ID, 1), int{LAPI_ERR_QUERY_TYPE});
    test.equal(LAPI_Senv(own.handle, LAST_QUERY, 1), int{LAPI_ERR_QUERY_TYPE});
    int value = 0;
    test.equal(LAPI_Qenv(own.handle, LAST_QUERY, &value), int{LAPI_ERR_QUERY_TYPE});
    test.equal(LAPI_Qenv(own.handle, TASK_ID, nullptr), int{LAPI_ERR_RET_PTR_NULL});
}

SPMD_TEST(lapi, a_new_handle_has_settings_of_its_own) {
    lapi_handle_t first = 0;
    lapi_info_t info{};
    test.equal(LAPI_Init(&first, &info), int{LAPI_SUCCESS});
    test.equal(LAPI_Senv(first, INTERRUPT_SET, 0), int{LAPI_SUCCESS});
    test.equal(LAPI_Addr_set(first, &first, 3), int{LAPI_SUCCESS});
    test.equal(LAPI_Term(first), int{LAPI_SUCCESS});
    const lapi_task own(test, world);
    int value = -1;
    own.good(LAPI_Qenv(own.handle, INTERRUPT_SET, &value));
    test.equal(value, 1);
    void* kept = &value;
    own.good(LAPI_Addr_get(own.handle, &kept, 3));
    test.that(kept == nullptr, "the table is empty");
}

SPMD_TEST(lapi, handles_that_are_none) {
    lapi_handle_t ended = 0;
    {
        const lapi_task own(test, world);
        ended = own.handle;
        lapi_handle_t second = 0;
        lapi_info_t info{};
        test.equal(LAPI_Init(&second, &info), int{LAPI_ERR_ALL_HNDL_IN_USE});
        test.equal(LAPI_Init(nullptr, &info), int{LAPI_ERR_RET_PTR_NULL});
        test.equal(LAPI_Init(&second, nullptr), int{LAPI_ERR_INFO_NULL});
        info.info6 = 1;
        test.equal(LAPI_Init(&second, &info), int{LAPI_ERR_INFO_NONZERO});
    }
    for (const lapi_handle_t wrong : {ended, lapi_handle_t{0}}) {
        lapi_cntr_t counter{};
        lapi_vec_t vector{};
        lapi_long_t number = 0;
        void* address = &number;
        int value = 0;
        long long wide = 0;
        const int codes[] = {
            LAPI_Term(wrong),
            LAPI_Qenv(wrong, TASK_ID, &value),
            LAPI_Senv(wrong, TIMEOUT, 100),
            LAPI_Put(wrong, 0, 8, address, address, nullptr, nullptr, nullptr),
            LAPI_Get(wrong, 0, 8, address, address, nullptr, nullptr),
            LAPI_Putv(wrong, 0, &vector, &vector, nullptr, nullptr, nullptr),
            LAPI_Getv(wrong, 0, &vector, &vector, nullptr, nullptr),
            LAPI_Amsend(wrong, 0, address, nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr),
            LAPI_Amsendv(wrong, 0, address, nullptr, 0, &vector, nullptr, nullptr, nullptr),
            LAPI_Rmw(wrong, SWAP, 0, &value, &value, &value, nullptr),
            LAPI_Rmw64(wrong, SWAP, 0, &wide, &wide, &wide, nullptr),
            LAPI_Setcntr(wrong, &counter, 0),
            LAPI_Getcntr(wrong, &counter, &value),
            LAPI_Waitcntr(wrong, &counter, 0, nullptr),
            LAPI_Probe(wrong),
            LAPI_Fence(wrong),
            LAPI_Gfence(wrong),
            LAPI_Address_init(wrong, address, &address),
            LAPI_Address_init64(wrong, number, &number),
            LAPI_Addr_set(wrong, address, 1),
            LAPI_Addr_get(wrong, &address, 1)};
        for (const int code : codes) test.equal(code, int{LAPI_ERR_HNDL_INVALID});
    }
}

SPMD_TEST(lapi, wrong_arguments_of_transfers) {
    const lapi_task own(test, world);
    const lapi_handle_t h = own.handle;
    char data[8] = {};
    const uint nobody = world.size();
    const ulong too_many = ulong{1} << 40;
    const auto put = [&](uint to, ulong bytes, void* there, void* here) {
        return LAPI_Put(h, to, bytes, there, here, nullptr, nullptr, nullptr);
    };
    test.equal(put(nobody, 8, data, data), int{LAPI_ERR_TGT});
    test.equal(put(0, too_many, data, data), int{LAPI_ERR_DATA_LEN});
    test.equal(put(0, 8, nullptr, data), int{LAPI_ERR_TGT_ADDR_NULL});
    test.equal(put(0, 8, data, nullptr), int{LAPI_ERR_ORG_ADDR_NULL});
    test.equal(LAPI_Get(h, nobody, 8, data, data, nullptr, nullptr), int{LAPI_ERR_TGT});
    test.equal(LAPI_Get(h, 0, 8, nullptr, data, nullptr, nullptr), int{LAPI_ERR_TGT_ADDR_NULL});

    int value = 0;
    const auto rmw = [&](RMW_ops_t op, int* variable, int* input) {
        return LAPI_Rmw(h, op, 0, variable, input, nullptr, nullptr);
    };
    test.equal(rmw(LAST_RMW_OP, &value, &value), int{LAPI_ERR_RMW_OP});
    test.equal(rmw(SWAP, nullptr, &value), int{LAPI_ERR_TGT_VAR_NULL});
    test.equal(rmw(SWAP, &value, nullptr), int{LAPI_ERR_IN_VAL_NULL});
    // Addresses of the target, where they are no more than numbers here.
    const auto odd = reinterpret_cast<int*>(reinterpret_cast<std::uintptr_t>(&value) + 2);
    test.equal(rmw(SWAP, odd, &value), int{LAPI_ERR_TGT_VAR_ALIGN});
    const auto wide = reinterpret_cast<long long*>(std::uintptr_t{0x1004});
    long long input = 0;
    test.equal(LAPI_Rmw64(h, SWAP, 0, wide, &input, nullptr, nullptr), int{LAPI_ERR_TGT_VAR_ALIGN});

    const auto send = [&](void* handler, void* header, uint bytes, void* from, ulong length) {
        return LAPI_Amsend(h, 0, handler, header, bytes, from, length, nullptr, nullptr, nullptr);
    };
    void* const handler = reinterpret_cast<void*>(refuse);
    test.equal(send(nullptr, data, 8, data, 8), int{LAPI_ERR_HDR_HNDLR_NULL});
    test.equal(send(handler, nullptr, 8, data, 8), int{LAPI_ERR_UHDR_NULL});
    test.equal(send(handler, data, 1 << 20, data, 8), int{LAPI_ERR_UHDR_LEN});
    test.equal(send(handler, data, 8, nullptr, 8), int{LAPI_ERR_ORG_ADDR_NULL});
    test.equal(send(handler, data, 8, data, too_many), int{LAPI_ERR_DATA_LEN});
}

SPMD_TEST(lapi, wrong_vectors) {
    const lapi_task own(test, world);
    char data[8] = {};
    void* info[3] = {data, reinterpret_cast<void*>(4ul), reinterpret_cast<void*>(4ul)};
    void* close[3] = {data, reinterpret_cast<void*>(4ul), reinterpret_cast<void*>(3ul)};
    void* nowhere[3] = {nullptr, reinterpret_cast<void*>(4ul), reinterpret_cast<void*>(4ul)};
    void* places[2] = {data, data + 4};
    ulong bytes[2] = {4, 4}, others[2] = {4, 3}, long_ones[2] = {4, ulong{1} << 40};
    const lapi_vec_t strided{LAPI_GEN_STRIDED_XFER, 2, info, nullptr};
    const lapi_vec_t listed{LAPI_GEN_IOVECTOR, 2, places, bytes};
    const lapi_vec_t generic{LAPI_GEN_GENERIC, 2, places, bytes};
    const auto put = [&](const lapi_vec_t& to, const lapi_vec_t& from) {
        return LAPI_Putv(own.handle, 0, const_cast<lapi_vec_t*>(&to),
                         const_cast<lapi_vec_t*>(&from), nullptr, nullptr, nullptr);
    };
    const auto both = [&](const lapi_vec_t& wrong, const lapi_vec_t& right, int at_target,
                          int at_origin) {
        test.equal(put(wrong, right), at_target);
        test.equal(put(right, wrong), at_origin);
    };
    both({LAPI_GEN_STRIDED_XFER, 2, close, nullptr}, strided, LAPI_ERR_TGT_STRIDE,
         LAPI_ERR_ORG_STRIDE);
    both({LAPI_GEN_STRIDED_XFER, 2, nowhere, nullptr}, strided, LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL,
         LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL);
    both({LAPI_GEN_IOVECTOR, 2, places, nullptr}, listed, LAPI_ERR_TGT_VEC_ADDR,
         LAPI_ERR_ORG_VEC_ADDR);
    both({LAPI_GEN_IOVECTOR, 2, nowhere, bytes}, listed, LAPI_ERR_TGT_VEC_ADDR,
         LAPI_ERR_ORG_VEC_ADDR);
    both({LAPI_GEN_IOVECTOR, 2, places, long_ones}, listed, LAPI_ERR_TGT_VEC_LEN,
         LAPI_ERR_ORG_VEC_LEN);
    both({static_cast<lapi_vectype_t>(3), 2, places, bytes}, listed, LAPI_ERR_TGT_VEC_TYPE,
         LAPI_ERR_ORG_VEC_TYPE);
    test.equal(put(strided, listed), int{LAPI_ERR_VEC_TYPE_DIFF});
    test.equal(put({LAPI_GEN_IOVECTOR, 1, places, bytes}, listed), int{LAPI_ERR_VEC_NUM_DIFF});
    test.equal(put({LAPI_GEN_IOVECTOR, 2, places, others}, listed), int{LAPI_ERR_VEC_LEN_DIFF});
    test.equal(put({LAPI_GEN_GENERIC, 1, places, bytes}, generic), int{LAPI_ERR_VEC_LEN_DIFF});
    lapi_vec_t fine = listed;
    const auto put_at = [&](lapi_vec_t* to, lapi_vec_t* from) {
        return LAPI_Putv(own.handle, 0, to, from, nullptr, nullptr, nullptr);
    };
    test.equal(put_at(nullptr, &fine), int{LAPI_ERR_TGT_VEC_NULL});
    test.equal(put_at(&fine, nullptr), int{LAPI_ERR_ORG_VEC_NULL});
}

SPMD_TEST(lapi, wrong_arguments_of_the_rest) {
    const lapi_task own(test, world);
    const lapi_handle_t h = own.handle;
    lapi_cntr_t counter{};
    int value = 0;
    void* address = &value;
    test.equal(LAPI_Setcntr(h, nullptr, 0), int{LAPI_ERR_CNTR_NULL});
    test.equal(LAPI_Getcntr(h, nullptr, &value), int{LAPI_ERR_CNTR_NULL});
    test.equal(LAPI_Getcntr(h, &counter, nullptr), int{LAPI_ERR_RET_PTR_NULL});
    test.equal(LAPI_Waitcntr(h, nullptr, 1, nullptr), int{LAPI_ERR_CNTR_NULL});
    test.equal(LAPI_Waitcntr(h, &counter, -1, nullptr), int{LAPI_ERR_CNTR_VAL});
    test.equal(LAPI_Address(address, nullptr), int{LAPI_ERR_RET_PTR_NULL});
    test.equal(LAPI_Address_init(h, address, nullptr), int{LAPI_ERR_ADDR_TBL_NULL});
    test.equal(LAPI_Addr_set(h, address, 0), int{LAPI_ERR_ADDR_HNDL_RANGE});
    test.equal(LAPI_Addr_set(h, address, 64), int{LAPI_ERR_ADDR_HNDL_RANGE});
    test.equal(LAPI_Addr_get(h, &address, -1), int{LAPI_ERR_ADDR_HNDL_RANGE});
    test.equal(LAPI_Addr_get(h, nullptr, 1), int{LAPI_ERR_RET_PTR_NULL});
    char sentence[LAPI_MAX_ERR_STRING];
    for (int code = LAPI_ERR_FIRSTCODE; code <= LAPI_ERR_LASTCODE; ++code) {
        test.equal(LAPI_Msg_string(code, sentence), int{LAPI_SUCCESS});
        test.at_least(std::strlen(sentence), std::size_t{10});
    }
    test.equal(LAPI_Msg_string(12345, sentence), int{LAPI_ERR_CODE_UNKNOWN});
    test.equal(LAPI_Msg_string(LAPI_SUCCESS, nullptr), int{LAPI_ERR_RET_PTR_NULL});
}

SPMD_TEST(lapi, trouble_at_the_target_is_told_to_its_error_handler) {
    if (world.size() != world.machine().processes) {
        test.skip("the error handler of the test has one place in each process");
        return;
    }
    const lapi_task own(test, world);
    const auto amsend = [&](void* handler, ulong bytes) {
        std::vector<char> data(bytes);
        own.good(LAPI_Amsend(own.handle, own.next, handler, nullptr, 0, data.data(), bytes, nullptr,
                             nullptr, nullptr));
        own.meet();
        const lapi_task::trouble told = std::exchange(lapi_task::last_trouble, {});
        test.equal(told.handle, own.handle);
        test.equal(told.kind, int{AM_ERR});
        test.equal(told.origin, static_cast<int>(own.before));
        own.meet();
        return told.code;
    };
    test.equal(amsend(reinterpret_cast<void*>(refuse), 10), int{LAPI_ERR_TGT_ADDR_NULL});
    test.equal(amsend(reinterpret_cast<void*>(refuse), 700 * 1000), int{LAPI_ERR_TGT_ADDR_NULL});
    test.equal(amsend(reinterpret_cast<void*>(std::uint64_t{9}), 10), int{LAPI_ERR_HDR_HNDLR_NULL});
    int no_code = 0;
    test.equal(amsend(&no_code, 10), int{LAPI_ERR_HDR_HNDLR_NULL});
    own.meet();
}

}  // namespace
