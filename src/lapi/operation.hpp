// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "lapi/task.hpp"

namespace selion::lapi {

/// The counters of one operation, any of which may be null.
struct operation_counters {
    lapi_cntr_t* target = nullptr;
    lapi_cntr_t* origin = nullptr;
    lapi_cntr_t* completion = nullptr;
};

/// Whom an operation concerns.
struct operation {
    task* own = nullptr;
    std::uint32_t target = 0;
    int code = LAPI_SUCCESS;  ///< else what is wrong with the handle or the target

    operation(lapi_handle_t handle, uint to) : own(find_task(handle)), target(to) {
        if (own == nullptr) code = LAPI_ERR_HNDL_INVALID;
        if (own != nullptr && to >= own_context().ranks) code = LAPI_ERR_TGT;
    }

    /// Sends the target one of the operation's messages, which the next fence waits for. That may
    /// be the fence of a completion handler that runs before the operation's next message.
    template <class Handler, class Header>
    void message(Handler handler, const Header& header, std::span<const std::byte> data = {},
                 counter* completion = nullptr) const {
        send(target, handler, header, data, {.completion = completion}, own->site);
        own->reached[target] = ++own->started;
    }
};

/// The source may be reused.
inline void count_origin(const operation& what, lapi_cntr_t* which) {
    detail::count_here(own_context(), as_counter(which), what.own->site);
}

/// Runs `write(origin, piece, is_last)` for pieces of a span that are at most `piece_bytes()` long;
/// of an empty one for one empty piece.
template <class Write>
void in_pieces(std::span<const std::byte> data, const Write& write) {
    const std::size_t most = piece_bytes();
    std::size_t done = 0;
    do {
        const std::size_t now = std::min(most, data.size() - done);
        write(done, data.subspan(done, now), done + now == data.size());
        done += now;
    } while (done < data.size());
}

}  // namespace selion::lapi
