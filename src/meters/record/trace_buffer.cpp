// SPDX-License-Identifier: Apache-2.0
#include "meters/record/trace_buffer.hpp"

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>
#include <utility>

#include "meters/record/trace_text.hpp"

namespace selion::meters {
namespace {

/// How often the end of the process looks whether the rank is done with writing.
constexpr int most_looks = 100'000;

}  // namespace

trace_buffer::trace_buffer(std::uint32_t rank, const limits& most, trace_sink& sink)
    : rank_(rank),
      most_(most),
      sink_(sink),
      events_(std::make_unique_for_overwrite<occurrence[]>(most.events_at_once)) {}

void trace_buffer::add(const occurrence& what) {
    std::atomic_ref count(count_);
    if (count.load(std::memory_order_relaxed) == most_.events_at_once) write();
    const std::uint64_t place = count.load(std::memory_order_relaxed);
    if (place == most_.events_at_once) return;  // the process ends
    if (added_ >= most_.events || is_refused_) {
        ++dropped_;
        return;
    }
    events_[place] = what;
    ++added_;
    // release: the event is complete before it counts; pairs with [trace.count]
    count.store(place + 1, std::memory_order_release);
}

void trace_buffer::write() {
    if (!begin_writing()) return;
    pass_on(text_of_events());
    end_writing();
}

void trace_buffer::write_end() {
    if (!begin_writing()) return;
    const std::string events = text_of_events();
    pass_on(name_once() + events + end_of_rank(rank_, added_, dropped_));
    end_writing();
}

void trace_buffer::write_last() {
    for (int look = 0; !begin_writing(); ++look) {
        if (look == most_looks) return;
        std::this_thread::yield();
    }
    pass_on(text_of_events());
}

void trace_buffer::pass_on(const std::string& text) {
    if (!text.empty() && !is_refused_) is_refused_ = !sink_.write(text);
}

bool trace_buffer::begin_writing() {
    std::uint32_t nobody_writes = 0;
    // acquire: sees what the last writer has left; pairs with [trace.writing]
    return std::atomic_ref(is_writing_)
        .compare_exchange_strong(nobody_writes, 1, std::memory_order_acquire,
                                 std::memory_order_relaxed);
}

void trace_buffer::end_writing() {
    std::atomic_ref(count_).store(0, std::memory_order_relaxed);
    // release: pairs with [trace.writing]
    std::atomic_ref(is_writing_).store(0, std::memory_order_release);
}

std::string trace_buffer::name_once() {
    return std::exchange(is_named_, true) ? std::string() : track_name(rank_);
}

std::string trace_buffer::text_of_events() {
    // acquire: pairs with [trace.count]
    const std::uint64_t count = std::atomic_ref(count_).load(std::memory_order_acquire);
    const std::span<const occurrence> events(events_.get(), count);
    std::string text;
    if (!events.empty()) text += name_once();
    bool has_arrivals = false;
    bool has_handlers = false;
    for (const occurrence& each : events) {
        has_handlers |= each.is_handlers;
        has_arrivals |= each.kind == slice_kind::arrival;
    }
    if (has_arrivals && !std::exchange(has_named_arrivals_, true)) {
        text += arrivals_track_name(rank_);
    }
    if (has_handlers && !std::exchange(has_named_handlers_, true)) {
        text += handlers_track_name(rank_);
    }
    return text + event_lines(rank_, events);
}

}  // namespace selion::meters
