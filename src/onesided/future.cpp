// SPDX-License-Identifier: Apache-2.0
#include "selion/future.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/expect.hpp"
#include "selion/when_all.hpp"

namespace selion {

remote_error::remote_error(std::string type, const std::string& text, rank_id where)
    : error(status::remote_exception,
            fmt::format("rank {} ended a call with an exception of type {}: {}",
                        std::uint32_t{where}, type, text),
            {.rank = {}, .peer = std::uint32_t{where}, .operation = "rpc", .bytes = 0}),
      type_(std::move(type)) {}

namespace onesided {

void message_state::grow() {
    blocks_.push_back(std::make_unique<detail::future_state[]>(states_in_block));
    for (std::size_t i = 0; i < states_in_block; ++i) give_back(blocks_.back()[i]);
}

detail::future_state& message_state::take() {
    if (free_ == nullptr) {
        // acquire: what others did to the states before they returned them [state.returned]
        free_ = returned_.exchange(nullptr, std::memory_order_acquire);
    }
    if (free_ == nullptr) grow();
    return *std::exchange(free_, free_->link);
}

void message_state::give_back(detail::future_state& state) {
    state.link = free_;
    free_ = &state;
}

/// Continuations that nobody will run hold futures, and values may too.
void message_state::let_go(detail::future_state& state) {
    state.next = nullptr;
    if (state.destroy != nullptr) std::exchange(state.destroy, nullptr)(state.place());
    delete[] std::exchange(state.far, nullptr);
}

message_state::~message_state() {
    constexpr auto block = states_in_block;
    for (const auto& states : blocks_) std::for_each_n(states.get(), block, let_go);
    for (detail::future_state* one = made_from_afar_.load(std::memory_order_relaxed);
         one != nullptr; one = one->made_before) {
        let_go(*one);
    }
    for (detail::future_state* one = made_from_afar_.load(std::memory_order_relaxed);
         one != nullptr;) {
        delete std::exchange(one, one->made_before);
    }
}

/// One that was returned, or a new one. It lives until the job ends: who fulfils it may look at its
/// mark after whoever waited has returned it.
detail::future_state& message_state::take_from_afar() {
    // acquire: as in take [state.returned]
    detail::future_state* list = returned_.exchange(nullptr, std::memory_order_acquire);
    if (list != nullptr) {
        detail::future_state& taken = *std::exchange(list, list->link);
        give_back_all(list);
        return taken;
    }
    auto* const made = new detail::future_state;
    made->is_from_afar = true;
    made->made_before = made_from_afar_.load(std::memory_order_relaxed);
    while (!made_from_afar_.compare_exchange_weak(made->made_before, made,
                                                  std::memory_order_relaxed)) {
    }
    return *made;
}

/// In one step, however many they are, unless others have been returned meanwhile: those are few.
void message_state::give_back_all(detail::future_state* list) {
    detail::future_state* none = nullptr;
    // release: see take [state.returned]
    while (list != nullptr &&
           !returned_.compare_exchange_strong(none, list, std::memory_order_release,
                                              std::memory_order_relaxed)) {
        // acquire: as in take [state.returned]
        detail::future_state* const newer = returned_.exchange(nullptr, std::memory_order_acquire);
        if (newer != nullptr) {
            detail::future_state* last = newer;
            while (last->link != nullptr) last = last->link;
            last->link = std::exchange(list, newer);
        }
        none = nullptr;
    }
}

void message_state::give_back_from_afar(detail::future_state& state) {
    state.link = returned_.load(std::memory_order_relaxed);
    // release: see take [state.returned]
    while (!returned_.compare_exchange_weak(state.link, &state, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    }
}

}  // namespace onesided

namespace detail {

/// Continuations that a thread runs one after another, not each within the one before: a chain may
/// have any length. They stand in the frame of the one that runs them.
class continuation_queue {
public:
    explicit continuation_queue(rank_context& context) : context_(context) {
        context_.own.continuations = this;
    }
    ~continuation_queue() { context_.own.continuations = nullptr; }
    continuation_queue(const continuation_queue&) = delete;
    continuation_queue& operator=(const continuation_queue&) = delete;

