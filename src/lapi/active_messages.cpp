// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "lapi/handler_names.hpp"
#include "lapi/operation.hpp"

namespace selion::lapi {
namespace {

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

/// The first message: the user's header, the lengths of the pieces if there are any, and data.
struct first_header {
    std::uint64_t handler;
    lapi_cntr_t* target_counter;
    lapi_cntr_t* completion_counter;
    std::uint64_t number;
    std::uint64_t data_bytes;  ///< of the whole message
    std::uint32_t user_bytes;
    std::uint32_t lengths;  ///< of a vector, which may have none
    bool is_vector;

    std::size_t front_bytes() const {
        return padded(user_bytes) + padded(std::size_t{lengths} * sizeof(ulong));
    }
};

/// Those that follow.
struct next_header {
    std::uint64_t number;
};

completion completion_of(const arriving_message& message, std::uint32_t origin) {
    return {message.function, message.argument, message.target_counter, message.completion_counter,
            origin};
}

/// What the program's header handler says.
struct reception {
    piece_walk place;
    compl_hndlr_t* function = nullptr;
    void* argument = nullptr;
};

reception ask_handler(task& own, void* handler, const first_header& came, const std::byte* front) {
    reception said{piece_walk(nullptr, 0)};
    // Programs may change what they get; the message is theirs to read while the handler runs.
    void* const user = came.user_bytes == 0 ? nullptr : const_cast<std::byte*>(front);
    const place_of_call outer(own);
    lapi_handle_t handle = own.last_handle;
    uint user_bytes = came.user_bytes;
    if (came.is_vector) {
        auto* lengths =
            reinterpret_cast<ulong*>(const_cast<std::byte*>(front + padded(came.user_bytes)));
        const lapi_vec_t* const vector = reinterpret_cast<vhdr_hndlr_t*>(handler)(
            &handle, user, &user_bytes, lengths, &said.function, &said.argument);
        if (vector != nullptr && check_target_vector(vector) == LAPI_SUCCESS) {
            said.place = piece_walk(*vector);
        }
    } else {
        ulong data_bytes = came.data_bytes;
        void* const place = reinterpret_cast<hdr_hndlr_t*>(handler)(
            &handle, user, &user_bytes, &data_bytes, &said.function, &said.argument);
        if (place != nullptr) said.place = piece_walk(place, came.data_bytes);
    }
    return said;
}

/// Puts data where they belong. @return false if there was no place for them: that is reported.
bool take_data(task& own, arriving_message& message, std::span<const std::byte> data,
               std::uint32_t origin) {
    message.missing_bytes -= data.size();
    if (write_to(message.place, data) == data.size()) return true;
    report(own, LAPI_ERR_TGT_ADDR_NULL, AM_ERR, origin);
    return false;
}

arrival take_first(const first_header& came, message_info about) {
    task& own = task_of_handler();
    void* const handler = handler_of_name(own, came.handler);
    if (handler == nullptr) {
        report(own, LAPI_ERR_HDR_HNDLR_NULL, AM_ERR, about.origin);
        return {};
    }
    const reception said = ask_handler(own, handler, came, about.data.data());
    arriving_message message{said.place,    came.data_bytes,     said.function,
                             said.argument, came.target_counter, came.completion_counter};
    if (!take_data(own, message, about.data.subspan(came.front_bytes()), about.origin)) return {};
    if (message.missing_bytes == 0) {
        complete(own, completion_of(message, about.origin));
    } else {
        own.arriving.emplace(std::pair(about.origin, came.number), message);
    }
    return {};
}

arrival take_next(const next_header& came, message_info about) {
    task& own = task_of_handler();
    const auto found = own.arriving.find({about.origin, came.number});
    if (found == own.arriving.end()) return {};  // its beginning has been reported
    arriving_message& message = found->second;
    const bool is_there = take_data(own, message, about.data, about.origin);
    if (is_there && message.missing_bytes != 0) return {};
    const completion last = completion_of(message, about.origin);
    own.arriving.erase(found);
    if (is_there) complete(own, last);
    return {};
}

/// One message of the program.
struct outgoing_message {
    first_header header;
    const void* user;
    const ulong* lengths;
    piece_walk data;
};

int check_header(const operation& what, const void* handler, const void* user, uint user_bytes) {
    if (what.code != LAPI_SUCCESS) return what.code;
    if (handler == nullptr) return LAPI_ERR_HDR_HNDLR_NULL;
    if (user_bytes > most_header_bytes) return LAPI_ERR_UHDR_LEN;
    return user == nullptr && user_bytes != 0 ? LAPI_ERR_UHDR_NULL : LAPI_SUCCESS;
}

void send_all(const operation& what, outgoing_message& message) {
    first_header& header = message.header;
    header.number = what.own->messages_sent++;
    const std::size_t front = header.front_bytes();
    const std::size_t most = std::max(piece_bytes(), front);
    std::vector<std::byte> bytes(std::min<std::size_t>(most, front + header.data_bytes));
    if (header.user_bytes != 0) std::memcpy(bytes.data(), message.user, header.user_bytes);
    if (header.lengths != 0) {
        std::memcpy(bytes.data() + padded(header.user_bytes), message.lengths,
                    header.lengths * sizeof(ulong));
    }
    read_from(message.data, std::span(bytes).subspan(front));
    what.message(take_first, header, bytes);
    while (!message.data.is_at_end()) {
        bytes.resize(most);
        const std::size_t now = read_from(message.data, bytes);
        what.message(take_next, next_header{header.number}, std::span(bytes).first(now));
    }
}

/// What a vector handler sees of the lengths.
std::vector<ulong> lengths_of(const lapi_vec_t& vector) {
    if (vector.num_vecs == 0) return {};  // what else it has may be null
    if (vector.vec_type != LAPI_GEN_STRIDED_XFER) return {vector.len, vector.len + vector.num_vecs};
    return std::vector<ulong>(vector.num_vecs, reinterpret_cast<ulong>(vector.info[1]));
}

}  // namespace
}  // namespace selion::lapi

