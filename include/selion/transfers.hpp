// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>

#include <selion/counter.hpp>
#include <selion/error.hpp>
#include <selion/global_ptr.hpp>
#include <selion/split_phase.hpp>
#include <selion/strided.hpp>

namespace selion {

/// Puts and gets that are started one after another and awaited together, as Split-C's split-phase
/// accesses are: `sync` waits for all of them. One thread's. Its destructor waits as well, so it is
/// declared after the memory that it fills or sends.
class transfers {
public:
    transfers() = default;
    transfers(const transfers&) = delete;
    transfers& operator=(const transfers&) = delete;
    ~transfers() {
        try {
            sync(last_);
        } catch (const error&) {  // a rank has died: other waits tell it too
            detail::drain_counter(done_, started_, last_);
        }
    }

    /// Starts to read one element, or as many as a span has. What they go to must live, and is not
    /// there, until `sync`.
    template <class T>
    void get(std::remove_const_t<T>& target, global_ptr<T> source,
             std::source_location site = std::source_location::current()) {
        get(std::span(&target, 1), source, site);
    }
    template <class T>
    void get(std::span<std::remove_const_t<T>> target, global_ptr<T> source,
             std::source_location site = std::source_location::current()) {
        selion::get(target, source, done_, site);
        note(site);
    }
    /// Starts to write one element, which is copied, or a span, which must stay as it is until
    /// `sync`.
    template <class T>
    void put(global_ptr<T> target, const std::type_identity_t<T>& value,
             std::source_location site = std::source_location::current()) {
        selion::put(target, value, done_, site);
        note(site);
    }
    template <class T>
    void put(global_ptr<T> target, std::span<const std::type_identity_t<T>> source,
             std::source_location site = std::source_location::current()) {
        selion::put(target, source, done_, site);
        note(site);
    }
    /// The same for blocks of one rank's memory, as in `put_strided`.
    template <class T>
    void get_strided(std::remove_const_t<T>* target, global_ptr<T> source, std::size_t row,
                     std::span<const stride> outer,
                     std::source_location site = std::source_location::current()) {
        if (outer.empty()) return get(std::span(target, row), source, site);
        selion::get_strided(target, source, row, outer, counters{.completion = &done_}, site);
        note(site);
    }
    template <class T>
    void put_strided(global_ptr<T> target, const std::type_identity_t<T>* source, std::size_t row,
                     std::span<const stride> outer,
                     std::source_location site = std::source_location::current()) {
        using element = std::type_identity_t<T>;
        if (outer.empty()) return put(target, std::span<const element>(source, row), site);
        selion::put_strided(target, source, row, outer, counters{.completion = &done_}, site);
        note(site);
    }

    /// Starts what `start(counter)` starts. @param start returns how often the counter will count.
    template <class Start>
    void add(const Start& start, std::source_location site = std::source_location::current()) {
        started_ += start(done_);
        last_ = site;
    }

    /// Waits until all that was started is complete, as a completion counter says: what was read is
    /// here, what was written is there.
    void sync(std::source_location site = std::source_location::current()) {
        if (started_ == 0) return;
        done_.wait(started_, site);
        started_ = 0;
    }

private:
    void note(std::source_location site) {
        ++started_;
        last_ = site;
    }

    counter done_;
    std::uint64_t started_ = 0;  ///< and not yet waited for
    std::source_location last_;  ///< where the last one was
};

}  // namespace selion
