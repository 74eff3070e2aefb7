// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

#include "selion/detail/global_address.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine {

/// Calls that a hang or death report can name.
enum class operation : std::uint32_t {
    none,
    barrier,
    sync,
    arrive,
    wait,
    broadcast,
    all_reduce,
    reduce,
    reduce_scatter,
    scan,
    exscan,
    gather,
    all_gather,
    scatter,
    exchange,
    gatherv,
    all_gatherv,
    scatterv,
    exchangev,
    split,
    subteam,
    allocate,
    deallocate,
    wait_signal,
    wait_counter,
    wait_future,
    wait_worker,
    serve_calls,
    send,
    completions,
    coherent_access,
    end_of_run,
    survivors,
    put,
    get,
    atomic,
    put_signal,
    store,
    quiet,
    test_signal,
    wait_any_signal,
};
std::string_view name_of(operation what);

/// Collectives of all ranks are numbered alike on each. The two halves of a barrier are one.
constexpr bool is_collective(operation what) {
    return (what >= operation::barrier && what <= operation::deallocate) ||
           what == operation::end_of_run;
}
/// The end of a run is told without its number: it would be taken for that of the run.
constexpr bool has_shown_number(operation what) {
    return is_collective(what) && what != operation::end_of_run;
}
/// Calls that consist of other collectives, which are those that count.
constexpr bool is_composed(operation what) {
    return what >= operation::gatherv && what <= operation::subteam;
}
constexpr bool begins_collective(operation what) {
    return is_collective(what) && !is_composed(what) && what != operation::wait;
}
constexpr bool are_of_one_kind(operation one, operation other) {
    const auto is_half = [](operation what) {
        return what == operation::arrive || what == operation::wait;
    };
    return one == other || (is_half(one) && is_half(other));
}

/// Where a fault was, as far as it is known.
enum class fault_place : std::uint32_t {
    none,        ///< it was none: a signal that was sent
    address,     ///< `crash_address`
    no_address,  ///< the processor tells none, because there can be no such address
    stack_end,   ///< `crash_address`, beyond the end of the stack, as it seems
};

/// "model.py:12", ended by a zero, eight characters in a word.
using script_text = std::array<std::uint64_t, detail::line_bytes / sizeof(std::uint64_t)>;

/// What one rank is doing, or the thread beside it, written by that thread alone with plain stores
/// to its own lines, read by whoever explains a hang or a death. Lies in memory that the launcher
/// sees.
struct alignas(detail::line_bytes) call_record {
    std::uint64_t entries;        ///< calls begun and ended; odd while inside one
    std::uint64_t site;           ///< of the last call, as its process sees it; 0 when unknown
    std::uint64_t program_start;  ///< where its process has the main program
    std::uint64_t instance;       ///< collectives of all ranks that this rank has begun
    std::uint64_t signal_offset;  ///< in the rank's memory: of the signal that the call looks for
    std::uint64_t at_least;       ///< that it is to be
    std::uint32_t what;           ///< an `operation`
    std::uint32_t team_size;      ///< members of the last collective's team; 0: all ranks; or
                                  ///< `no_team`
    std::uint32_t is_waiting;     ///< beyond the first look at a word
    std::uint32_t has_finished;   ///< the rank's function has returned
    std::uint32_t in_completion;  ///< its own stack runs a completion handler that may wait
    std::uint32_t crash_signal;   ///< set by the handler of a fatal signal
    std::uint64_t crash_address;  ///< 0 also where the signal has none
    std::uint32_t crash_place;    ///< a `fault_place`
    std::uint32_t thread_id;      ///< of the kernel
    std::uint32_t bound_to;       ///< processor + 1; 0 while free to move
    std::uint16_t has_begun;      ///< it can handle messages
    std::uint16_t is_leaving;     ///< it has told all that it wants nothing more of anybody
    /// When its thread has last left a processor to others, whether it is away still, and when it
    /// has last come back to one that others had taken for long; and which. See node/turns.hpp.
    std::int64_t left_at;
    std::int64_t lost_at;
    std::int32_t return_status;  ///< of the rank's function, once that has returned
    std::uint32_t stack_kib;     ///< of the rank's fiber; 0: it has its thread's stack
    std::int32_t process;        ///< in which its thread runs
    std::uint32_t under_way;     ///< what it has started first and is not over: an `operation`
    /// Where a script makes its latest call that may wait. It counts for sites outside the main
    /// program, which are those in the library that the script has loaded.
    alignas(detail::line_bytes) script_text script_place;
};
static_assert(sizeof(call_record) == 2 * detail::line_bytes);