using namespace selion::lapi;

int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len, void* udata,
                ulong udata_len, lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr,
                lapi_cntr_t* cmpl_cntr) {
    const operation what(hndl, tgt);
    const int code = check_header(what, hdr_hdl, uhdr, uhdr_len);
    if (code != LAPI_SUCCESS) return code;
    if (udata_len > most_data_bytes) return LAPI_ERR_DATA_LEN;
    if (udata == nullptr && udata_len != 0) return LAPI_ERR_ORG_ADDR_NULL;
    outgoing_message message{
        {name_of_handler(hdr_hdl), tgt_cntr, cmpl_cntr, 0, udata_len, uhdr_len, 0, false},
        uhdr,
        nullptr,
        piece_walk(udata, udata_len)};
    send_all(what, message);
    count_origin(what, org_cntr);
    return LAPI_SUCCESS;
}

int LAPI_Amsendv(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len,
                 lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr,
                 lapi_cntr_t* cmpl_cntr) {
    const operation what(hndl, tgt);
    if (const int code = check_header(what, hdr_hdl, uhdr, uhdr_len); code != LAPI_SUCCESS) {
        return code;
    }
    if (const int code = check_origin_vector(org_vec); code != LAPI_SUCCESS) return code;
    const std::size_t most = selion::detail::most_message_bytes();
    if (org_vec->num_vecs > most / sizeof(ulong)) return LAPI_ERR_ORG_VEC_LEN;
    const std::vector<ulong> lengths = lengths_of(*org_vec);
    outgoing_message message{
        {name_of_handler(hdr_hdl), tgt_cntr, cmpl_cntr, 0, total_bytes(*org_vec), uhdr_len,
         static_cast<uint>(lengths.size()), true},
        uhdr,
        lengths.data(),
        piece_walk(*org_vec)};
    if (message.header.front_bytes() > most) return LAPI_ERR_ORG_VEC_LEN;
    send_all(what, message);
    count_origin(what, org_cntr);
    return LAPI_SUCCESS;
}
