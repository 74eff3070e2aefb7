// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include <selion/detail/export.hpp>
#include <selion/detail/global_address.hpp>
#include <selion/detail/shared_word.hpp>

namespace selion::meters {
class recorder;
}

namespace selion::machine {
class transport;
class clock;
class machine;
class death_list;
struct call_record;
class waiter;
class simulated_memory;
struct mail_sign;
struct short_way;
namespace node {
class mail_room;
}
}  // namespace selion::machine

namespace selion::onesided {
class symmetric_heap;
class message_state;
class needed_ranks;
}  // namespace selion::onesided

namespace selion::collectives {
class call_book;
class message_inbox;
class node_map;
class started_collectives;
class tuning_table;
}  // namespace selion::collectives

namespace selion::detail {

class continuation_queue;

/// Whom a thread is when its collectives are not their bare steps.
inline constexpr char no_plain_caller = 0;

/// What has become of the turns of a thread that has let others run, in ticks of the processor's
/// counter.
struct turn_record {
    std::int64_t sleeps_until = 0;  ///< instead of yielding
    std::int64_t turns_slept = 0;   ///< how many times as long as the last turn that was lost
    std::int64_t quick_ticks = 0;   ///< of all turns since that one
};

/// As what a thread works on a context. In one piece, since it changes with each message.
struct working_mode {
    /// The context, while a collective is its bare steps: nothing is recorded or compared, and this
    /// is the rank's own thread, outside of handlers.
    const void* plain_caller = &no_plain_caller;
    bool counts_alone = false;  ///< nobody else counts on this rank's counters within a call
    bool in_handler = false;
    std::byte unused[6] = {};  // so that nothing else lies in the piece
};
alignas(16) inline constexpr working_mode mode_of_handlers{.in_handler = true};

/// What the thread that works on a context changes on its way. A copy of the context is another
/// thread's: it begins anew, and does not even look at the one that it is made of, which may
/// change.
struct thread_state : working_mode {
    std::int64_t deadline_ns = INT64_MAX;  ///< of the clock: of waits of the collective in progress
    bool has_ripe = false;           ///< completion handlers are there that its own stack runs
    bool announces_writes = false;   ///< somebody observes releases (`release_writes`)
    std::uint64_t signal_count = 0;  ///< ranks that inline signals reach: as `bypass_count`, but 0
                                     ///< while something is to be done before each
    /// Ranks that the collective in progress needs; null: all, or there is none.
    const onesided::needed_ranks* needs = nullptr;
    std::int64_t timeout_ns = -1;  ///< of the collective that has a deadline
    /// Of the wait in which others are served and completion handlers run, which have no deadline
    /// themselves.
    std::int64_t outer_deadline_ns = INT64_MAX;
    /// Where the program has sent its last short message: such a message does not carry it.
    std::source_location send_site = {};
    turn_record turns = {};
    /// What waits for futures that have been fulfilled, while one such continuation runs; else
    /// null.
    continuation_queue* continuations = nullptr;

    thread_state() = default;
    thread_state(const thread_state&) noexcept : working_mode() {}
    thread_state& operator=(const thread_state&) = delete;
};

/// Everything that one rank knows about itself and its machine. A machine fills it before the
/// rank's function starts; a thread that joins a rank works on a copy with its own `waiter`.
struct alignas(line_bytes) rank_context {
    // What the inline paths read: one line.
    /// A global address has its place at `mapped_origin` + its bits + `mapped_step` for each rank
    /// beyond `first_heap`: as few instructions as can be, of which a locked one waits for all.
    std::uint64_t mapped_origin = 0;
    std::uint64_t mapped_step = 0;
    std::uint64_t first_heap = 0;    ///< of the first rank that is mapped: see `heap_of`
    std::uint64_t bypass_count = 0;  ///< ranks that inline puts and gets reach; 0 while operations
                                     ///< are recorded or the bypass is switched off
    std::uint64_t mapped_count = 0;  ///< ranks whose memory this process can address
    std::uint32_t rank = 0;
    std::uint32_t ranks = 0;         ///< 0: this thread belongs to no rank
    std::uint32_t brief_looks = 0;   ///< looks at a word before the way to wait is taken; 0 where
                                     ///< somebody else needs the processor, or nobody else writes
                                     ///< words
    std::uint32_t brief_polls = 0;   ///< the same, with a look at what has come in between
    std::uint32_t brief_yields = 0;  ///< then, looks between which other threads may run; 0 where
                                     ///< that is the business of the rank's way to wait
    std::uint64_t* sleepers = nullptr;  ///< threads of the job that sleep or are about to: in the
                                        ///< low half those that may wait for any word, in the high
                                        ///< half those that wait for mail alone; in a line that is
                                        ///< written only when one does
    bool fence_signals = true;          ///< a signalling store needs a full fence of its own
    bool words_mapped = false;          ///< every rank's shared words can be addressed
    bool spends_time = false;           ///< `charge` counts: time is virtual
    bool has_one_thread = false;        ///< no other thread works for the rank, now or later
    std::uint32_t job = 0;              ///< number of the job in this process, from 1
    thread_state own;
    machine::call_record* call = nullptr;
    machine::waiter* waiter = nullptr;
    /// Where its next messages will be, first and end; null: what has come is not seen in that way.
    machine::mail_sign* signs = nullptr;
    machine::mail_sign* signs_end = nullptr;
    machine::node::mail_room* room = nullptr;  ///< of ranks of one host
    machine::short_way* short_ways = nullptr;  ///< to each rank; null: short messages need more

