// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/aligned_bytes.hpp"
#include "collectives/lines_protocol.hpp"
#include "collectives/message_way.hpp"
#include "collectives/segment_copies.hpp"
#include "collectives/team_members.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/shared_word.hpp"

namespace selion::collectives {

/// The number by which messages of the machine are named that belong to no one collective of a
/// team: those are numbered from 1.
inline constexpr std::uint64_t no_collective = 0;

/// Messages from one member to another that may be on their way, untaken.
inline constexpr std::uint64_t line_window = 4;

/// What another member writes at this one: its messages, and how many of this one's it has taken.
struct pair_end {
    numbered_line lines[line_window];  ///< messages are numbered from 1
    alignas(detail::line_bytes) detail::shared_word taken;
};

/// Messages through memory that some members of a team, or all, share, real or simulated: a line
/// for each short one, which its receiver waits for; of a long one the line says where it lies, and
/// the receiver reads it there. One that would have to be copied into a heap without room goes by
/// the machine. The protocol: lines.md.
class pair_lines final : public message_way {
public:
    /// What a member tells the others before the first message.
    struct introduction {
        std::uint64_t ends;     ///< global address of its `pair_end`, one for each of them
        std::uint64_t process;  ///< members of equal ones read each other's private memory
    };
    /// Makes this member's ends. @param count members that talk to each other. @return nothing when
    /// the heap has no room.
    static std::optional<introduction> make_ends(detail::rank_context& context, std::size_t count);
    /// Gives them back unused.
    static void drop_ends(detail::rank_context& context, std::size_t count,
                          const introduction& own);

    /// @param members of the team, the own one among them, by rising number. @param all
    /// introductions of theirs. @pre they all map each other.
    pair_lines(detail::rank_context& context, const team_members& team,
               std::vector<std::uint32_t> members, const std::vector<introduction>& all);
    ~pair_lines() override;

    bool reaches(std::uint32_t member) const;
    /// @pre of both: it is reached.
    void send(std::uint32_t member, message_pieces data, bool may_lend) override;
    std::span<const std::byte> receive(std::uint32_t member, std::size_t expected,
                                       std::byte* place) override;
    void end_step() override;

private:
    /// Another member, and the messages between it and this one.
    struct partner {
        pair_end* there;  ///< at the other, of this one
        pair_end* here;
        bool is_in_process;
        lines_protocol::pair_counts counts = {};
    };
    /// What the protocol needs of shared memory.
    struct memory {
        detail::rank_context& context;
        partner& other;
        std::uint64_t await_taken(std::uint64_t at_least) const;
        void tell_taken(std::uint64_t number) const;
    };
    /// Where a long message lies: with the line's number, in as little as 32 bytes, which some
    /// machines have in a line of their caches.
    struct long_message {
        std::uint64_t place;  ///< an address of the process, or a global one
        std::uint64_t bytes;
    };
    struct lent_message {
        long_message what;
        bool is_global;
    };

    std::size_t position_of(std::uint32_t member) const;
    std::optional<lent_message> lend(const partner& to, message_pieces data, bool may_lend);
    std::byte* private_copy(std::size_t bytes);
    void reuse_private();
    const std::byte* place_of(const lent_message& lent) const;
    void release_last();

    detail::rank_context& context_;
    const team_members& team_;
    std::uint64_t own_ends_;                 ///< offset in the own segment
    std::vector<std::uint32_t> members_;     ///< by rising number
    std::vector<partner> partners_;          ///< of each
    segment_copies copies_;                  ///< for members of other processes
    std::vector<aligned_bytes> private_;     ///< for those of the own one
    std::size_t used_private_ = 0;           ///< in this step
    std::vector<partner*> lent_to_;          ///< in this step
    partner* last_received_from_ = nullptr;  ///< its message is being read
    bool last_was_long_ = false;
    std::optional<inbox_way> last_by_machine_;  ///< has what is being read, where it came so
};

}  // namespace selion::collectives
