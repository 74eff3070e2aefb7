// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/binomial_tree.hpp"
#include "collectives/call_shape.hpp"
#include "collectives/team_block.hpp"
#include "collectives/tuning/schedule_clock.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// KiB that pass through members' hands in a collective, where all see what the others show.
struct volumes {
    double given = 0;     ///< shown by a member that gives
    double got = 0;       ///< copied by a member that gets
    double combined = 0;  ///< or combined
    bool one_gives = false;
    bool one_gets = false;
};

volumes volumes_of(const block_shape& block, double members) {
    const double one = static_cast<double>(block.bytes) / 1024;
    const double all = one * members;
    switch (block.what) {
        case barrier: return {};
        case broadcast: return {.given = one, .got = one, .one_gives = true};
        case reduce: return {.given = one, .combined = all, .one_gets = true};
        case all_reduce:
        case scan:
        case exscan: return {.given = one, .combined = all};
        case reduce_scatter: return {.given = all, .combined = all};
        case gather: return {.given = one, .got = all, .one_gets = true};
        case all_gather: return {.given = one, .got = all};
        case scatter: return {.given = all, .got = one, .one_gives = true};
        case exchange: break;
    }
    return {.given = all, .got = all};
}

/// Whether everybody takes whole blocks from who gives them, which the kernel can copy for it.
bool is_taken_in_blocks(collective_kind what) {
    return what == gather || what == all_gather || what == scatter || what == exchange;
}

/// One prediction.
class prediction {
public:
    prediction(const host_costs& host, const team_shape& team, const block_shape& block)
        : host_(host),
          team_(team),
          block_(block),
          members_(team.members),
          crosses_processes_(!team.is_one_process && is_taken_in_blocks(block.what)),
          one_combines_(team.share_processors && block.what == all_reduce &&
                        block.bytes <= group_result_bytes),
          beside_((team.members + team.processors - 1) / team.processors),
          volumes_(volumes_of(block, members_)) {}

    /// Members that nobody waits for run ahead, up to as many calls as there are lines.
    double of_board() const {
        constexpr double run_ahead = 4;
        const bool all_wait = !volumes_.one_gets && !is_prefix(block_.what);
        return shown_ns() + signal_ns() + turns_ns(all_wait ? 1 : 1 / run_ahead);
    }

    double of_slots(std::size_t most_part) const {
        const std::size_t room =
            slot_bytes / (gives_all(block_.what) ? static_cast<std::size_t>(members_) : 1);
        const std::size_t part = most_part == 0 ? room : std::min(room, most_part);
        const double parts =
            std::max(1.0, std::ceil(static_cast<double>(block_.bytes) / static_cast<double>(part)));
        const double shown = block_.what == barrier ? 0 : shown_ns(one_combines_);
        return parts * (meeting_ns() + shown) + given_ns() +
               (has_shares(part) ? shared_ns() : all_got_ns(one_combines_));
    }

    double of_direct() const {
        const double announced = shown_ns() + signal_ns() + turns_ns(1);
        const double met = announced + meeting_ns();
        if (block_.what == gather) return met + all_written_ns();
        if (crosses_processes_) return met + all_read_ns();
        if (block_.what == reduce) return met + shares_ns(1 / members_);  // written to the root's
        if (block_.what != all_reduce) return met + all_got_ns() / (is_got_by_both() ? 2 : 1);
        // Where results are written to all, nobody meets before it reads them.
        return met + (team_.is_one_process ? shares_ns(1) : shared_ns());
    }

