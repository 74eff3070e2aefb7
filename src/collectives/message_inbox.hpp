// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "collectives/aligned_bytes.hpp"
#include "collectives/team_block.hpp"
#include "machine/machine.hpp"
#include "selion/detail/message_function.hpp"
#include "selion/detail/shared_word.hpp"

namespace selion::collectives {

/// Which collective: its team, and its number there.
struct collective_name {
    std::uint64_t team;  ///< see `team_members::name`
    std::uint64_t number;
    auto operator<=>(const collective_name&) const = default;
};

/// Of names of teams: none is that of a team, but of a set of dead ranks, under which those who
/// live look for each other.
inline constexpr std::uint64_t is_roll_call = std::uint64_t{1} << 63;

/// Which message of a collective. A rank's messages to another within one collective come in the
/// order in which they were sent.
struct message_name {
    collective_name collective;
    std::uint32_t sender;  ///< its rank in the world
    auto operator<=>(const message_name&) const = default;
};

/// One rank's messages of collectives, until it takes them. Handlers of any of its threads add, the
/// rank's collectives take, one thread at a time. Those that block and those that are started have
/// an inbox each.
class message_inbox {
public:
    message_inbox() = default;
    ~message_inbox();
    message_inbox(const message_inbox&) = delete;
    message_inbox& operator=(const message_inbox&) = delete;

    /// Sends a message of the caller's rank to a rank's inbox, in as many parts as the machine
    /// needs. May wait for room, and serves others meanwhile. On return the data may be reused.
    /// @param target rank in the world.
    static void send(std::uint32_t target, const collective_name& collective,
                     std::span<const std::byte> data);
    /// The same to an inbox that `handler` adds the parts to. @param call comes with each of them.
    /// @param sent_bytes 0 at first; after an error, how many have been sent: the next call goes
    /// on.
    static void send(std::uint32_t target, const collective_name& collective,
                     std::span<const std::byte> data, const call_signature& call,
                     detail::message_function handler, std::size_t& sent_bytes);
    /// Sends a message whose data the target reads where they lie (`transport::read_loan`); it then
    /// calls `return_loan`.
    static void send_loan(std::uint32_t target, const collective_name& collective,
                          std::uint64_t key, std::size_t bytes);
    static void return_loan(std::uint32_t lender);
    /// Waits until all that the rank has lent has been returned.
    void await_loans(detail::rank_context& context);

    /// By such a handler, on any thread that serves the rank's messages.
    void add(const detail::incoming_message& from);

    struct message {
        std::size_t bytes;    ///< of all
        std::size_t arrived;  ///< of those
        aligned_bytes data;
        call_signature call;     ///< if the sender has said so
        std::uint64_t loan = 0;  ///< key of what the sender has lent; 0: the data are here
        bool is_complete() const { return arrived == bytes; }
    };
    /// Waits for the next message of a name.
    message take(detail::rank_context& context, const message_name& name);
    /// The same; nothing as soon as it is found to be vain, which is asked when `changes` grows.
    std::optional<message> take_unless(const message_name& name,
                                       const std::function<bool()>& is_vain,
                                       detail::shared_word& changes);

    /// Takes in what handlers have added.
    void sort_in();
    /// The same. @param come appends the names of what has come.
    void sort_in(std::vector<collective_name>& come);
    /// Whether the next message of a name is there, after a look at what has been added.
    bool has(const message_name& name) {
        sort_in();
        return complete(name) != 0;
    }
    /// Messages of a name that are there and have no unfinished one before them.
    std::size_t complete(const message_name& name) const;
    /// The next message of a name. @pre it is there.
    message pop(const message_name& name);
    /// The next messages of a collective, one for each sender that has any.
    struct come_message {
        std::uint32_t sender;
        call_signature call;
    };
    std::vector<come_message> next_of(const collective_name& name) const;
    /// Throws away all messages of a collective.
    void drop(const collective_name& name);
    /// Those of all collectives of a team that the rank has left: nobody takes them any more.
    void drop_team(std::uint64_t team);
    /// Names of all messages that are there, in rising order.
    std::vector<collective_name> names() const;

private:
    /// What travels beside the data of a part.
    struct part_header {
        collective_name collective;
        std::uint64_t message_bytes;
        std::uint64_t part_start;
        call_signature call;  ///< not sent where it is not asked for
    };
    static_assert(sizeof(part_header) <= detail::most_argument_bytes);
    static void send_parts(std::uint32_t target, part_header header, std::size_t header_bytes,
                           std::span<const std::byte> data, detail::message_function handler,
                           std::size_t& sent_bytes);
    /// The same of a message whose data are lent.
    struct loan_header {
        collective_name collective;
        std::uint64_t message_bytes;
        std::uint64_t key;
    };
    static_assert(sizeof(loan_header) <= detail::most_argument_bytes);
    struct part {
        message_name name;
        std::size_t message_bytes;
        std::size_t start;
        std::size_t bytes;
        aligned_bytes data;  ///< none where they are lent
        call_signature call;
        std::uint64_t loan = 0;
        part* next = nullptr;
    };

    static void receive(detail::incoming_message& here);
    static void receive_loan(detail::incoming_message& here);
    static void receive_return(detail::incoming_message& here);
    static message_inbox& of_handler(std::uint32_t origin);
    void add(part& come);
    static void note_call(detail::rank_context& context, const part& come);
    template <class Each>
    void take_added(const Each& each);
    void add_to_messages(part& come);

    std::atomic<part*> added_ = nullptr;                    ///< the last one first
    detail::shared_word arrived_{};                         ///< parts, ever
    std::uint64_t sorted_ = 0;                              ///< of those
    detail::shared_word returned_{};                        ///< loans, ever
    std::uint64_t lent_ = 0;                                ///< likewise
    std::map<message_name, std::deque<message>> messages_;  ///< sorted in, in order
};

}  // namespace selion::collectives
