// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/team_block.hpp"
#include "collectives/team_members.hpp"
#include "machine/machine.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

enum class direction : std::uint32_t { after, before };

/// The member 2^level after or before the own one, the last being followed by member 0.
struct neighbour {
    std::uint32_t level;
    direction where;
};

/// Where a parcel comes to lie in the receiver's landing area, bytes from its start. Sender and
/// receiver work it out alike.
struct landing_place {
    std::size_t offset = 0;
};
inline constexpr std::size_t landing_bytes = slot_sets * slot_bytes;

/// One member's messages to and from its neighbours, where members do not map each other.
/// The two ends of a link agree on which messages pass it, on their order and on their sizes. Flow
/// control, and why nothing is overwritten and nobody waits for ever: messages.md.
class neighbour_links {
public:
    /// A letter is moved here before it is looked at: aligned for any element of its size.
    struct letter_copy {
        alignas(64) std::byte bytes[letter_bytes];
    };

    neighbour_links(detail::rank_context& context, const team_members& members)
        : context_(context), members_(members), own_(members.block(members.own())) {}

    /// Lets the neighbour send one more message. Nothing to do where that is a letter.
    /// @pre its landing place is free; fewer than `parcel_window` are invited and not received.
    void invite(neighbour from, std::size_t bytes);
    /// Sends the next message; waits until there is room. On return the data may be reused.
    void send(neighbour to, std::span<const std::byte> data, landing_place where = {});
    /// Sends a message to a neighbour that has sent its last one over this link, and waits for
    /// nothing else: that was its invitation. It lands at the start of the landing area.
    void answer(neighbour to, std::span<const std::byte> data);
    /// Waits for the neighbour's next message.
    /// @return where it lies: in `copy`, or in the landing area until another is invited there.
    const std::byte* receive(neighbour from, std::size_t bytes, letter_copy& copy,
                             landing_place where = {});

private:
    static bool is_letter(std::size_t bytes) { return bytes <= letter_bytes; }

    link_end& end_of(neighbour which);
    std::uint64_t address(neighbour which, std::size_t offset_in_end) const;
    std::uint32_t member_of(neighbour which) const;
    void signal(neighbour to, std::size_t offset_in_end, detail::signal_update update,
                bool is_patient = false);
    void wait(detail::shared_word& word, std::uint64_t at_least);
    void send_letter(neighbour to, std::span<const std::byte> data);
    void send_parcel(neighbour to, std::span<const std::byte> data, landing_place where);

    detail::rank_context& context_;
    const team_members& members_;
    team_block& own_;
};

}  // namespace selion::collectives
