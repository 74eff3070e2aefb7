// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/network.hpp"
#include "selion/counter.hpp"
#include "selion/detail/slow_path.hpp"
#include "selion/signal.hpp"

namespace selion::machine::sim {

class simulation;

enum class transfer_kind : std::uint8_t { put, get, atomic, message };

/// An operation of one rank on another's memory while it is under way: first as a request, then,
/// the same object, as its answer.
struct transfer : message {
    // A cache line for what every operation needs …
    alignas(64) simulation* host = nullptr;
    const operation_regime* regime = nullptr;
    std::uint64_t target = 0;  ///< global address
    std::uint64_t data_bytes = 0;
    std::uint64_t signal = detail::null_address;  ///< global address, if any
    detail::signal_update update{0, false};
    std::uint32_t origin = 0;
    transfer_kind what = transfer_kind::put;
    bool is_done = false;      ///< the origin has its answer
    bool is_answer = false;    ///< on its way back
    bool is_awaited = false;   ///< by a call, which gives it back to the pool
    bool is_fleeting = false;  ///< no `quiet` waits for it, so nobody acknowledges it
    bool moves_data = true;    ///< else `data_bytes` take their time only
    // … and what only some do.
    ticks sent = 0;            ///< when it began its way, or will
    std::uint64_t number = 0;  ///< of its origin's requests, where wires do not keep their order
    event::action then = nullptr;  ///< when the processor that received it is done with it
    ticks cost = 0;                ///< of that processor
    void* answer = nullptr;        ///< where the origin wants the data
    counter* origin_counter = nullptr;
    counter* completion = nullptr;
    detail::atomic_request request{};
    std::uint64_t before = 0;  ///< what an atomic found
    std::uint64_t flow = 0;    ///< its arrow in a trace
    std::uint64_t handler = 0;
    std::uint16_t message_kind = 0;
    std::uint16_t argument_bytes = 0;  ///< of `data`, at its start; then the message's own data
    bool has_reply = false;            ///< its handler has answered: that is its answer now
    bool is_deferred = false;          ///< it has waited for another handler of its rank
    bool has_credit = false;           ///< of its origin's, until that knows that it is done
    bool waits_alone = false;          ///< its origin does not stand still for it
    bool is_ahead = false;             ///< its origin has sent it before the time that it leaves

    /// Whether its answer carries data, not only news.
    bool brings_data() const {
        return what == transfer_kind::get || (what == transfer_kind::atomic && request.fetches) ||
               has_reply;
    }
    bool has_data() const { return moves_data && data_bytes != 0; }
    /// Room for `data_bytes`, where it moves them.
    std::byte* data() { return data_bytes <= near_.size() ? near_.data() : far_.data(); }
    void make_room(std::uint64_t wanted_bytes) {
        data_bytes = wanted_bytes;
        if (moves_data && wanted_bytes > near_.size()) far_.resize(wanted_bytes);
    }
    /// Gives large room back; the object itself is used again.
    void clear() {
        if (!far_.empty()) std::vector<std::byte>().swap(far_);
    }

private:
    alignas(16) std::array<std::byte, 32> near_;
    std::vector<std::byte> far_;
};

/// Transfers that are used again and again; they live in blocks and never move.
class transfer_pool {
public:
    transfer& take() {
        if (free_.empty()) grow();
        transfer& taken = *free_.back();
        free_.pop_back();
        taken.is_done = false;
        taken.is_answer = false;
        taken.is_awaited = taken.has_reply = taken.is_deferred = taken.has_credit = false;
        return taken;
    }
    void give_back(transfer& done) {
        if (done.data_bytes != 0) done.clear();
        free_.push_back(&done);
    }

private:
    void grow() {
        constexpr std::size_t block = 256;
        blocks_.push_back(std::make_unique<transfer[]>(block));
        for (std::size_t i = block; i-- > 0;) free_.push_back(&blocks_.back()[i]);
    }
    std::vector<std::unique_ptr<transfer[]>> blocks_;
    std::vector<transfer*> free_;
};

}  // namespace selion::machine::sim