    // Read by slower paths.
    machine::transport* transport = nullptr;
    machine::simulated_memory* simulated = nullptr;  ///< of ranks that share memory in virtual time
    machine::clock* clock = nullptr;
    machine::machine* host = nullptr;
    machine::death_list* deaths = nullptr;  ///< null: the death of a rank ends the job
    meters::recorder* recorder = nullptr;   ///< null when nothing is recorded
    onesided::symmetric_heap* heap = nullptr;
    onesided::message_state* messages = nullptr;
    collectives::message_inbox* inbox = nullptr;  ///< of collectives that are made of messages
    collectives::started_collectives* started = nullptr;
    const collectives::tuning_table* tuning = nullptr;  ///< what has been measured; null: nothing
    const collectives::node_map* nodes = nullptr;  ///< which ranks share memory, where not all do;
                                                   ///< null: not known
    collectives::call_book* calls = nullptr;  ///< what all have called; null: machines whose time
                                              ///< is real, and ranks have to ask each other
    void* world = nullptr;                    ///< state of the floors above
    /// Calls a rank that looks after no messages by itself, before somebody waits until it has
    /// taken some; null: there are none.
    void (*call_to_mail)(rank_context& caller, std::uint32_t rank) = nullptr;
    std::uint64_t reserve_bytes = 0;  ///< bytes of each rank's heap
    std::uint32_t group_first = 0;    ///< ranks that share my carrier thread: the first one …
    std::uint32_t group_size = 1;     ///< … and how many, all neighbours in number
    std::uint32_t groups = 1;         ///< carriers of the whole job
    std::uint32_t processors = 0;     ///< that they may use; 0 where time is virtual
    const machine::call_record* sharers = nullptr;  ///< of all ranks that share these …
    std::uint32_t sharer_count = 0;                 ///< … and how many: none, where nobody asks
    std::int64_t long_turn_ticks = std::int64_t{1} << 20;  ///< see src/machine/node/turns.hpp
    std::uint64_t store_offset = 0;  ///< of the counter of stores in each rank's heap
    bool compares_calls = false;     ///< what the ranks call in each collective
    bool is_foreign_thread = false;
    /// Where this thread notes its calls, which runs completion handlers beside the rank's own;
    /// else null.
    machine::call_record* beside = nullptr;

    /// From now on `count` ranks are mapped, from rank `first` on, whose heap is at `base`.
    /// @param stride_bytes from one rank's memory to the next; no power of two, so that equal
    /// offsets of many ranks do not meet in one set of a cache.
    void map_ranks(std::byte* base, std::uint64_t first, std::uint64_t count,
                   std::uint64_t stride_bytes) noexcept {
        first_heap = heap_of(first);
        mapped_count = count;
        mapped_origin = reinterpret_cast<std::uintptr_t>(base) - (first_heap << offset_bits);
        mapped_step = stride_bytes - (std::uint64_t{1} << offset_bits);
    }
    std::uint64_t stride_bytes() const noexcept {
        return mapped_step + (std::uint64_t{1} << offset_bits);
    }
    std::uint64_t first_mapped() const noexcept { return first_heap & rank_mask; }
    /// Where the heap of rank `first_mapped` begins.
    std::byte* mapped_base() const noexcept {
        return reinterpret_cast<std::byte*>(mapped_origin + (first_heap << offset_bits));
    }
};

/// Context of the rank that the calling thread works for; a context of zero ranks when none.
/// Machines set it when they switch ranks.
extern SELION_API constinit thread_local rank_context* current_context
    __attribute__((tls_model("initial-exec")));

/// Where this process maps a global address of the heap if its rank is one of `count` from the
/// first mapped one on, else null.
inline std::byte* address_within(const rank_context& context, std::uint64_t bits,
                                 std::uint64_t count) noexcept {
    const std::uint64_t index = (bits >> offset_bits) - context.first_heap;
    if (index >= count) [[unlikely]]
        return nullptr;
    const std::uint64_t place = context.mapped_origin + bits + index * context.mapped_step;
    if (place == 0) __builtin_unreachable();  // spares callers a second test
    return reinterpret_cast<std::byte*>(place);
}

/// Null also where operations have to take the long way.
inline std::byte* local_address(const rank_context& context, std::uint64_t bits) noexcept {
    return address_within(context, bits, context.bypass_count);
}

/// Where a signal lies that nothing has to be done before.
inline std::byte* signal_address(const rank_context& context, std::uint64_t bits) noexcept {
    return address_within(context, bits, context.own.signal_count);
}

/// Whether or not operations are recorded.
inline std::byte* mapped_address(const rank_context& context, std::uint64_t bits) noexcept {
    return address_within(context, bits, context.mapped_count);
}

}  // namespace selion::detail
