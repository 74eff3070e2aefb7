// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/aligned_bytes.hpp"
#include "collectives/message_inbox.hpp"
#include "collectives/team_members.hpp"
#include "selion/counter.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// The data of a message, piece by piece.
using message_pieces = std::span<const std::span<const std::byte>>;

/// How the messages of a schedule travel, from member to member of a team. Messages from one member
/// to another keep their order.
class message_way {
public:
    virtual ~message_way() = default;
    /// @param may_lend the data stay as they are until `end_step`; else they are copied.
    virtual void send(std::uint32_t member, message_pieces data, bool may_lend) = 0;
    /// Waits for a member's next message. @param expected bytes that it should have.
    /// @param place where so many may be written, or null. @return what has come: there, as soon as
    /// the step has ended, or elsewhere and readable until the next call here.
    virtual std::span<const std::byte> receive(std::uint32_t member, std::size_t expected,
                                               std::byte* place) = 0;
    /// Waits until nothing is being written to any place, and tells who has lent it.
    virtual void finish_reading() {}
    /// The same when the collective is over, also by an error or because its time is up.
    virtual void end_reading() noexcept {}
    /// After the messages of a step.
    virtual void end_step() = 0;
};

std::size_t bytes_of(message_pieces data);

struct expected_bytes {
    std::size_t wanted;
    std::size_t come;
};
/// Ends the job where the sender, a rank of the world, has given another length: who passes data on
/// must not read past what has come.
void expect_bytes(detail::rank_context& context, collective_kind what, std::uint32_t sender,
                  const expected_bytes& bytes);
void copy_pieces(std::byte* to, message_pieces data);

/// Pieces side by side, for who sends one.
class packed_pieces {
public:
    /// @return all of them, in their place where there is only one. Valid until the next call.
    std::span<const std::byte> all_of(message_pieces data);

private:
    aligned_bytes copy_;
};

/// What becomes of long data that stay as they are until the end of a step: they are copied, or
/// read where they lie if the machine can. Then their sender waits for the receiver.
enum class long_data : bool { copied, lent };

/// By messages of the machine, on any machine.
class inbox_way final : public message_way {
public:
    /// @param number of the collective in its team: the same at all members, never used again.
    inbox_way(detail::rank_context& context, const team_members& members, std::uint64_t number,
              long_data how = long_data::copied)
        : context_(context), members_(members), name_{members.name(), number}, how_(how) {}
    void send(std::uint32_t member, message_pieces data, bool may_lend) override;
    std::span<const std::byte> receive(std::uint32_t member, std::size_t expected,
                                       std::byte* place) override;
    void finish_reading() override;
    void end_reading() noexcept override;
    void end_step() override;

private:
    bool lend(std::uint32_t target, std::span<const std::byte> data);
    void begin_reading(std::uint32_t lender, std::uint64_t key, std::span<std::byte> to);

    detail::rank_context& context_;
    const team_members& members_;
    collective_name name_;
    long_data how_;
    message_inbox::message last_;
    aligned_bytes read_;  ///< where what is lent has been read to, if it was not its place
    packed_pieces packed_;
    std::vector<std::shared_ptr<void>> loans_;  ///< of the step
    std::vector<std::uint32_t> lenders_;        ///< of what is being read
    std::uint64_t reads_ = 0;                   ///< begun, ever
    counter reads_done_;
};

}  // namespace selion::collectives