/// In place of the members of a team: the call starts a collective, and is not counted as one.
inline constexpr std::uint32_t no_team = UINT32_MAX;

/// Where the main program lies in this process.
extern const std::uint64_t program_start;

// libstdc++ and libc++ hold a source location as one pointer to constant data of the caller.
static_assert(sizeof(std::source_location) == sizeof(std::uint64_t));

/// A place in the main program as distance from where that lies, which another process of the same
/// program can follow.
inline std::uint64_t encode_site(std::source_location site) {
    return std::bit_cast<std::uint64_t>(site) - program_start;
}

/// Any place in a program or a library, as distance from where that lies: the same in all processes
/// of a job. 0: it lies in neither.
std::uint64_t encode_place(const void* place);

/// The site that has been encoded, of this process; none, of what lies elsewhere.
std::source_location decode_site(std::uint64_t encoded);
/// "file.cpp:12" of an encoded site, or "an unknown place".
std::string site_text(std::uint64_t encoded);
/// The same of a record's last call, which a script may have made, or a library that the program
/// has loaded. Such a library's place is known as long as the rank's process lives and can be read.
std::string site_text(const call_record& record);

/// Keeps the place of a record's last call for those who ask when the rank's process has ended.
void keep_site(call_record& record);

bool is_in_program(std::uint64_t encoded_site);

/// The end of a text, at most so many bytes, from the beginning of a character on.
std::string_view end_of(std::string_view text, std::size_t most);

/// "model.py:12" where a script makes its last call; empty: none does.
std::string script_place(const call_record& record);

/// A rank's last call that is known: "barrier #3 at em3d.cpp:12".
/// @pre it has made one.
std::string noted_call_text(const call_record& record);

/// The call in which a rank waits: "in barrier #3 at em3d.cpp:12".
std::string wait_text(const call_record& record);

/// That a rank's function has returned, and what, unless that is 0.
std::string returned_text(const call_record& record);

/// What a rank is doing, or did last, in words: "in barrier #3 at em3d.cpp:12".
std::string last_call_text(const call_record& record);

/// Where a rank was that has died of a signal, and that its stack was too small, as it seems:
/// " at address 0x10". Empty: there is nothing to be said.
std::string crash_place_text(const call_record& record);

/// Stores to a field that another thread or process may read at any time.
template <class Field>
void publish(Field& field, std::type_identity_t<Field> value) {
    std::atomic_ref(field).store(value, std::memory_order_relaxed);
}
template <class Field>
Field look_at(const Field& field) {
    return std::atomic_ref(const_cast<Field&>(field)).load(std::memory_order_relaxed);
}

/// Whether others wait for a rank in a collective of all of that number: it has not begun it.
inline bool is_absent(const call_record& record, operation what, std::uint64_t instance) {
    const bool has_finished = look_at(record.has_finished) != 0;
    if (what == operation::end_of_run && !has_finished) return true;
    // Who has come to the end has begun one more, in which it waits for all.
    const bool is_at_end =
        has_finished && look_at(record.what) == static_cast<std::uint32_t>(operation::end_of_run);
    const bool is_one_more = is_at_end && what != operation::end_of_run;
    return look_at(record.instance) - (is_one_more ? 1 : 0) < instance;
}

inline void publish_words(script_text& place, const script_text& now) {
    for (std::size_t i = 0; i < now.size(); ++i) publish(place[i], now[i]);
}

/// Notes what a rank's last call is and where it was made. Collectives of all ranks are counted.
/// @param team_size members of a collective's team; 0: all ranks; or `no_team`.
inline void note_call(call_record& record, operation what, std::source_location site,
                      std::uint32_t team_size = 0) {
    publish(record.site, std::bit_cast<std::uint64_t>(site));
    publish(record.what, static_cast<std::uint32_t>(what));
    publish(record.team_size, team_size);
    if (begins_collective(what) && team_size == 0) publish(record.instance, record.instance + 1);
}

/// Where the context's thread notes its calls; null: nowhere, because it has joined a rank.
inline call_record* own_record(const detail::rank_context& context) {
    return context.is_foreign_thread ? context.beside : context.call;
}

