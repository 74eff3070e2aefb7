// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "coherence/frame_store.hpp"
#include "coherence/protocol_host.hpp"
#include "coherence/written_blocks.hpp"

namespace selion::coherence {

enum class copy_state : std::uint8_t { invalid, shared, modified };

/// Why a rank does not have a block that it needs.
enum class miss_cause : std::uint8_t {
    cold,         ///< it never had it
    invalidated,  ///< another rank has written it
    evicted,      ///< it needed the room
    given_up,     ///< the program has flushed what it had written, or wanted no copies
    upgrade,      ///< it may read it, and wants to write
    at_home,      ///< it is the rank's own, and others have it
    asked_for,    ///< another access has asked for it already
};

/// A block of another rank's.
struct block_copy {
    std::byte* data = nullptr;  ///< a frame; null: none
    copy_state state = copy_state::invalid;
    miss_cause lost_by = miss_cause::cold;
    bool is_asked_for = false;  ///< the home has been asked, and has not answered
    bool is_early = false;      ///< nobody has wanted it yet, and it has not been used
    bool is_new = false;        ///< it came early, after room was looked for here last
    static constexpr std::uint32_t no_seat = UINT32_MAX;
    std::uint32_t seat = no_seat;            ///< among those that may have to go
    std::uint32_t listed = no_seat;          ///< among those that are modified
    std::unique_ptr<std::byte[]> last_seen;  ///< what was invalidated, where it is remembered
    access_queue waiting;
};

/// The side of the protocol of a rank that uses blocks of others. See protocol.md.
class copy_store {
public:
    /// @param capacity blocks that it keeps at most, from 1; those that are waited for count.
    /// @param remembers also blocks that it has lost, and why.
    /// @param written null: who writes a block has it alone. Else what is written is kept there.
    copy_store(protocol_host& host, std::size_t block_bytes, std::size_t capacity, bool remembers,
               written_blocks* written)
        : host_(host),
          written_(written),
          block_bytes_(block_bytes),
          capacity_(capacity),
          remembers_(remembers),
          frames_(block_bytes) {}

    using copy_map = std::unordered_map<std::uint64_t, block_copy>;
    using entry = copy_map::value_type;

    /// @param block address of its first byte. @return null: there has never been a copy.
    entry* find(std::uint64_t block) {
        const auto found = copies_.find(block);
        return found == copies_.end() ? nullptr : &*found;
    }
    const entry* find(std::uint64_t block) const {
        const auto found = copies_.find(block);
        return found == copies_.end() ? nullptr : &*found;
    }
    entry& find_or_make(std::uint64_t block) { return *copies_.try_emplace(block).first; }
    bool may(const block_copy& copy, access_kind what) const {
        if (!copy.waiting.empty()) return false;  // in their order
        return is_enough(copy, what);
    }
    /// Whether another block can be asked for, perhaps after one that is not waited for has gone.
    bool has_room_for(const block_copy& copy) const {
        return has_free_room_for(copy) || asked_for_ < seats_.size();
    }
    /// Whether a block can be brought before it is wanted, perhaps in the room of a copy that has
    /// been used. @param behind as of the access that does it.
    bool has_early_room_for(const block_copy& copy, std::uint64_t behind) const;
    /// An access that the copy does not allow. @pre has_room_for(copy)
    void ask(entry& which, block_access& access);
    /// Somebody wants a copy. @return whether it came before that, or is on its way.
    bool use(block_copy& copy);

    void receive(std::uint32_t from, const block_message& message);
    /// What others have written to a block that the rank may have.
    void take_changes(std::uint64_t block, std::span<const std::byte> changes);

    /// Sends home what has been written, and forgets it. @pre nothing is waited for.
    void write_all_back();
    /// Gives up all copies. @pre nothing is waited for, or is the rank's alone.
    void drop_all();

    bool has_modified() const { return !modified_.empty(); }

    std::uint64_t entries() const { return copies_.size(); }
    std::uint64_t evictions() const { return evictions_; }
    std::uint64_t write_backs() const { return write_backs_; }
    /// Copies that others have taken away.
    std::uint64_t invalidations() const { return invalidations_; }

private:
    bool is_enough(const block_copy& copy, access_kind what) const {
        const bool alone = writes(what) && written_ == nullptr;
        return alone ? copy.state == copy_state::modified : copy.state != copy_state::invalid;
    }
    bool has_free_room_for(const block_copy& copy) const {
        return copy.seat != block_copy::no_seat || seats_.size() < capacity_;
    }
    static std::uint32_t home_of(std::uint64_t block);
    static bool may_go(const entry& which, const block_access& access);
    bool has_been_used(entry& which);
    entry* find_victim(const block_access& access);
    void make_room(const block_access& access);
    void set_asked_for(block_copy& copy, bool is_asked_for);
    void set_early(block_copy& copy, bool is_early);
    void drop(entry& which, miss_cause why);
    void give_up(entry& which, miss_cause why);
    void forget(entry& which, miss_cause why);
    void release(entry& which);
    void release_if_gone(std::uint64_t block);
    void leave_seat(block_copy& copy);
    void send_away(entry& which, message_kind kind, miss_cause why);
    void send_home(const entry& which, message_kind kind);
    void set_state(entry& which, copy_state state);
    std::vector<std::uint64_t> all_modified() const;
    std::vector<std::uint64_t> all_shared() const;
    void take_in(entry& which, const block_message& message);
    message_kind wish_of(const block_copy& copy) const;

    protocol_host& host_;
    written_blocks* written_;
    std::size_t block_bytes_;
    std::size_t capacity_;
    std::size_t most_guesses_ = capacity_ / 2;  ///< early copies where another has to go for one
    bool remembers_;
    frame_store frames_;
    copy_map copies_;
    std::vector<entry*> seats_;  ///< those that have a frame, but for one that is being sent away
    std::vector<entry*> modified_;
    std::size_t hand_ = 0;        ///< the next one to go, unless it has been used
    std::size_t asked_for_ = 0;   ///< of them, those that their homes have been asked for
    std::size_t early_ = 0;       ///< copies that nobody has wanted yet
    std::size_t early_here_ = 0;  ///< of them, those that have come
    std::uint64_t evictions_ = 0;
    std::uint64_t write_backs_ = 0;
    std::uint64_t invalidations_ = 0;
};

}  // namespace selion::coherence
