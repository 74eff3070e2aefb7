// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "lapi/operation.hpp"

namespace selion::lapi {
namespace {

/// Data for one place.
struct put_header {
    std::byte* place;
    lapi_cntr_t* counter;
};

arrival take_put(const put_header& came, message_info about) {
    if (!about.data.empty()) std::memcpy(came.place, about.data.data(), about.data.size());
    count(came.counter);
    return {};
}

/// What a get has asked for.
arrival take_answer(const put_header& came, message_info about) {
    note_piece();
    return take_put(came, about);
}

struct get_header {
    const std::byte* source;
    std::byte* place;
    std::size_t bytes;
    operation_counters when;
};

arrival answer_get(const get_header& came, message_info about) {
    send(about.origin, take_answer, put_header{came.place, came.when.origin},
         {came.source, came.bytes});
    count(came.when.target);
    return {};
}

int check_transfer(const operation& what, ulong bytes, const void* target, const void* origin) {
    if (what.code != LAPI_SUCCESS) return what.code;
    if (bytes > most_data_bytes) return LAPI_ERR_DATA_LEN;
    if (bytes != 0 && target == nullptr) return LAPI_ERR_TGT_ADDR_NULL;
    if (bytes != 0 && origin == nullptr) return LAPI_ERR_ORG_ADDR_NULL;
    return LAPI_SUCCESS;
}

}  // namespace
}  // namespace selion::lapi

using namespace selion::lapi;

int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr,
             lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
    const operation what(hndl, tgt);
    const int code = check_transfer(what, len, tgt_addr, org_addr);
    if (code != LAPI_SUCCESS) return code;
    in_pieces({static_cast<const std::byte*>(org_addr), len},
              [&](std::size_t at, std::span<const std::byte> piece, bool is_last) {
                  const put_header header{static_cast<std::byte*>(tgt_addr) + at,
                                          is_last ? tgt_cntr : nullptr};
                  what.message(take_put, header, piece, is_last ? as_counter(cmpl_cntr) : nullptr);
              });
    count_origin(what, org_cntr);
    return LAPI_SUCCESS;
}

int LAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr,
             lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr) {
    const operation what(hndl, tgt);
    const int code = check_transfer(what, len, tgt_addr, org_addr);
    if (code != LAPI_SUCCESS) return code;
    in_pieces({static_cast<const std::byte*>(tgt_addr), len},
              [&](std::size_t at, std::span<const std::byte> piece, bool is_last) {
                  get_header header{
                      piece.data(), static_cast<std::byte*>(org_addr) + at, piece.size(), {}};
                  if (is_last) header.when = {.target = tgt_cntr, .origin = org_cntr};
                  await_turn_to_ask(*what.own);
                  what.message(answer_get, header);
              });
    return LAPI_SUCCESS;
}