/// The call that a thread is inside, if it consists of other collectives; else none.
inline operation composed_call_of(const detail::rank_context& context) {
    const call_record* const record = own_record(context);
    if (record == nullptr || record->entries % 2 == 0) return operation::none;
    const auto what = static_cast<operation>(record->what);
    return is_composed(what) ? what : operation::none;
}

/// Which signal a record's last call looks for.
inline void note_awaited(call_record* record, std::uint64_t signal, std::uint64_t at_least) {
    if (record == nullptr) return;
    publish(record->signal_offset, signal & detail::offset_mask);
    publish(record->at_least, at_least);
}

/// Marks a rank as inside a call, unless it is inside one: nested ones keep the outermost call's
/// name. @return the record that `end_call` has to be called with; null: it is inside another.
inline call_record* begin_call(const detail::rank_context& context, operation what,
                               std::source_location site, std::uint32_t team_size) {
    call_record* const record = own_record(context);
    const bool is_outermost = record != nullptr && record->entries % 2 == 0;
    // The rank takes part all the same.
    const bool counts = context.is_foreign_thread ||
                        (!is_outermost && is_composed(static_cast<operation>(context.call->what)));
    if (counts && begins_collective(what) && team_size == 0) {
        publish(context.call->instance, context.call->instance + 1);
    }
    if (!is_outermost) return nullptr;
    note_call(*record, what, site, team_size);
    publish(record->entries, record->entries + 1);
    return record;
}
inline void end_call(call_record* record) {
    if (record != nullptr) publish(record->entries, record->entries + 1);
}

/// The same for its lifetime.
class call_scope {
public:
    call_scope(detail::rank_context& context, operation what, std::source_location site,
               std::uint32_t team_size = 0)
        : record_(begin_call(context, what, site, team_size)) {}
    ~call_scope() { end_call(record_); }
    /// Null: it is inside another call.
    call_record* record() const { return record_; }
    call_scope(const call_scope&) = delete;
    call_scope& operator=(const call_scope&) = delete;

private:
    call_record* record_;
};

/// The same for a message that waits until there is room for it. One that no call of the program
/// asks for has no site: once it has left, the last call is the one before it again.
class send_scope {
public:
    send_scope(detail::rank_context& context, std::source_location site)
        : is_asked_for_(std::bit_cast<std::uint64_t>(site) != 0) {
        if (const call_record* const own = own_record(context)) {
            site_ = own->site;
            what_ = own->what;
            team_size_ = own->team_size;
        }
        record_ = begin_call(context, operation::send, site, 0);
    }
    ~send_scope() {
        if (record_ != nullptr && !is_asked_for_) {
            publish(record_->site, site_);
            publish(record_->what, what_);
            publish(record_->team_size, team_size_);
        }
        end_call(record_);
    }
    send_scope(const send_scope&) = delete;
    send_scope& operator=(const send_scope&) = delete;

private:
    bool is_asked_for_;
    std::uint64_t site_ = 0;
    std::uint32_t what_ = 0;
    std::uint32_t team_size_ = 0;
    call_record* record_ = nullptr;
};

/// For its lifetime a rank that is inside a call is told by what it calls next: the call runs a
/// function of the program that may make calls and wait in them.
class pause_in_call {
public:
    explicit pause_in_call(call_record& record)
        : record_(record),
          site_(record.site),
          what_(record.what),
          team_size_(record.team_size),
          signal_offset_(record.signal_offset),
          at_least_(record.at_least),
          is_inside_(record.entries % 2 == 1) {
        if (!is_inside_) return;
        if (record_.script_place[0] != 0) script_place_ = record_.script_place;
        publish(record_.entries, record_.entries + 1);
    }
    ~pause_in_call() {
        if (!is_inside_) return;
        publish(record_.site, site_);
        publish(record_.what, what_);
        publish(record_.team_size, team_size_);
        publish(record_.signal_offset, signal_offset_);
        publish(record_.at_least, at_least_);
        if (script_place_) publish_words(record_.script_place, *script_place_);
        publish(record_.entries, record_.entries + 1);
    }
    pause_in_call(const pause_in_call&) = delete;
    pause_in_call& operator=(const pause_in_call&) = delete;

private:
    call_record& record_;
    std::uint64_t site_;
    std::uint32_t what_;
    std::uint32_t team_size_;
    std::uint64_t signal_offset_;
    std::uint64_t at_least_;
    bool is_inside_;
    std::optional<script_text> script_place_;  ///< of a script's call
};

}  // namespace selion::machine
