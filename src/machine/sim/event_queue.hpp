// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/sim/virtual_time.hpp"

namespace selion::machine::sim {

struct event;

/// When an event is due. At equal times the smaller `order` comes first; no two are equal.
struct due_time {
    ticks at;
    std::uint64_t order;

    friend bool operator<(const due_time& left, const due_time& right) {
        return left.at != right.at ? left.at < right.at : left.order < right.order;
    }
    friend bool operator==(const due_time&, const due_time&) = default;
};

/// Pending events, the earliest first: a heap of four children, which is half as deep as one of two
/// and keeps siblings in one or two cache lines.
class event_queue {
public:
    struct entry {
        due_time due;
        event* what;
    };

    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    const entry& top() const { return entries_.front(); }

    /// Fetches the events that may be due after the first.
    void prefetch_next() const {
        const std::size_t end = entries_.size() < 5 ? entries_.size() : 5;
        for (std::size_t next = 1; next < end; ++next) __builtin_prefetch(entries_[next].what);
    }

    /// @cost log4 of the number of pending events; usually one or two comparisons.
    void push(const entry& added) {
        std::size_t hole = entries_.size();
        entries_.push_back(added);
        while (hole != 0) {
            const std::size_t parent = (hole - 1) / 4;
            if (!(added.due < entries_[parent].due)) break;
            entries_[hole] = entries_[parent];
            hole = parent;
        }
        entries_[hole] = added;
    }

    /// @cost four comparisons for each level.
    entry pop() {
        const entry first = entries_.front();
        const entry last = entries_.back();
        entries_.pop_back();
        if (!entries_.empty()) sink(last);
        return first;
    }

private:
    /// Finds the place of `moved` from the root down.
    void sink(const entry& moved) {
        const std::size_t count = entries_.size();
        std::size_t hole = 0;
        while (true) {
            const std::size_t first = hole * 4 + 1;
            if (first >= count) break;
            const std::size_t end = first + 4 < count ? first + 4 : count;
            std::size_t least = first;
            for (std::size_t child = first + 1; child < end; ++child) {
                if (entries_[child].due < entries_[least].due) least = child;
            }
            if (!(entries_[least].due < moved.due)) break;
            entries_[hole] = entries_[least];
            hole = least;
        }
        entries_[hole] = moved;
    }

    std::vector<entry> entries_;
};

}  // namespace selion::machine::sim
