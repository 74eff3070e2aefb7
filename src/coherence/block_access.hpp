// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <utility>

#include "selion/counter.hpp"

namespace selion::coherence {

enum class access_kind : std::uint8_t {
    read,
    write,
    change,  ///< a function reads and writes it, and nobody in between
    touch,   ///< brings a copy
};
constexpr bool writes(access_kind what) {
    return what == access_kind::write || what == access_kind::change;
}

/// One access to bytes of one block, from its start until it is done.
struct block_access {
    static constexpr std::int64_t not_missed = -1;

    access_kind kind = access_kind::read;
    bool is_done = false;
    bool is_kept = false;     ///< by the part; else by the caller, who waits for it
    bool is_useless = false;  ///< it missed, and what it wanted was as when the copy went
    std::uint32_t bytes = 0;
    std::uint64_t address = 0;  ///< global, of the first one
    std::byte* data = nullptr;  ///< the caller's: to fill, or to write
    void (*change)(std::byte* bytes, void* argument) = nullptr;
    void* argument = nullptr;
    counter* completion = nullptr;  ///< counts when it is done; null: none
    std::source_location site;
    std::int64_t begun_ps = not_missed;  ///< of a miss that is counted
    std::uint64_t behind = 0;  ///< of a guess: the block whose use has led to it; 0: no guess
    block_access* next = nullptr;

    /// @param place of the first byte.
    void perform(std::byte* place) const {
        switch (kind) {
            case access_kind::read: return move(data, place);
            case access_kind::write: return move(place, data);
            case access_kind::change: change(place, argument); return;
            case access_kind::touch: return;
        }
    }

private:
    void move(std::byte* to, const std::byte* from) const {
        constexpr std::uint32_t word = sizeof(std::uint64_t);
        if (bytes == word) {
            std::memcpy(to, from, word);
        } else {
            std::memcpy(to, from, bytes);
        }
    }
};

/// Accesses that wait, the first one first.
class access_queue {
public:
    bool empty() const { return first_ == nullptr; }
    block_access& front() const { return *first_; }
    void push(block_access& access) {
        access.next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = &access;
        last_ = &access;
    }
    block_access& pop() {
        block_access& taken = *std::exchange(first_, first_->next);
        return taken;
    }

private:
    block_access* first_ = nullptr;
    block_access* last_ = nullptr;
};

}  // namespace selion::coherence
