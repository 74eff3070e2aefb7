// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace selion::machine::sim {

/// What becomes due a constant time after it was put in: a queue that is sorted by itself. Grows to
/// the most that were ever in it and never allocates again.
template <class T>
class delay_line {
public:
    bool empty() const { return first_ == end_; }
    const T& front() const { return ring_[first_ & mask_]; }
    const T& back() const { return ring_[(end_ - 1) & mask_]; }
    void pop() { ++first_; }
    void push(const T& added) {
        if (end_ - first_ == ring_.size()) grow();
        ring_[end_++ & mask_] = added;
    }

private:
    void grow() {
        std::vector<T> larger(ring_.size() * 2);
        for (std::size_t i = first_; i != end_; ++i) larger[i - first_] = ring_[i & mask_];
        end_ -= first_;
        first_ = 0;
        ring_.swap(larger);
        mask_ = ring_.size() - 1;
    }

    std::vector<T> ring_ = std::vector<T>(64);
    std::size_t mask_ = 63;
    std::size_t first_ = 0;
    std::size_t end_ = 0;
};

}  // namespace selion::machine::sim