    /// Within each node a meeting and a release; between nodes a message a round, and rounds for
    /// every part of long data, of which several are under way.
    double of_nodes() const {
        const node_map& nodes = *team_.nodes;
        const double others = nodes.most() - 1;
        const double rounds = std::ceil(std::log2(static_cast<double>(nodes.nodes())));
        const double kib = static_cast<double>(block_.bytes) / 1024;
        const double part = std::min(kib, static_cast<double>(slot_bytes) / 1024);
        const double hop = 2 * host_.message + host_.way + part * host_.carry;
        const double shown = others == 0 ? 0 : host_.signal + host_.line + part * host_.copy;
        const double met = others * host_.arrival + signal_ns();
        if (block_.what == barrier) return met + rounds * hop + shown;
        if (block_.what == all_reduce) {
            const double combined = host_.line + kib * host_.combine;
            return met + others * combined + rounds * (hop + kib * host_.combine) + shown;
        }
        const double parts = part == 0 ? 1 : std::ceil(kib / part);
        return tree_ns(0, 0, part * host_.carry) + shown + (parts - 1) * std::max(hop, shown);
    }

private:
    /// Until all nodes below a place of the binomial tree of nodes have what comes to it at a time:
    /// it sends to one after the other, to the largest subtree first.
    double tree_ns(std::uint32_t place, double begin, double carried) const {
        const std::uint32_t nodes = team_.nodes->nodes();
        double now = begin;
        double last = begin;
        for (std::uint32_t level = binomial_tree::child_levels(place, nodes); level-- > 0;) {
            now += host_.message + carried / 2;
            const double arrives = now + host_.way + carried / 2 + host_.message;
            last = std::max(last, tree_ns(place + (1u << level), arrives, carried));
        }
        return std::max(now, last);
    }
    /// Of a broadcast between two, who see each other's memory, each copies half.
    bool is_got_by_both() const {
        return block_.what == broadcast && members_ == 2 && team_.is_one_process;
    }
    double signal_ns() const { return members_ > 1 ? host_.signal : 0; }
    /// Every member waits so many times, and lets those beside it run.
    double turns_ns(double waits) const { return beside_ > 1 ? waits * beside_ * host_.turn : 0; }
    /// Lines that are written and read, by the members of a processor.
    double shown_ns(bool one_reads = false) const {
        const double reads = volumes_.one_gives ? 1 : members_ - 1;
        const double readers = volumes_.one_gets || one_reads ? 1 : beside_;
        return (volumes_.one_gives ? 1 : beside_) * host_.line + readers * reads * host_.line;
    }
    double meeting_ns() const { return members_ * host_.arrival + signal_ns() + turns_ns(1); }
    double got_ns() const { return volumes_.got * host_.copy + volumes_.combined * host_.combine; }
    /// Of the members on a processor that take longest.
    double given_ns() const {
        return (volumes_.one_gives ? 1 : beside_) * volumes_.given * host_.copy / 2;
    }
    double all_got_ns(bool one_reads = false) const {
        return (volumes_.one_gets || one_reads ? 1 : beside_) * got_ns();
    }
    /// The same where each block is read by a call to the kernel.
    double all_read_ns() const { return calls_ns() + beside_ * volumes_.got * host_.read; }
    /// Everybody writes its block.
    double all_written_ns() const {
        if (!crosses_processes_) return beside_ * volumes_.given * host_.copy;
        return calls_ns() + beside_ * volumes_.given * host_.read;
    }
    /// Where all want the memory of one member, the kernel serves them one after the other.
    double calls_ns() const {
        const bool is_of_one = volumes_.one_gives || volumes_.one_gets;
        return (is_of_one ? 1 : beside_) * (members_ - 1) * host_.call;
    }
    bool has_shares(std::size_t part) const {
        const double bytes = static_cast<double>(std::min(block_.bytes, part)) * members_;
        return block_.what == all_reduce && bytes >= static_cast<double>(share_bytes);
    }
    /// Each combines its share of all vectors. Where processors are shared, a piece that lies on
    /// another one has been left there by its writer's neighbours, too.
    /// @param copied how much of a vector's length each copies
    double shares_ns(double copied) const {
        const double pieces = 2 * members_;
        const double piece = host_.line + (beside_ > 1 ? host_.signal / 3 : 0);
        return beside_ * (pieces * piece + volumes_.given * (host_.combine + copied * host_.copy));
    }
    /// Of an all-reduce: then all meet, and copy the rest.
    double shared_ns() const { return shares_ns(1) + meeting_ns(); }

    const host_costs& host_;
    const team_shape& team_;
    const block_shape& block_;
    double members_;
    bool crosses_processes_;  ///< blocks that are read where they lie
    bool one_combines_;       ///< for all members of a processor
    double beside_;           ///< members that share a processor
    volumes volumes_;
};

}  // namespace

/// Fitted on what `selion tune` has measured on an Intel Xeon with 16 and an AMD EPYC with 2
/// processors of virtual machines, with 2 to 16 ranks; those of `hybrid` on an Intel Xeon with 2:
/// docs/howto/tune-collectives.md.
const host_costs& built_in_costs(std::string_view machine) {
    static constexpr host_costs threads{.signal = 117,
                                        .line = 36,
                                        .arrival = 57,
                                        .copy = 119,
                                        .combine = 31,
                                        .lend = 18,
                                        .turn = 675};
    static constexpr host_costs fibers{.signal = 140,
                                       .line = 13,
                                       .arrival = 33,
                                       .copy = 64,
                                       .combine = 33,
                                       .lend = 47,
                                       .turn = 44};
    static constexpr host_costs processes{.signal = 87,
                                          .line = 70,
                                          .arrival = 75,
                                          .copy = 76,
                                          .combine = 43,
                                          .lend = 133,
                                          .turn = 650,
                                          .call = 1000,
                                          .read = 64};
    static constexpr host_costs hybrid{.signal = 152,
                                       .line = 23,
                                       .arrival = 31,
                                       .copy = 76,
                                       .combine = 34,
                                       .lend = 30,
                                       .turn = 57,
                                       .call = 900,
                                       .read = 55};
    // Within a host, processes. Between hosts: TCP over the loopback of one of them.
    static constexpr host_costs fabric = [] {
        host_costs made = processes;
        made.message = 2000;
        made.way = 4000;
        made.carry = 500;
        return made;
    }();
    if (machine == "fibers") return fibers;
    if (machine == "processes") return processes;
    if (machine == "fabric") return fabric;
    return machine == "hybrid" ? hybrid : threads;
}

double predicted_ns(const host_costs& host, const team_shape& team, const block_shape& block,
                    const collective_choice& choice) {
    const prediction all_see_all(host, team, block);
    switch (choice.way) {
        case collective_way::board: return all_see_all.of_board();
        case collective_way::slots: return all_see_all.of_slots(choice.part_bytes);
        case collective_way::direct: return all_see_all.of_direct();
        case collective_way::nodes: return all_see_all.of_nodes();
        default: return schedule_clock(host, team, block, choice.schedule).run();
    }
}

}  // namespace selion::collectives
