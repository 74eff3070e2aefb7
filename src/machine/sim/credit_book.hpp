// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// What one rank has under way to each of the others, where that is limited, and what waits for a
/// credit.
class credit_book {
public:
    /// @return whether one of `credits` is free for `target`; then it is taken.
    bool take(std::uint32_t target, std::uint32_t credits) {
        account& with = accounts_[target];
        if (with.under_way == credits) return false;
        ++with.under_way;
        return true;
    }
    /// Whether something waits for a credit of that target.
    bool has_queue(std::uint32_t target) const {
        const auto with = accounts_.find(target);
        return with != accounts_.end() && with->second.first != nullptr;
    }
    /// Lets a message wait for its target's next credit. @pre `take` has failed, or others wait.
    void enqueue(message& what) {
        account& with = accounts_[what.to];
        what.next = nullptr;
        (with.first == nullptr ? with.first : with.last->next) = &what;
        with.last = &what;
    }
    /// @return a message that has waited and has the credit now, or null: then it is free.
    message* give_back(std::uint32_t target) {
        account& with = accounts_[target];
        message* const next = with.first;
        if (next == nullptr) {
            --with.under_way;
        } else {
            with.first = next->next;
        }
        return next;
    }

private:
    struct account {
        std::uint32_t under_way = 0;
        message* first = nullptr;
        message* last = nullptr;
    };
    std::unordered_map<std::uint32_t, account> accounts_;
};

}  // namespace selion::machine::sim
