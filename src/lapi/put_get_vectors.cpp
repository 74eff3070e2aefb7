// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "lapi/operation.hpp"

namespace selion::lapi {
namespace {

/// One run of bytes that lie together at both ends.
struct run {
    std::byte* place;         ///< where they go
    const std::byte* source;  ///< where they come from
    std::size_t bytes;
};

struct runs_header {
    std::size_t count;  ///< of runs, which stand in front of the data
    operation_counters when;
};

std::span<const run> runs_of(const runs_header& header, message_info about) {
    return {reinterpret_cast<const run*>(about.data.data()), header.count};
}

/// A list of runs, and room for their data behind it.
class runs_message {
public:
    runs_message(std::span<const run> runs, std::size_t data_bytes)
        : bytes_(runs.size_bytes() + data_bytes), used_(runs.size_bytes()) {
        if (!runs.empty()) std::memcpy(bytes_.data(), runs.data(), runs.size_bytes());
    }
    void add(const run& next) {
        std::memcpy(bytes_.data() + used_, next.source, next.bytes);
        used_ += next.bytes;
    }
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
    std::size_t used_;
};

std::size_t data_bytes_of(std::span<const run> runs) {
    std::size_t sum = 0;
    for (const run& one : runs) sum += one.bytes;
    return sum;
}

runs_message with_data(std::span<const run> runs) {
    runs_message made(runs, data_bytes_of(runs));
    for (const run& one : runs) made.add(one);
    return made;
}

arrival take_runs(const runs_header& came, message_info about) {
    std::size_t at = came.count * sizeof(run);
    for (const run& one : runs_of(came, about)) {
        std::memcpy(one.place, about.data.data() + at, one.bytes);
        at += one.bytes;
    }
    count(came.when.target);
    return {};
}

/// What a get has asked for.
arrival take_answered_runs(const runs_header& came, message_info about) {
    note_piece();
    return take_runs(came, about);
}

arrival answer_runs(const runs_header& came, message_info about) {
    const runs_message answer = with_data(runs_of(came, about));
    send(about.origin, take_answered_runs, runs_header{came.count, {.target = came.when.origin}},
         answer.bytes());
    count(came.when.target);
    return {};
}

/// Cuts what goes from one walk to another into lists of runs that fit into a message, and calls
/// `write(runs, is_last)` for each; at least once. @pre there is a place for all.
template <class Write>
void in_lists(piece_walk source, piece_walk place, const Write& write) {
    std::size_t room = piece_bytes();
    std::vector<run> runs;
    while (!source.is_at_end()) {
        if (room <= sizeof(run)) {
            write(runs, false);
            runs.clear();
            room = piece_bytes();
        }
        room -= sizeof(run);
        const std::size_t bytes = std::min({source.bytes(), place.bytes(), room});
        runs.push_back({place.address(), source.address(), bytes});
        source.advance(bytes);
        place.advance(bytes);
        room -= bytes;
    }
    write(runs, true);
}

int check(const operation& what, const lapi_vec_t* target, const lapi_vec_t* origin, data_way way) {
    return what.code != LAPI_SUCCESS ? what.code : check_vectors(target, origin, way);
}

}  // namespace
}  // namespace selion::lapi

using namespace selion::lapi;

int LAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec,
              lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
    const operation what(hndl, tgt);
    const int code = check(what, tgt_vec, org_vec, data_way::to_target);
    if (code != LAPI_SUCCESS) return code;
    in_lists(piece_walk(*org_vec), piece_walk(*tgt_vec),
             [&](const std::vector<run>& runs, bool is_last) {
                 const runs_message message = with_data(runs);
                 runs_header header{runs.size(), {}};
                 if (is_last) header.when.target = tgt_cntr;
                 what.message(take_runs, header, message.bytes(),
                              is_last ? as_counter(cmpl_cntr) : nullptr);
             });
    count_origin(what, org_cntr);
    return LAPI_SUCCESS;
}

int LAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec,
              lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr) {
    const operation what(hndl, tgt);
    const int code = check(what, tgt_vec, org_vec, data_way::to_origin);
    if (code != LAPI_SUCCESS) return code;
    in_lists(piece_walk(*tgt_vec), piece_walk(*org_vec),
             [&](const std::vector<run>& runs, bool is_last) {
                 runs_header header{runs.size(), {}};
                 if (is_last) header.when = {.target = tgt_cntr, .origin = org_cntr};
                 await_turn_to_ask(*what.own);
                 what.message(answer_runs, header, std::as_bytes(std::span(runs)));
             });
    return LAPI_SUCCESS;
}
