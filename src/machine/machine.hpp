// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "machine/process/job_environment.hpp"
#include "meters/record/link_use.hpp"
#include "meters/record/network_events.hpp"
#include "selion/charge.hpp"
#include "selion/detail/incoming_message.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/slow_path.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/error_handler.hpp"
#include "selion/machines.hpp"
#include "selion/signal.hpp"
#include "selion/world.hpp"

/// The seam. Everything above is written against these four interfaces; how to write a machine is
/// told in docs/howto/write-a-machine.md.
namespace selion::machine {

/// Why a rank waits; meters and reports group by it.
enum class wait_reason : std::uint8_t { collective, signal, counter, message, start, end };
std::string_view name_of(wait_reason reason);

inline constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();

/// A word and the value that somebody waits for.
struct awaited_word {
    detail::shared_word* word;
    std::uint64_t at_least;
};

/// One wait: until the word is at least `at_least`, or one of the others is where it should be, or
/// the clock reaches the deadline.
struct wait_request {
    detail::shared_word& word;
    std::uint64_t at_least;
    wait_reason reason;
    std::int64_t deadline_ns = no_deadline;
    std::span<const awaited_word> others = {};

    bool has_arrived() const noexcept {
        if (detail::word_load(word) >= at_least) return true;
        for (const awaited_word& other : others) {
            if (detail::word_load(*other.word) >= other.at_least) return true;
        }
        return false;
    }
};

/// What a tick of a machine's clock is.
struct tick_scale {
    double per_second = 1e9;
    double per_cycle = 0;  ///< of the clock that the machine's description names; 0: it names none
};

/// Time and waiting.
class clock {
public:
    virtual ~clock() = default;
    /// Nanoseconds; steady, comparable between the ranks of one host.
    virtual std::int64_t now_ns() = 0;
    /// The same in picoseconds.
    virtual std::int64_t now_ps() { return now_ns() * 1000; }
    /// For records: picoseconds since the job began. A look costs the calling rank nothing where
    /// time is virtual, so that records change no run.
    virtual std::int64_t stamp_ps() { return now_ps(); }
    /// For meters: the finest count that can be read soonest, and steadily. It costs nothing where
    /// time is virtual.
    virtual std::int64_t stamp_ticks();
    virtual tick_scale scale_of_ticks();
    /// Spends the time of some work, where time is virtual.
    virtual void charge(detail::rank_context&, const work&) {}
    /// Before the calling rank reads or writes its own memory: where time is virtual, what others
    /// have done there by its time happens first. It takes no time.
    virtual void fall_in(detail::rank_context&) {}
    /// Blocks the calling rank, never its carrier as long as another rank of it can run.
    /// The word must be one that the caller maps. @return whether the value arrived.
    virtual bool wait(detail::rank_context& context, const wait_request& request) = 0;
    /// Wakes whoever sleeps on a word that has just changed.
    virtual void wake(detail::rank_context& context, detail::shared_word& word) = 0;
    /// The same for a word of the program's, which only threads of its owner wait for. They may do
    /// away with it as soon as it has its value, so nobody looks at it after that, but where ranks
    /// take turns.
    virtual void wake_owner(detail::rank_context& context, detail::shared_word& word,
                            std::uint32_t) {
        wake(context, word);
    }
    /// Adds 1 to a word that only threads of the rank itself wait for, and wakes them: likewise.
    virtual void count(detail::rank_context& context, detail::shared_word& word) = 0;
};

/// A message that makes its target call `job::deliver`. The machine knows nothing of its meaning.
struct message_request {
    std::uint32_t target;
    std::uint16_t kind;       ///< as the floor above likes
    bool is_reply = false;    ///< sent by a handler to whom it serves; causes no further messages
    bool lends_data = false;  ///< data stay as they are until the target says otherwise
    std::uint64_t handler;
    std::span<const std::byte> arguments;  ///< copied; whole words, `most_argument_bytes` at most
    const void* data = nullptr;
    std::size_t bytes = 0;
    std::source_location site = {};  ///< of the call that sends it; none: none of the program's
    /// Called once the message is where its target finds it, which may be after `send` has
    /// returned; null: nobody wants to know. Only where ranks share memory.
    void (*on_sent)(detail::rank_context& sender, std::uint32_t target,
                    std::uint64_t argument) = nullptr;
    std::uint64_t sent_argument = 0;
};
using detail::incoming_message;
using detail::most_argument_bytes;

/// How a rank sends another a message of at most two words at once, all of it in registers, where
/// ranks have such ways. Machines have more in the rest of its bytes.
struct alignas(128) short_way {
    /// @param about the message: see `short_about`.
    using sender = void (*)(short_way& way, std::uint64_t handler, std::uint64_t first,
                            std::uint64_t second, std::uint64_t about,
                            detail::rank_context& sender);
    sender send = nullptr;
    sender reply = nullptr;  ///< as `message_request::is_reply`

protected:
    ~short_way() = default;
};
/// @param kind as in `message_request`. @param bytes of its words.
constexpr std::uint64_t short_about(std::uint16_t kind, std::size_t bytes) {
    return kind | bytes << 16;
}

/// Where the next message of some sender will be: the word has the value then.
struct mail_sign {
    const std::uint64_t* word = nullptr;
    std::uint64_t value = 0;
    void* reader = nullptr;  ///< as the machine likes

