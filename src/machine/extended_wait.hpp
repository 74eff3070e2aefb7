// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "machine/machine.hpp"

namespace selion::machine {

/// Room for words that a wait looks at; on the stack where they are few.
class awaited_words {
public:
    explicit awaited_words(std::size_t count)
        : many_(count > few ? count : 0),
          all_(count > few ? std::span(many_) : std::span(usual_).first(count)) {}
    awaited_words(const awaited_words&) = delete;
    awaited_words& operator=(const awaited_words&) = delete;

    std::span<awaited_word> all() { return all_; }

private:
    static constexpr std::size_t few = 8;
    std::array<awaited_word, few> usual_;
    std::vector<awaited_word> many_;
    std::span<awaited_word> all_;
};

/// A wait that further words end as well.
class extended_wait {
public:
    explicit extended_wait(const wait_request& request, std::size_t further = 1)
        : words_(request.others.size() + further), all_(request) {
        std::ranges::copy(request.others, words_.all().begin());
        all_.others = words_.all();
    }
    /// The request, until `more` has come, too.
    const wait_request& until_also(const awaited_word& more) {
        words_.all().back() = more;
        return all_;
    }
    /// Until one of both. @pre `further` is 2.
    const wait_request& until_also(const awaited_word& one, const awaited_word& other) {
        *(words_.all().end() - 2) = one;
        return until_also(other);
    }

private:
    awaited_words words_;
    wait_request all_;
};

}  // namespace selion::machine
