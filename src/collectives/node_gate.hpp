// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "collectives/nodes_protocol.hpp"
#include "collectives/team_members.hpp"
#include "machine/machine.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::collectives {

/// How the members of a node wait for the first of them, which leads it, and for whoever has
/// something for all of them. See nodes.md.
class node_gate {
public:
    node_gate(detail::rank_context& context, const team_members& members)
        : context_(context), members_(members) {
        find_place();
    }
    /// Once more, when the members' nodes have become known. @pre nothing has been done here yet.
    void find_place() {
        if (!members_.has_levels()) return;
        const std::uint32_t node = members_.nodes().node_of(members_.own());
        leader_ = members_.nodes().first_of(node);
        own_.others = members_.nodes().size_of(node) - 1;
    }

    bool leads() const { return members_.own() == leader_; }
    std::uint32_t leader() const { return leader_; }
    /// Members of the node beside one of them.
    std::uint32_t others() const { return own_.others; }

    void arrive() {
        words memory{*this};
        nodes_protocol::arrive(memory, own_);
    }
    void await_arrivals(machine::wait_reason reason) {
        words memory{*this, reason};
        nodes_protocol::await_arrivals(memory, own_);
    }
    /// Of the leader: whether `await_arrivals` would not wait.
    bool have_arrived() const {
        return detail::word_load(members_.block(leader_).group_arrivals.word) >=
               own_.arrivals + own_.others;
    }
    void release() { words{*this}.release(++own_.releases); }
    void await_release(machine::wait_reason reason) {
        words{*this, reason}.await_release(++own_.releases);
    }

    template <class Fill>
    void show(const Fill& fill) {
        words memory{*this};
        if (own_.others != 0) nodes_protocol::show(memory, own_, fill);
    }
    template <class Read>
    void take(std::uint32_t from, const Read& read) {
        words memory{*this};
        nodes_protocol::take(memory, own_, from, read);
    }
    void await_takers() {
        words memory{*this};
        nodes_protocol::await_takers(memory, own_);
    }

private:
    /// Where the protocol's words are: counts of the node in the leader's block, those of a shelf
    /// in its owner's.
    struct words {
        node_gate& gate;
        machine::wait_reason reason = machine::wait_reason::collective;

        team_block& leader() const { return gate.members_.block(gate.leader_); }
        void await(detail::shared_word& word, std::uint64_t at_least) const {
            detail::await_word(gate.context_, {word, at_least, reason});
        }
        void add(detail::shared_word& word, bool (*is_last)(std::uint64_t, std::uint64_t),
                 std::uint64_t of) const {
            const std::uint64_t now = detail::word_add_quietly(word, 1) + 1;
            if (is_last(now, of)) detail::word_changed(gate.context_, word);
        }
        void add_arrival(std::uint64_t all) const {
            add(leader().group_arrivals.word, [](auto now, auto goal) { return now == goal; }, all);
        }
        void await_arrivals(std::uint64_t all) const { await(leader().group_arrivals.word, all); }
        void release(std::uint64_t number) const {
            detail::word_store(gate.context_, leader().group_release.word, number);
        }
        void await_release(std::uint64_t number) const {
            await(leader().group_release.word, number);
        }
        /// Whoever waits does so for a multiple of the others.
        void add_taken(std::uint32_t from, std::uint64_t shelf) const {
            add(
                gate.members_.block(from).taken[shelf].word,
                [](auto now, auto others) { return now % others == 0; }, gate.own_.others);
        }
        void await_taken(std::uint64_t shelf, std::uint64_t all) const {
            await(gate.members_.block(gate.members_.own()).taken[shelf].word, all);
        }
    };

    detail::rank_context& context_;
    const team_members& members_;
    std::uint32_t leader_ = 0;
    nodes_protocol::progress own_;
};

}  // namespace selion::collectives
