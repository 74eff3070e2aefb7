// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "lapi/arriving_data.hpp"
#include "lapi/names.hpp"
#include "selion/counter.hpp"
#include "selion/message.hpp"

namespace selion::lapi {

inline constexpr int address_table_entries = 64;
inline constexpr int most_header_bytes = 1024;
inline constexpr int most_data_bytes = INT32_MAX;
inline constexpr int shortest_timeout_seconds = 10;
inline constexpr int longest_timeout_seconds = 86400;

/// What follows when the data of an active message are in their place.
struct completion {
    compl_hndlr_t* function;  ///< null: none
    void* argument;
    lapi_cntr_t* target_counter;      ///< of this task
    lapi_cntr_t* completion_counter;  ///< of the task that sent the message
    std::uint32_t origin;
};

/// What LAPI_Senv changes, as it is at first.
struct settings {
    int checks_errors = 1;
    int interrupts = 1;
    int timeout_seconds = 900;
    int acknowledge_threshold = 30;
};

/// What LAPI keeps for one task. Only the task's own thread uses it, in its calls and in handlers.
///
/// Completion handlers may wait, and message handlers must not. So a message handler leaves them in
/// `ripe`, and the next LAPI call that waits or serves messages runs them, one at a time.
struct task {
    lapi_handle_t handle = 0;  ///< 0: LAPI_Term has been called
    lapi_handle_t last_handle = 0;
    std::source_location site;                       ///< of the program's latest call
    std::optional<std::source_location> noted_site;  ///< of its next one
    LAPI_err_hndlr* error_handler = nullptr;
    settings set;
    std::array<void*, address_table_entries> addresses{};
    std::uint64_t started = 0;  ///< operations
    /// Tasks whose operations no fence has waited for, with the number of the last one.
    std::map<std::uint32_t, std::uint64_t> reached;

    std::deque<completion> ripe;
    counter ripe_count;
    bool runs_completion = false;

    std::uint64_t pieces_asked = 0;  ///< by gets; in both without those that were waited for
    counter pieces_come;

    std::uint64_t messages_sent = 0;
    arriving_messages arriving;

    std::vector<lapi_long_t> exchanged;  ///< addresses of all tasks, during LAPI_Address_init
    counter exchanged_count;
    std::array<counter, 32> round_counts;  ///< of barriers: who has come, by round

    /// @param unknown its site if the program has not noted one.
    void begin_call(std::source_location unknown) {
        site = std::exchange(noted_site, std::nullopt).value_or(unknown);
    }
};

inline detail::rank_context& own_context() { return *detail::current_context; }

/// The task that a handle names, whose latest call this is.
/// @return null if it is not the caller's, or no longer.
task* find_task(lapi_handle_t handle);
/// The task that a message handler works for.
task& task_of_handler();
/// The caller becomes a task, if it was not.
task& make_task();

void note_next_call(std::source_location site);

/// While it lives a function of the program runs within a call, which keeps its place whatever the
/// function calls.
class place_of_call {
public:
    explicit place_of_call(task& own) : own_(own), site_(own.site) {}
    ~place_of_call() { own_.site = site_; }
    place_of_call(const place_of_call&) = delete;
    place_of_call& operator=(const place_of_call&) = delete;

private:
    task& own_;
    std::source_location site_;
};

/// Ends the job with a sentence if the caller is a header handler.
void expect_may_wait(const task& own, const char* function);
/// The same if the caller is a handler of any kind: others wait for the task itself.
void expect_no_handler(const task& own, const char* function);

inline counter* as_counter(lapi_cntr_t* from) { return reinterpret_cast<counter*>(from); }
static_assert(sizeof(lapi_cntr_t) == sizeof(counter) && alignof(lapi_cntr_t) >= alignof(counter));

/// Counts on a counter of this task, if there is one: in a handler, or for one.
void count(counter* which);
inline void count(lapi_cntr_t* which) { count(as_counter(which)); }
/// Counts on a counter of another task.
void count_at(std::uint32_t target, counter* which);

/// Waits for a counter of this task and runs completion handlers meanwhile.
void wait_for(task& own, counter& which, std::uint64_t value);
/// A get is about to ask for a piece, and waits where too many are under way: a task that answers
/// keeps copies of what finds no room on its way. Not in handlers, which must not wait.
void await_turn_to_ask(task& own);
/// A piece has come, to the task that a handler works for.
void note_piece();
/// Runs completion handlers that are ripe now: others that follow must not keep the caller for
/// ever. Within one, nothing.
void run_completions(task& own);
/// The data are in their place.
void complete(task& own, const completion& what);

/// Most bytes that one message carries: larger operations are several.
std::size_t piece_bytes();

/// A message that has come cannot be handled. Without an error handler of the program the job ends.
void report(task& own, int code, lapi_err_t kind, std::uint32_t origin);

}  // namespace selion::lapi
