// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "collectives/message_inbox.hpp"

namespace selion::collectives {

/// What a rank has started and is not over, by name and in the order of its starts; and what of
/// that has a reason to go on. Each step takes the logarithm of how many there are, so that those
/// which wait cost those which do not next to nothing.
///
/// `Started` has its `name()`, its `number()` among all that the rank has started, which rises
/// within a team as names do, and `awaits(other)`: whether it may not begin before the other one,
/// a meeting, is over. It stays where it is until it is taken out.
template <class Started>
class started_order {
public:
    /// It goes on at first.
    void add(Started& one) {
        under_way_.emplace(one.number(), &one);
        named_.emplace(one.name(), &one);
        wake(one);
    }
    /// Null: it is over, or has not been started here yet.
    Started* find(const collective_name& name) const {
        const auto found = named_.find(name);
        return found == named_.end() ? nullptr : found->second;
    }
    /// There is a reason to go on with it.
    void wake(Started& one) { awake_.emplace(one.number(), &one); }
    void wake_all() { awake_ = under_way_; }
    /// The first that was started of those to go on with, which have one reason less then; null:
    /// there are none.
    Started* next() {
        if (awake_.empty()) return nullptr;
        return awake_.extract(awake_.begin()).mapped();
    }
    /// It is over: those go on that have waited for it. They follow it in the order of names.
    void remove(Started& one) {
        under_way_.erase(one.number());
        awake_.erase(one.number());
        const auto place = named_.find(one.name());
        for (auto later = named_.erase(place); later != named_.end() && later->second->awaits(one);
             ++later) {
            wake(*later->second);
        }
    }
    /// Null: there is none.
    Started* oldest() const { return under_way_.empty() ? nullptr : under_way_.begin()->second; }
    template <class Each>
    void for_all_awake(const Each& each) const {
        for (const auto& [number, one] : awake_) each(*one);
    }

private:
    using by_start = std::map<std::uint64_t, Started*>;
    by_start under_way_;
    by_start awake_;
    std::map<collective_name, Started*> named_;
};

}  // namespace selion::collectives
