// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/sim/engine/virtual_time.hpp"

namespace selion::machine::sim {

struct event;

/// When an event is due. At equal times the smaller `order` comes first; no two are equal.
struct due_time {
    ticks at;
    std::uint64_t order;

    /// Times are not negative.
    unsigned_wide key() const { return static_cast<unsigned_wide>(at) << 64 | order; }
    friend bool operator<(const due_time& left, const due_time& right) {
        return left.key() < right.key();
    }
    friend bool operator==(const due_time&, const due_time&) = default;
};

/// A pending event.
struct queue_entry {
    due_time due;
    event* what;
};

/// Entries, the earliest first: a heap of four children, which is half as deep as one of two and
/// keeps siblings in one or two cache lines.
class event_heap {
public:
    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }

    /// @cost log4 of the number of entries; usually one or two comparisons.
    void push(const queue_entry& added) {
        const std::size_t hole = entries_.size();
        entries_.push_back(added);
        rise(hole, added);
    }

    /// @cost what it takes to sort the entries that stay.
    template <class IsVain>
    void drop(IsVain is_vain) {
        std::erase_if(entries_, is_vain);
        std::ranges::sort(entries_, {}, [](const queue_entry& one) { return one.due.key(); });
    }

    /// @cost four comparisons for each level.
    queue_entry pop() {
        const queue_entry first = entries_.front();
        const queue_entry last = entries_.back();
        entries_.pop_back();
        if (!entries_.empty()) sink(last);
        return first;
    }

private:
    /// Finds the place of `moved`: down to a leaf along the least children, without comparing it,
    /// because it came from a leaf and most likely belongs near one; then up again.
    void sink(const queue_entry& moved) {
        const std::size_t count = entries_.size();
        std::size_t hole = 0;
        std::size_t first = 1;
        for (; first + 4 <= count; first = hole * 4 + 1) {
            // Which child is least is as good as random: no branch could be predicted.
            const std::size_t left = first + less(first + 1, first);
            const std::size_t right = first + 2 + less(first + 3, first + 2);
            const std::size_t least = less(right, left) != 0 ? right : left;
            entries_[hole] = entries_[least];
            hole = least;
        }
        if (first < count) {
            std::size_t least = first;
            for (std::size_t child = first + 1; child < count; ++child) {
                if (less(child, least) != 0) least = child;
            }
            entries_[hole] = entries_[least];
            hole = least;
        }
        rise(hole, moved);
    }

    /// Moves a hole up to where an entry belongs.
    void rise(std::size_t hole, const queue_entry& added) {
        while (hole != 0) {
            const std::size_t parent = (hole - 1) / 4;
            if (!(added.due < entries_[parent].due)) break;
            entries_[hole] = entries_[parent];
            hole = parent;
        }
        entries_[hole] = added;
    }

    /// 1 if the entry at one place is due before that at another, else 0.
    std::size_t less(std::size_t left, std::size_t right) const {
        return static_cast<std::size_t>(entries_[left].due.key() < entries_[right].due.key());
    }

    std::vector<queue_entry> entries_;
};

/// Pending events, the earliest first. The next ones are in a sorted row, all others in a heap: so
/// one can see some events ahead, and fetch what they will need. Few events never see the heap.
class event_queue {
public:
    bool empty() const { return row_size_ == 0; }
    std::size_t size() const { return row_size_ + heap_.size(); }
    const queue_entry& top() const { return row_at(0); }
    /// How many events ahead one can see. All pending ones, if they are fewer than `row_least`.
    std::size_t in_sight() const { return row_size_; }
    /// @param place below `in_sight`; 0 is the next one.
    const queue_entry& ahead(std::size_t place) const { return row_at(place); }

    /// @cost as many moves as events come before it in the row; or the heap's.
    void push(const queue_entry& added) {
        if (row_size_ == row_most) move_half_to_heap();
        if (row_size_ != 0 && !(added.due < row_at(row_size_ - 1).due)) {
            if (heap_.empty() && row_size_ < row_least) {
                row_at(row_size_++) = added;
            } else {
                heap_.push(added);
            }
            return;
        }
        --first_;
        ++row_size_;
        std::size_t place = 0;
        while (place + 1 != row_size_ && row_at(place + 1).due < added.due) {
            row_at(place) = row_at(place + 1);
            ++place;
        }
        row_at(place) = added;
    }

    queue_entry pop() {
        const queue_entry taken = row_at(0);
        ++first_;
        if (--row_size_ < row_least && !heap_.empty()) row_at(row_size_++) = heap_.pop();
        return taken;
    }

    /// Forgets entries of which nothing will come; the others keep their order.
    template <class IsVain>
    void drop(IsVain is_vain) {
        std::size_t kept = 0;
        for (std::size_t place = 0; place != row_size_; ++place) {
            if (!is_vain(row_at(place))) row_at(kept++) = row_at(place);
        }
        row_size_ = kept;
        heap_.drop(is_vain);
        while (row_size_ < row_least && !heap_.empty()) row_at(row_size_++) = heap_.pop();
    }

private:
    static constexpr std::size_t row_least = 16;  ///< in the row, unless the heap is empty
    static constexpr std::size_t row_most = 64;   ///< a power of two

    queue_entry& row_at(std::size_t place) { return row_[(first_ + place) % row_most]; }
    const queue_entry& row_at(std::size_t place) const { return row_[(first_ + place) % row_most]; }

    void move_half_to_heap() {
        while (row_size_ > row_most / 2) heap_.push(row_at(--row_size_));
    }

    std::array<queue_entry, row_most> row_;
    std::size_t first_ = 0;
    std::size_t row_size_ = 0;
    event_heap heap_;  ///< nothing in it is due before anything in the row
};

}  // namespace selion::machine::sim
