// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace coherent_order {

/// An access of a rank to one location, which took effect in one instant between begin and end.
struct access {
    std::int64_t begin_ps = 0;
    std::int64_t end_ps = 0;
    std::uint64_t read = 0;     ///< what it has found, if it reads
    std::uint64_t written = 0;  ///< what it has left, if it writes
    std::uint32_t rank = 0;
    std::uint32_t location = 0;
    bool reads = false;
    bool writes = false;  ///< with `reads`: a change, with nothing between the two
};

inline bool ends_before(const access& one, const access& other) {
    return one.end_ps < other.begin_ps;
}

/// Checks accesses to one location for linearizability: whether there is an order of them in which
/// none comes before one that had ended before it began, and each reads what was written last.
///
/// Every value is written once, so it is known whom each access has read from, and the question is
/// easy (Gibbons and Korach, Testing shared memories, 1997). The location has a value from its
/// write on until another is written: the write and all that have read it stand together. So do
/// those of two values if a change has replaced one by the other: all values from a write on
/// through the changes that follow it are a *chain*, whose accesses have one order but for reads of
/// the same value, which may be ordered by their begins. A chain must not have an access that has
/// ended before one in front of it began.
///
/// Chain A must come before B if any access of A has ended before any of B began: if A's earliest
/// end is before B's latest begin. All chains can be ordered if no two must come before each other:
/// in a ring of more, let A be the chain with the latest begin, N the one behind it, M the one
/// behind N. Then N's earliest end < M's latest begin <= A's latest begin: A and N are two such.
class register_history {
public:
    /// @param accesses to the same location, which was 0 at first; nobody writes 0.
    explicit register_history(std::vector<access> accesses) : all_(std::move(accesses)) {
        access first;
        first.begin_ps = first.end_ps = std::numeric_limits<std::int64_t>::min();
        first.rank = nobody;
        first.writes = true;
        all_.push_back(first);
    }

    /// @return a sentence, or nothing if the accesses can be ordered.
    std::string fault() {
        for (const auto look : {&register_history::find_writers, &register_history::find_readers,
                                &register_history::order_chains}) {
            std::string found = (this->*look)();
            if (!found.empty()) return found;
        }
        return compare_chains();
    }

private:
    static constexpr std::uint32_t nobody = UINT32_MAX;

    struct value {
        const access* writer = nullptr;
        const access* replacer = nullptr;  ///< the change that has read it
        std::vector<const access*> readers;
    };
    struct chain {
        const access* first_end;
        const access* last_begin;
    };

    static std::string text_of(const access& one) {
        if (one.rank == nobody) return "the first value";
        std::string text = "rank " + std::to_string(one.rank) + "'s ";
        if (!one.writes) text += "read of " + std::to_string(one.read);
        if (!one.reads) text += "write of " + std::to_string(one.written);
        if (one.reads && one.writes) {
            text += "change of " + std::to_string(one.read) + " to " + std::to_string(one.written);
        }
        return text + " (" + std::to_string(one.begin_ps) + " to " + std::to_string(one.end_ps) +
               " ps)";
    }

    std::string find_writers() {
        for (const access& one : all_) {
            if (!one.writes) continue;
            value& written = values_[one.written];
            if (written.writer != nullptr) {
                return "the same value comes from " + text_of(*written.writer) + " and from " +
                       text_of(one);
            }
            written.writer = &one;
        }
        return {};
    }

    std::string find_readers() {
        for (const access& one : all_) {
            if (!one.reads) continue;
            const auto found = values_.find(one.read);
            if (found == values_.end()) return text_of(one) + " found what nobody has written";
            value& what = found->second;
            if (!one.writes) {
                what.readers.push_back(&one);
            } else if (what.replacer == nullptr) {
                what.replacer = &one;
            } else {
                return "the same value was replaced by " + text_of(*what.replacer) + " and by " +
                       text_of(one);
            }
        }
        return {};
    }

    std::string order_chains() {
        for (auto& [number, what] : values_) {
            if (what.writer->reads) continue;  // not the first one of a chain
            std::string found = order_chain(what);
            if (!found.empty()) return found;
        }
        // What is left are changes whose values go round.
        if (ordered_ != values_.size()) return "changes have read values from each other";
        return {};
    }

    std::string order_chain(value& first) {
        std::vector<const access*> order;
        for (value* now = &first; now != nullptr; ++ordered_) {
            order.push_back(now->writer);
            std::ranges::sort(now->readers, {}, &access::begin_ps);
            order.insert(order.end(), now->readers.begin(), now->readers.end());
            now = now->replacer == nullptr ? nullptr : &values_.at(now->replacer->written);
        }
        chain whole{first.writer, first.writer};
        for (const access* one : order) {
            if (ends_before(*one, *whole.last_begin)) {
                return text_of(*one) + " had ended before " + text_of(*whole.last_begin) +
                       " began, which it comes after";
            }
            if (one->begin_ps > whole.last_begin->begin_ps) whole.last_begin = one;
            if (one->end_ps < whole.first_end->end_ps) whole.first_end = one;
        }
        chains_.push_back(whole);
        return {};
    }

    std::string compare_chains() const {
        for (auto one = chains_.begin(); one != chains_.end(); ++one) {
            const auto other = std::find_if(chains_.begin(), one, [&](const chain& before) {
                return ends_before(*before.first_end, *one->last_begin) &&
                       ends_before(*one->first_end, *before.last_begin);
            });
            if (other == one) continue;
            return text_of(*one->first_end) + " had ended before " + text_of(*other->last_begin) +
                   " began, and " + text_of(*other->first_end) + " before " +
                   text_of(*one->last_begin) + ": neither value was before the other";
        }
        return {};
    }

    std::vector<access> all_;
    std::map<std::uint64_t, value> values_;
    std::vector<chain> chains_;
    std::size_t ordered_ = 0;  ///< values
};

}  // namespace coherent_order