    bool has_come() const {
        // acquire: the whole message is there [ring.slot]
        return std::atomic_ref(*const_cast<std::uint64_t*>(word)).load(std::memory_order_acquire) ==
               value;
    }
};

/// Lets another rank read data of the caller's where they lie, for as long as it is kept.
struct loan {
    std::uint64_t key;            ///< by which the other one reads them
    std::shared_ptr<void> offer;  ///< ends with its last owner
};

/// Moves bytes where the inline bypass does not reach. Arguments have been checked. What a rank
/// sends to another takes effect in the order in which it was sent; but a get that was started may
/// read later than what is sent after it.
class transport {
public:
    virtual ~transport() = default;
    /// Starts a put. Without an origin counter the source may be reused on return. Whoever sees the
    /// signal sees the data.
    virtual void put(detail::rank_context& context, const detail::put_request& request) = 0;
    /// Puts the same bytes in several places, each of another rank, at once where the machine can.
    /// @param targets global addresses in memory that the caller does not map.
    virtual void put_to_all(detail::rank_context& context, std::span<const std::uint64_t> targets,
                            const void* source, std::size_t bytes) {
        for (const std::uint64_t target : targets) put(context, {target, source, bytes});
    }
    virtual void get(detail::rank_context& context, void* target, std::uint64_t source,
                     std::size_t bytes) = 0;
    virtual void start_get(detail::rank_context& context, const detail::get_request& request) = 0;
    /// @return the element's bits before the operation; of one that fetches nothing it need not
    /// wait for its effect, and returns anything.
    virtual std::uint64_t atomic(detail::rank_context& context,
                                 const detail::atomic_request& request) = 0;
    virtual void start_atomic(detail::rank_context& context, const detail::atomic_request& request,
                              const detail::atomic_answer& answer) = 0;
    /// Completes all earlier operations of this rank.
    virtual void quiet(detail::rank_context& context) = 0;
    /// Completes its earlier operations on one rank's memory.
    virtual void quiet(detail::rank_context& context, std::uint32_t target) = 0;

