// SPDX-License-Identifier: Apache-2.0
#include "coherence/copy_store.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "selion/detail/global_address.hpp"

namespace selion::coherence {

std::uint32_t copy_store::home_of(std::uint64_t block) { return detail::rank_of(block); }

/// What the home has to be asked for so that the first access that waits can go on.
message_kind copy_store::wish_of(const block_copy& copy) const {
    if (!writes(copy.waiting.front().kind) || written_ != nullptr) return message_kind::get_shared;
    return copy.state == copy_state::shared ? message_kind::upgrade : message_kind::get_modified;
}

void copy_store::ask(entry& which, block_access& access) {
    auto& [block, copy] = which;
    copy.waiting.push(access);
    if (copy.is_asked_for) return;
    set_asked_for(copy, true);
    if (access.kind == access_kind::touch && !copy.is_early) set_early(copy, true);
    if (copy.seat == block_copy::no_seat) {
        make_room(access);
        if (copy.data == nullptr) copy.data = frames_.take();
        copy.seat = static_cast<std::uint32_t>(seats_.size());
        seats_.push_back(&which);
    }
    host_.send(home_of(block), {wish_of(copy), block});
}

/// A guess that was right earns room for one more, to half of all; `forget` takes it from those
/// that were wrong.
bool copy_store::use(block_copy& copy) {
    if (!copy.is_early) return false;
    set_early(copy, false);
    if (most_guesses_ < capacity_ / 2) ++most_guesses_;
    return true;
}

void copy_store::set_asked_for(block_copy& copy, bool is_asked_for) {
    copy.is_asked_for = is_asked_for;
    is_asked_for ? ++asked_for_ : --asked_for_;
    if (copy.is_early) is_asked_for ? --early_here_ : ++early_here_;
}

void copy_store::set_early(block_copy& copy, bool is_early) {
    copy.is_early = is_early;
    is_early ? ++early_ : --early_;
    if (!copy.is_asked_for) is_early ? ++early_here_ : --early_here_;
}

/// Where there is no free room: a block that comes early takes that of no other early one, and a
/// guess neither that of the block in use nor more than guesses have earned.
bool copy_store::has_early_room_for(const block_copy& copy, std::uint64_t behind) const {
    if (has_free_room_for(copy)) return true;
    std::size_t staying = asked_for_ + early_here_;
    if (behind != 0) {
        if (early_ >= most_guesses_) return false;
        const entry* const used = find(behind);
        const bool is_counted = used == nullptr || used->second.seat == block_copy::no_seat ||
                                used->second.is_asked_for || used->second.is_early;
        staying += is_counted ? 0 : 1;
    }
    return staying < seats_.size();
}

/// Whether a copy can make room for an access.
bool copy_store::may_go(const entry& which, const block_access& access) {
    const auto& [block, copy] = which;
    if (copy.is_asked_for) return false;
    return access.kind != access_kind::touch || (!copy.is_early && block != access.behind);
}

/// Since this was asked last; to have come early counts once.
bool copy_store::has_been_used(entry& which) {
    const bool is_new = std::exchange(which.second.is_new, false);
    return host_.was_used(which.first) || is_new;
}

/// @return a copy that can go. One that has been used since the hand came by last, or came early
/// since then, is passed over once. Null: there is none.
copy_store::entry* copy_store::find_victim(const block_access& access) {
    for (std::size_t looked = 0; looked < 2 * seats_.size(); ++looked) {
        entry& next = *seats_[hand_];
        hand_ = hand_ + 1 < seats_.size() ? hand_ + 1 : 0;
        if (!may_go(next, access)) continue;
        if (looked >= seats_.size() || !has_been_used(next)) return &next;
    }
    return nullptr;
}

/// For another one. A handler that runs while a block is sent away may take its room for a while.
void copy_store::make_room(const block_access& access) {
    while (seats_.size() >= capacity_) {
        entry* const gone = find_victim(access);
        if (gone == nullptr) return;
        ++evictions_;
        if (gone->second.state == copy_state::modified) {
            ++write_backs_;
            send_away(*gone, message_kind::write_back, miss_cause::evicted);
        } else {
            give_up(*gone, miss_cause::evicted);
        }
    }
}

/// The copy is not to be used any more.
void copy_store::drop(entry& which, miss_cause why) {
    forget(which, why);
    release(which);
}

void copy_store::forget(entry& which, miss_cause why) {
    auto& [block, copy] = which;
    host_.forget(block);
    set_state(which, copy_state::invalid);
    if (copy.is_early) {
        set_early(copy, false);
        if (why == miss_cause::evicted && most_guesses_ > 1) --most_guesses_;
    }
    copy.lost_by = why;
    // What is asked for already is no miss by this.
    if (!remembers_ || why != miss_cause::invalidated || copy.is_asked_for) return;
    copy.last_seen = std::make_unique<std::byte[]>(block_bytes_);
    std::memcpy(copy.last_seen.get(), copy.data, block_bytes_);
}

/// Its frame is free, unless it is waited for.
void copy_store::release(entry& which) {
    block_copy& copy = which.second;
    if (copy.is_asked_for) return;
    leave_seat(copy);
    if (copy.data != nullptr) frames_.give_back(std::exchange(copy.data, nullptr));
    if (!remembers_) copies_.erase(which.first);
}

/// After a send. A handler may have asked for the block again meanwhile, and may have it by now.
void copy_store::release_if_gone(std::uint64_t block) {
    entry* const which = find(block);
    if (which != nullptr && which->second.state == copy_state::invalid) release(*which);
}

/// Nobody makes room with it any more.
void copy_store::leave_seat(block_copy& copy) {
    if (copy.seat == block_copy::no_seat) return;
    entry* const last = seats_.back();
    seats_[copy.seat] = last;
    last->second.seat = copy.seat;
    seats_.pop_back();
    copy.seat = block_copy::no_seat;
    if (hand_ >= seats_.size()) hand_ = 0;
}

/// Sends the data home and forgets them. Messages that come while they are sent find no copy, and
/// handlers that run meanwhile do not make room with it.
void copy_store::send_away(entry& which, message_kind kind, miss_cause why) {
    const std::uint64_t block = which.first;
    forget(which, why);
    if (!which.second.is_asked_for) leave_seat(which.second);
    send_home(which, kind);
    release_if_gone(block);
}

void copy_store::send_home(const entry& which, message_kind kind) {
    const auto& [block, copy] = which;
    host_.send(home_of(block), {kind, block, {copy.data, block_bytes_}});
}

/// The block is here: those that wait for it go on, as far as what it is allows.
void copy_store::take_in(entry& which, const block_message& message) {
    auto& [block, copy] = which;
    if (!message.data.empty()) std::memcpy(copy.data, message.data.data(), block_bytes_);
    if (copy.last_seen != nullptr) {
        block_access& first = copy.waiting.front();
        const std::uint64_t place = first.address - block;
        // Nobody knows what of a block that comes early will be wanted.
        first.is_useless =
            first.kind != access_kind::touch &&
            std::memcmp(copy.last_seen.get() + place, copy.data + place, first.bytes) == 0;
        copy.last_seen.reset();
    }
    set_state(which, message.kind == message_kind::grant_shared ? copy_state::shared
                                                                : copy_state::modified);
    while (!copy.waiting.empty()) {
        block_access& next = copy.waiting.front();
        if (!is_enough(copy, next.kind)) {
            return host_.send(home_of(block), {message_kind::upgrade, block});
        }
        if (writes(next.kind)) host_.begin_write(block, copy.data);
        next.perform(copy.data + (next.address - block));
        copy.waiting.pop();
        host_.finish(next);
    }
    set_asked_for(copy, false);
    copy.is_new = copy.is_early;
}

void copy_store::receive(std::uint32_t from, const block_message& message) {
    entry* const which = find(message.block);
    const bool is_written = which != nullptr && which->second.state == copy_state::modified;
    switch (message.kind) {
        case message_kind::invalidate:
            if (which != nullptr && which->second.state != copy_state::invalid) {
                ++invalidations_;
                drop(*which, miss_cause::invalidated);
            }
            return host_.send(from, {message_kind::acknowledged, message.block});
        case message_kind::flush_to_shared:
            if (!is_written) return;  // its write-back is on its way
            host_.forget(message.block);
            set_state(*which, copy_state::shared);
            return send_home(*which, message_kind::flushed);
        case message_kind::flush_to_invalid:
            if (!is_written) return;
            ++invalidations_;
            return send_away(*which, message_kind::flushed, miss_cause::invalidated);
        default: return take_in(*which, message);
    }
}

void copy_store::take_changes(std::uint64_t block, std::span<const std::byte> changes) {
    const entry* const which = find(block);
    if (which != nullptr && which->second.state != copy_state::invalid) {
        return written_->merge(block, which->second.data, changes);
    }
    // One that has been asked for comes with them, and its home knows again who has it.
    const bool is_asked_for = which != nullptr && which->second.is_asked_for;
    if (!is_asked_for) host_.send(home_of(block), {message_kind::gone, block});
}

/// Those that are modified are listed: a flush costs what has been written, not what is kept.
void copy_store::set_state(entry& which, copy_state state) {
    block_copy& copy = which.second;
    const bool was_modified = copy.state == copy_state::modified;
    const bool is_modified = state == copy_state::modified;
    copy.state = state;
    if (was_modified == is_modified) return;
    if (is_modified) {
        copy.listed = static_cast<std::uint32_t>(modified_.size());
        modified_.push_back(&which);
        return;
    }
    entry* const last = modified_.back();
    modified_[copy.listed] = last;
    last->second.listed = copy.listed;
    modified_.pop_back();
    copy.listed = block_copy::no_seat;
}

/// In the order of their seats.
std::vector<std::uint64_t> copy_store::all_modified() const {
    std::vector<entry*> all = modified_;
    std::ranges::sort(all, {}, [](const entry* one) { return one->second.seat; });
    std::vector<std::uint64_t> blocks;
    for (const entry* one : all) blocks.push_back(one->first);
    return blocks;
}

std::vector<std::uint64_t> copy_store::all_shared() const {
    std::vector<std::uint64_t> found;
    for (const entry* one : seats_) {
        if (one->second.state == copy_state::shared) found.push_back(one->first);
    }
    return found;
}

void copy_store::write_all_back() {
    for (const std::uint64_t block : all_modified()) {
        // Its home may have asked for it while the ones before were sent.
        entry* const one = find(block);
        if (one == nullptr || one->second.state != copy_state::modified) continue;
        ++write_backs_;
        send_away(*one, message_kind::write_back, miss_cause::given_up);
    }
}

void copy_store::drop_all() {
    for (const std::uint64_t block : all_shared()) {
        // Its home may have taken it while changes were sent.
        entry* const one = find(block);
        if (one != nullptr && one->second.state == copy_state::shared) {
            give_up(*one, miss_cause::given_up);
        }
    }
}

/// A copy that may be open.
void copy_store::give_up(entry& which, miss_cause why) {
    const std::uint64_t block = which.first;
    if (written_ == nullptr || !written_->is_open(block)) return drop(which, why);
    forget(which, why);
    leave_seat(which.second);
    host_.send_changes(block, which.second.data);
    release_if_gone(block);
}

}  // namespace selion::coherence
