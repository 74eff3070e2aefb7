// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "machine/node/control_block.hpp"
#include "selion/detail/routine_parameter.hpp"
#include "selion/detail/shared_word.hpp"

/// What a host and its worker on the same computer have in common. Offsets, never pointers: each
/// may map it elsewhere. All zero is the initial state of every part. The protocol is told in
/// src/offload/calls.md.
namespace selion::machine::workers {

using node::doorbell;

/// How a call came out.
enum class call_outcome : std::uint32_t { done, thrown, cancelled, unknown_routine };

/// Instead of a routine's number: the worker ends.
inline constexpr std::uint32_t stop_routine = ~std::uint32_t{0};

/// What a host has to say of a call that it has sent. Whatever it is, a worker that has not begun
/// the call skips it.
enum class call_notice : std::uint32_t {
    none,
    given_up,    ///< the routine may ask for that
    taken_back,  ///< another worker is to have it: a routine that runs goes on
};

/// Calls that may be under way on one worker.
inline constexpr std::uint64_t ring_slots = 64;
inline constexpr std::size_t most_error_text = 1000;

/// A call, written by the host.
struct alignas(detail::line_bytes) call_request {
    std::uint64_t turn;  ///< number of the call, from 1; written last
    std::uint32_t routine;
    call_notice notice;  ///< may change later
    std::array<std::uint64_t, detail::most_frame_words> words;
};

/// What became of it, written by the worker.
struct alignas(detail::line_bytes) call_reply {
    std::uint64_t turn;  ///< written last
    call_outcome outcome;
    std::uint32_t text_bytes;  ///< of an exception: its type, 0, its text
    std::uint64_t busy_ns;     ///< of the routine, where the pool measures
    std::array<std::uint64_t, detail::most_result_words> results;
};
static_assert(sizeof(call_reply) == detail::line_bytes);

struct call_text {
    std::array<char, most_error_text> bytes;
};

/// What a worker has to itself; its memory follows.
struct worker_area {
    std::array<call_request, ring_slots> requests;
    std::array<call_reply, ring_slots> replies;
    std::array<call_text, ring_slots> texts;
    doorbell bell;                                    ///< the worker sleeps on it
    alignas(detail::line_bytes) std::uint64_t begun;  ///< calls that it has begun
    std::uint32_t is_ready;  ///< the worker is there, and the list of its routines
    std::uint32_t list_bytes;
    std::array<char, 1 << 16> list;

    call_request& request(std::uint64_t turn) { return requests[turn % ring_slots]; }
    call_reply& reply(std::uint64_t turn) { return replies[turn % ring_slots]; }
    call_text& text(std::uint64_t turn) { return texts[turn % ring_slots]; }
};

/// How long somebody who waits stays awake: the user's choice.
struct waiting_policy {
    std::int64_t spin_ns = 0;
    std::int64_t yield_ns = 0;
};

/// At the start of a pool's memory.
struct pool_head {
    std::uint64_t magic;
    std::uint64_t shared_bytes;   ///< this head and what all workers see; then come their areas
    std::uint64_t area_bytes;     ///< of each worker: its area and its memory
    std::uint64_t memory_bytes;   ///< of its memory
    waiting_policy waiting;       ///< of workers
    std::int32_t host_processor;  ///< on which the host waits, or began
    std::uint32_t measures;       ///< workers note what routines take
    alignas(detail::line_bytes) doorbell host_bell;
};
inline constexpr std::uint64_t pool_magic = 0x314c4f4f504553ull;  // "SEPOOL1"

/// The ring's words in their orders. One side writes each.
inline std::uint64_t read_turn(const std::uint64_t& turn) {
    // acquire: the call, or its results, are visible with its number [call.turn]
    return std::atomic_ref(const_cast<std::uint64_t&>(turn)).load(std::memory_order_acquire);
}
inline void write_turn(std::uint64_t& turn, std::uint64_t number) {
    // release: publishes the call, or its results [call.turn]
    std::atomic_ref(turn).store(number, std::memory_order_release);
}

}  // namespace selion::machine::workers
