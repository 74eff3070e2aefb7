// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <source_location>
#include <vector>

#include "machine/machine.hpp"
#include "onesided/completion_queue.hpp"
#include "onesided/release_observers.hpp"
#include "selion/future.hpp"

namespace selion::coherence {
class coherent_parts;
}

namespace selion::onesided {

/// One rank's part in messages: the states of futures that it has made, and completion handlers
/// that wait for their turn.
class message_state {
public:
    message_state() = default;
    ~message_state();
    message_state(const message_state&) = delete;
    message_state& operator=(const message_state&) = delete;

    /// By the rank's own thread.
    detail::future_state& take();
    void give_back(detail::future_state& state);
    /// By any other thread.
    detail::future_state& take_from_afar();
    void give_back_from_afar(detail::future_state& state);

    completion_queue completions;
    /// Messages of the program that have been handled to their end. Counted by who serves.
    std::uint64_t handled() const { return handled_.load(std::memory_order_relaxed); }
    void count_handled() { handled_.store(handled() + 1, std::memory_order_relaxed); }
    /// In a handler whose message is not the program's.
    void leave_out_of_handled() { handled_.store(handled() - 1, std::memory_order_relaxed); }
    /// Deaths of other ranks that the rank knows of: see deaths.hpp.
    std::atomic<std::uint64_t> acknowledged_deaths = 0;
    /// What others tell at their ends, where ranks may die before: see end_of_job.hpp.
    std::shared_ptr<void> end_notices;
    /// What a floor above has to have moved on also in waits that run no completion handlers: of
    /// other threads, and within handlers that may wait. Whoever counts in `news` has some. For
    /// what a wait's limit has stopped, `go_on` has the next call move it that has more time.
    struct {
        void (*move)(void*) = nullptr;
        void (*go_on)(void*, detail::rank_context&) = nullptr;
        void* argument = nullptr;
        detail::shared_word news{};
    } above;
    /// What a floor above keeps for this rank, as long as messages may come for it.
    std::shared_ptr<void> kept_above;
    /// What collectives have of a rank whose function has ended, for members that are late.
    std::shared_ptr<void> kept_collectives;
    std::shared_ptr<coherence::coherent_parts> coherent;
    release_observers releases;
    /// What a floor above does to have a rank look at its messages; null: nothing. It is read by
    /// all threads that work for the rank.
    std::atomic<void (*)(detail::rank_context& caller, std::uint32_t rank)> call_to_mail = nullptr;
    /// What a floor above does when the rank's function has ended and all have; null: nothing.
    void (*at_end)(detail::rank_context&) = nullptr;
    /// Ends the job where memory that is being kept coherent is accessed in another way; null:
    /// there is none. For the checking build.
    void (*check_uncached)(detail::rank_context&, std::uint64_t bits, std::size_t bytes,
                           detail::access_purpose purpose, std::source_location site) = nullptr;

private:
    void give_back_all(detail::future_state* list);
    static constexpr std::size_t states_in_block = 64;
    void grow();
    static void let_go(detail::future_state& state);
    std::atomic<std::uint64_t> handled_ = 0;
    std::vector<std::unique_ptr<detail::future_state[]>> blocks_;
    detail::future_state* free_ = nullptr;
    std::atomic<detail::future_state*> returned_ = nullptr;  ///< by others
    std::atomic<detail::future_state*> made_from_afar_ = nullptr;
};

/// What a machine calls before it waits until a rank has taken messages.
void call_to_mail(detail::rank_context& caller, std::uint32_t rank);

/// What a machine calls for each message: see `machine::job`.
void deliver(detail::rank_context& context, machine::incoming_message& message);

}  // namespace selion::onesided
