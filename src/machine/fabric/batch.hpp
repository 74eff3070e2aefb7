// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/fabric/wire.hpp"
#include "selion/detail/global_address.hpp"

namespace selion {
class counter;
}

/// Small frames that leave together, as one: "Batches" in protocol.md. Knows no network.
namespace selion::machine::fabric {

/// What a frame means to those who wait for what has been sent.
struct frame_needs {
    bool quiet = false;    ///< quiet waits for it: it is not fleeting
    bool account = false;  ///< quiet has to ask whether it was taken: no answer tells
    bool effect = false;   ///< it does more than to raise a signal

    frame_needs& operator|=(const frame_needs& other) {
        quiet |= other.quiet;
        account |= other.account;
        effect |= other.effect;
        return *this;
    }
};
inline frame_needs needs_of(const outgoing_frame& frame) {
    const frame_head& head = frame.head;
    const bool tells_nothing = head.kind == frame_kind::put ||
                               (head.kind == frame_kind::atomic && head.operands[3] == no_ticket);
    return {.quiet = !frame.is_fleeting,
            .account = !frame.is_fleeting && tells_nothing,
            .effect = head.kind != frame_kind::put || !frame.first.empty()};
}

/// Bytes that may follow a frame in a batch: to copy more takes as long as to send them.
inline constexpr std::size_t most_batched = 1024;
bool may_be_batched(const outgoing_frame& frame);

/// Room for what follows a batch's head.
using batch_room = std::array<std::byte, most_following>;

/// Frames of one class to one peer that have not left yet.
class open_batch {
public:
    bool is_empty() const { return bytes_ == 0; }
    bool has_room() const { return room_ != nullptr; }
    /// Before the first frame. @param now a number of the time
    void begin(std::unique_ptr<batch_room> room, std::uint32_t now) {
        room_ = std::move(room);
        begun_ = now;
    }
    /// Whether a frame that so many bytes follow fits beside those that are there.
    bool fits(std::size_t following) const {
        return bytes_ + most_entry_bytes + following <= most_following;
    }
    /// The same of any frame: what a batch asks for is as much as a frame's answer has at most, so
    /// that as many of them may be open as of single frames.
    bool fits(const outgoing_frame& frame) const;
    /// @param completion counts when the batch has been taken. @pre `may_be_batched`, `fits`, and
    /// has room
    void add(const outgoing_frame& frame, counter* completion);
    /// The same for a put without a signal, the most frequent one, at less cost. One that begins
    /// where the last one ends is added to it.
    void add_put(std::uint64_t target, std::span<const std::byte> data, counter* completion);
    /// The peer shall tell at once when it has taken it.
    void ask() { asks_ = true; }

    /// @return the number that was given to `begin`
    std::uint32_t begun() const { return begun_; }
    const frame_needs& needs() const { return needs_; }
    std::span<counter* const> completions() const { return completions_; }
    /// All of it, as one frame; holds as long as nothing is added.
    outgoing_frame frame(bool is_reply) const;
    /// Empty from now on. @return the room
    std::unique_ptr<batch_room> end();

private:
    /// Beside the data, which are filled up to whole words.
    static constexpr std::size_t most_entry_bytes = 6 * sizeof(std::uint64_t);

    bool lengthen_last_put(std::uint64_t target, std::span<const std::byte> data);
    std::byte* fill(std::byte* place);
    void end_entry(const std::byte* place, counter* completion);

    std::unique_ptr<batch_room> room_;
    std::size_t bytes_ = 0;
    std::size_t asked_bytes_ = 0;  ///< that its gets want
    // Of the last entry, if it is a put without a signal.
    std::size_t last_put_ = 0;                      ///< where it begins
    std::uint64_t put_end_ = detail::null_address;  ///< of what it writes; null: it is another one
    bool last_is_whole_ = false;                    ///< of words
    std::uint32_t begun_ = 0;
    frame_needs needs_;
    bool asks_ = false;
    std::vector<counter*> completions_;
};

/// Reads a batch: frame after frame, each as if it had come alone, but for number and account.
class batch_reader {
public:
    batch_reader(const frame_head& batch, std::span<const std::byte> following)
        : batch_(batch), rest_(following) {}

    bool is_over() const { return rest_.empty(); }
    /// Takes the next frame if it is a put without a signal, the most frequent one, at less cost.
    /// @return false: it is another one, or none, and has not been taken.
    bool next_put(std::uint64_t& target, std::span<const std::byte>& data);
    /// @param following of the frame; holds as long as the batch's bytes. @return length or kind if
    /// the rest of the bytes is no frame; the values of its fields are for `check_frame`.
    frame_fault next(frame_head& head, std::span<const std::byte>& following);

private:
    const frame_head& batch_;
    std::span<const std::byte> rest_;
    std::uint64_t put_end_ = detail::null_address;  ///< as of the batch that is read
};

}  // namespace selion::machine::fabric