    void add(std::function<void()> next) { waiting_.push_back(std::move(next)); }
    void run(std::function<void()> next) {
        for (std::size_t i = 0;;) {
            next();
            if (i == waiting_.size()) return;
            next = std::move(waiting_[i++]);
            if (i == waiting_.size()) {
                waiting_.clear();
                i = 0;
            }
        }
    }

private:
    rank_context& context_;
    std::vector<std::function<void()>> waiting_;
};

namespace {

/// Of a future that is fulfilled, on whichever thread of the rank that was done.
void run_continuation(rank_context& context, std::function<void()> next) {
    if (context.own.continuations != nullptr) {
        return context.own.continuations->add(std::move(next));
    }
    continuation_queue(context).run(std::move(next));
}

// Values of a state's word. Whoever fulfils it exchanges the word, and so learns what is left to
// do.
constexpr std::uint64_t pending = 0;    ///< somebody may wait
constexpr std::uint64_t fulfilled = 1;  ///< the value, or the trouble, is there
constexpr std::uint64_t unwanted = 2;   ///< its future has let go of it
constexpr std::uint64_t continued = 3;  ///< `next` waits for it, and holds its future

void recycle(future_state& state) {
    if (state.destroy != nullptr) state.destroy(state.place());
    delete[] state.far;
    state.far = nullptr;
    state.destroy = nullptr;
    state.receive = nullptr;
    if (state.trouble) state.trouble = nullptr;
    if (state.next) state.next = nullptr;
    // Who has fulfilled it may still look at its mark.
    std::atomic_ref(state.word.value).store(pending, std::memory_order_relaxed);
    const rank_context& context = *current_context;
    onesided::message_state* const owner = context.messages;
    // The rank's own thread has a list of its own, which others do not look at.
    if (context.is_foreign_thread || state.is_from_afar) {
        owner->give_back_from_afar(state);
    } else {
        owner->give_back(state);
    }
}

}  // namespace

future_state& make_state(std::size_t bytes, std::source_location site) {
    rank_context& context = context_of_caller(site);
    future_state& state =
        context.is_foreign_thread ? context.messages->take_from_afar() : context.messages->take();
    if (bytes > future_state::near_bytes) state.far = new std::byte[in_whole_words(bytes)];
    return state;
}

bool is_fulfilled(const future_state& state) noexcept { return word_load(state.word) == fulfilled; }

void drop_state(future_state* given, std::uint32_t job) noexcept {
    // The job is over, and with it the state; or the thread has left its rank.
    if (current_context->messages == nullptr || current_context->job != job) return;
    future_state& state = *given;
    if (current_context->has_one_thread) {
        if (state.word.value == fulfilled) return recycle(state);
        if (state.word.value == pending) state.word.value = unwanted;
        return;
    }
    std::uint64_t seen = pending;
    // acq_rel: the value, or what the dropping thread did, before it is recycled [state.word]
    const bool is_first = std::atomic_ref(state.word.value)
                              .compare_exchange_strong(seen, unwanted,
                                                       std::memory_order_acq_rel,   // [state.word]
                                                       std::memory_order_acquire);  // [state.word]
    if (!is_first && seen == fulfilled) recycle(state);
}

void fulfil(future_state& state) {
    rank_context& context = *current_context;
    if (context.has_one_thread && state.word.value != continued && !context.spends_time) {
        // Whoever waits for it is this thread.
        if (std::exchange(state.word.value, fulfilled) == unwanted) recycle(state);
        return;
    }
    // acq_rel: the value before the word, and `next` before it is called [state.word]
    const std::uint64_t before =
        std::atomic_ref(state.word.value).exchange(fulfilled, std::memory_order_acq_rel);
    if (before == unwanted) return recycle(state);
    if (before == continued) {
        return run_continuation(context, std::move(state.next));  // which takes the value
    }
    if (context.spends_time) {
        context.clock->wake(context, state.word);
    } else {
        word_changed(context, state.word);
    }
}

namespace {

future_state& expect_state(future_state* state, std::source_location site) {
    SELION_EXPECT_AT(
        state != nullptr, site,
        std::string("the future is empty, or its value has been taken already: get and then take "
                    "it, once; or the job is over that has made it"));
    return *state;
}

}  // namespace

void expect_part(bool is_valid, std::size_t number, std::size_t count, std::source_location site) {
    SELION_EXPECT_AT(is_valid, site,
                     fmt::format("when_all: future {} of {} is empty, or its value has been taken "
                                 "already, or the job is over that has made it",
                                 number, count));
}

bool continue_with(future_state* given, std::function<void()>& next, std::source_location site) {
    future_state& state = expect_state(given, site);
    if (is_fulfilled(state)) return false;
    state.next = std::move(next);
    std::uint64_t seen = pending;
    // acq_rel: `next` before the word; or the value that has come meanwhile [state.word]
    if (std::atomic_ref(state.word.value)
            .compare_exchange_strong(seen, continued,
                                     std::memory_order_acq_rel,     // [state.word]
                                     std::memory_order_acquire)) {  // [state.word]
        return true;
    }
    next = std::move(state.next);
    return false;
}

bool await_state(future_state* given, std::int64_t timeout_ns, std::source_location site) {
    rank_context& context = context_of_caller(site);
    SELION_EXPECT_AT(
        !context.own.in_handler, site,
        sentence_of_wait("wait for a future",
                         "let `then` do what follows; a function of rpc may return the "
                         "future that `then` gives"));
    future_state& state = expect_state(given, site);
    if (arrives_with_progress(context, state.word, fulfilled, timeout_ns)) return true;
    const machine::call_scope scope(context, machine::operation::wait_future, site);
    return await(context, {.word = state.word,
                           .at_least = fulfilled,
                           .reason = machine::wait_reason::message,
                           .deadline_ns = deadline_after(context, timeout_ns)});
}

}  // namespace detail
}  // namespace selion