    /// Sends a message. Waits, serving others, while there is no room for it; in a handler it never
    /// waits for anything that a handler may have to do.
    virtual void send(detail::rank_context& context, const message_request& request) = 0;
    /// The same for a message of kind 0 that has no data, for machines that have a shorter way.
    /// It and those below are sent at `context.own.send_site`.
    virtual void send_plain(detail::rank_context& context, std::uint32_t target,
                            std::uint64_t handler, const std::byte* arguments, std::size_t bytes) {
        send(context, {.target = target,
                       .kind = 0,
                       .handler = handler,
                       .arguments = {arguments, bytes},
                       .site = context.own.send_site});
    }
    /// The same for a message of at most two words, where the caller has no `short_ways`.
    /// @param about see `short_about`.
    virtual void send_short(detail::rank_context& context, std::uint32_t target, bool is_reply,
                            std::uint64_t handler, std::uint64_t first, std::uint64_t second,
                            std::uint64_t about) {
        const std::array words{first, second};
        send(context, {.target = target,
                       .kind = static_cast<std::uint16_t>(about),
                       .is_reply = is_reply,
                       .handler = handler,
                       .arguments = std::as_bytes(std::span(words)).first(about >> 16),
                       .site = context.own.send_site});
    }
    /// Whether the target can read data where they lie, so that the machine need not copy them.
    virtual bool can_lend(const detail::rank_context& context, std::uint32_t target,
                          const void* data, std::size_t bytes) const = 0;
    /// Lets the target read data where they lie (`read_loan`), where the machine moves memory by
    /// itself and that takes less than a message with a copy of them. They must stay as they are
    /// until the target says that it has read them, which is the caller's matter; it calls the
    /// machine until then. @return nothing: they are to be sent.
    virtual std::optional<loan> lend(const detail::rank_context&, std::uint32_t /*target*/,
                                     std::span<const std::byte> /*data*/) {
        return {};
    }
    /// Begins to read what a rank has lent to the caller's. Not in handlers.
    /// @param done counts when all is there. @pre the lender's machine has made the loan.
    virtual void read_loan(detail::rank_context&, std::uint32_t /*lender*/, std::uint64_t /*key*/,
                           std::span<std::byte> /*to*/, counter& /*done*/) {
        std::abort();
    }
    /// Most bytes of data that a message can carry which are not lent.
    virtual std::uint64_t most_message_bytes() const = 0;
    /// Whether long messages between hosts cost their ranks little more than long puts: the same at
    /// all ranks.
    virtual bool moves_long_messages() const { return false; }
    /// Serves what has come for the calling rank. @return whether anything had.
    virtual bool poll(detail::rank_context& context) = 0;
    /// The same where one of `context.signs` has come. Not in handlers.
    virtual bool serve(detail::rank_context& context, mail_sign&) { return poll(context); }
    /// Whether messages of the rank's handlers wait for room where they go; they leave in `poll`.
    virtual bool has_unsent(detail::rank_context&) { return false; }
    /// Whether something has come for the calling rank, or for one of its carrier, that is not
    /// handled yet. Asked at the end of jobs whose ranks wait for each other there.
    virtual bool has_mail(detail::rank_context&) { return false; }
    /// What the router of the rank's place in a network has counted so far, where there is one.
    virtual std::optional<meters::router_events> router_events(detail::rank_context&) { return {}; }
    /// What the rank has sent so far, where every message is counted; else null.
    virtual const meters::sent_messages* sent_messages(const detail::rank_context&) const {
        return nullptr;
    }
    /// Whether replies come in the order in which they and requests were sent.
    virtual bool replies_keep_order() const { return false; }
    /// Whether another thread runs handlers for the calling rank, or for one of its carrier, now.
    virtual bool is_served(detail::rank_context&) { return false; }
};

/// Memory of the ranks: each heap lies ready when a rank starts, zeroed, `reserve_bytes` long in
/// address space; this interface accounts for what is really used.
class memory {
public:
    virtual ~memory() = default;
    /// Counts `bytes` more of the host's memory as promised. @return false, and nothing counted,
    /// when the host has less.
    virtual bool commit(std::uint64_t bytes) = 0;
    /// Takes a promise of `commit` back.
    virtual void release(std::uint64_t bytes) = 0;
    /// Gives the memory behind a range of the rank's segment back; its contents become undefined.
    virtual void discard(detail::rank_context& context, std::uint64_t offset,
                         std::uint64_t bytes) = 0;
    virtual std::uint64_t committed_bytes() const = 0;
    virtual std::uint64_t limit_bytes() const = 0;
    /// Whether both are the calling rank's own: a simulated machine may limit each rank's memory.
    virtual bool is_of_each_rank() const { return false; }
    /// Whether other ranks may use a rank's memory after its function has returned. If not, ranks
    /// wait for each other at the end.
    virtual bool outlives_ranks() const { return false; }
};

class machine;

/// What the floors above ask a machine to run.
struct job {
    /// Body of one rank, called on the rank's own stack with its context set.
    /// @return the rank's exit status. Lets no exception out.
    std::function<int(detail::rank_context&)> rank_main;
    selion::thread_level thread_level = thread_level::single;
    /// Called for each message, on any thread that works for the target, with the target's context
    /// (or a copy of it) current and marked as in a handler. Lets no exception out.
    void (*deliver)(detail::rank_context&, incoming_message&) = nullptr;
    /// Called once for each rank that has died while the job goes on: the answers that it owes to
    /// the floors above do not come. Null where a death ends the job.
    void (*lose_answers)(detail::rank_context&, std::uint32_t rank) = nullptr;
    /// An open file that other processes of the job find again (`launcher::handed_file`); -1: none.
    int handed_file = -1;
    /// That the job writes: other processes of it find them again (`launcher::handed_files`).
    numbered_files files = {};
    bool has_trace = false;  ///< a machine that sees single messages records them as well
};

/// Starts ranks, ends jobs, lets threads join.
class launcher {
public:
    virtual ~launcher() = default;
    /// Runs the job to its end in the process that the user started; in a process that the
    /// launcher started itself it does not return.
    /// @return exit status of the job.
    virtual int run(const job& work) = 0;
    /// Whether the calling process is the one that the user started, not one that a launcher did.
    virtual bool is_first_process() const = 0;
    /// The file that the first process has handed to this one, which it started; -1: none.
    virtual int handed_file() const { return -1; }
    /// The files that the first process has named to this one, which it started; null: none has.
    virtual const numbered_files* handed_files() const { return nullptr; }
    /// Ends the whole job from within a rank: the first caller's sentence is printed, every other
    /// rank ends in bounded time, the status is non-zero.
    [[noreturn]] void end_job(detail::rank_context& context, std::string_view sentence,
                              std::optional<std::source_location> site = {}) {
        std::optional<rank_id> rank;
        if (context.ranks != 0) rank = context.rank;
        end_job({rank, sentence, site});
        std::abort();  // compilers do not see that a virtual call never returns
    }
    [[noreturn]] virtual void end_job(const failure& why) = 0;
    /// What a rank's function has returned, told as soon as it has. Where time is virtual, what
    /// others do before that happens first: the job's status is the earliest that is not 0.
    virtual void note_status(detail::rank_context&, int) {}
    /// Gives a joining thread its own way of waiting. @return null when too many have joined.
    virtual waiter* join_thread(detail::rank_context& context) = 0;
    virtual void leave_thread(waiter* own) = 0;
    /// Asked by a handler of a message to the context's rank: has a function called outside
    /// handlers, where it may wait, beside what the rank itself does. Such calls of one rank are
    /// made one after another, each with a context of the rank, before `run` returns. On a thread
    /// of their own that is a copy, which has a `beside`.
    /// @return false where the rank's own calls have to do it.
    virtual bool call_beside(detail::rank_context&, void (*)(detail::rank_context&, void*), void*) {
        return false;
    }
    virtual std::string binding_report() const = 0;
    /// A number that ranks with that place in common share, and no others.
    virtual std::uint32_t place_of(const detail::rank_context&, locality) { return 0; }
};

/// The job that runs in this process, for threads that belong to no rank; null when none. A child
/// that a rank has forked is no part of it.
machine* active_machine();

/// Whether this process is a copy (fork) of one in which a job runs.
bool is_copy_of_job();

/// A job runs in this process as long as this lives. Copies of the process belong to no rank.
class active_job {
public:
    explicit active_job(machine& host);
    ~active_job();
    active_job(const active_job&) = delete;
    active_job& operator=(const active_job&) = delete;

private:
    machine* before_;  ///< in a copy of a process that runs a job: that one
    int process_before_;
};

/// A time that a machine's description gives for what is done above the machine.
struct named_cost {
    bool is_given = false;
    std::int64_t picoseconds = 0;
    double picoseconds_per_byte = 0;
};

/// One machine of one job.
class machine {
public:
    virtual ~machine() = default;
    virtual const machine_description& description() const = 0;
    virtual selion::thread_level thread_level() const = 0;
    virtual class launcher& launcher() = 0;
    virtual class memory& memory() = 0;
    /// What the wires have carried in the last run, where the machine knows.
    virtual meters::network_use network_use() const { return {}; }
    /// @param name of a table and a key of the machine's file: "coherence.read_hit".
    virtual named_cost cost(std::string_view) const { return {}; }
};

}  // namespace selion::machine
