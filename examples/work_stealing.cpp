// SPDX-License-Identifier: Apache-2.0
//
// Counts the nodes of a tree that nobody knows before: some branches end at once, others are huge.
// Each rank searches what it has; a rank that has nothing left takes from one that has. After
// S. Olivier and others, "UTS: an unbalanced tree search benchmark" (LCPC 2006).
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <selion/selion.hpp>

#include "command_line.hpp"
#include "printed.hpp"
#include "random_numbers.hpp"

namespace {

struct settings {
    std::uint32_t seed = 1;
    std::uint32_t width = 1000;
    std::uint32_t work = 50;
};

/// The shape of the tree below a node is a function of its bits.
struct node {
    std::uint64_t bits = 0;
    std::uint64_t depth = 0;
};

/// What one found, added up in any order.
struct findings {
    std::uint64_t nodes = 0;
    std::uint64_t deepest = 0;
    std::uint64_t checksum = 0;

    void add(const node& found) {
        ++nodes;
        deepest = std::max(deepest, found.depth);
        checksum += examples::scatter(found.bits + found.depth);
    }
};

/// The root has many children. Another node has four with a probability of just below a quarter,
/// else none: so each subtree ends some day, but nobody can tell when.
void append_children(const node& parent, const settings& chosen, std::vector<node>& children) {
    constexpr double share_with_children = 0.248;
    std::uint32_t count = 4;
    if (parent.depth == 0) {
        count = chosen.width;
    } else if (static_cast<double>(parent.bits >> 11) * 0x1p-53 >= share_with_children) {
        count = 0;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        std::uint64_t bits = examples::random_bits(parent.bits + i);
        for (std::uint32_t round = 0; round < chosen.work; ++round) bits = examples::scatter(bits);
        children.push_back({bits, parent.depth + 1});
    }
    selion::charge(selion::int_ops(6) * (std::uint64_t{count} * (chosen.work + 1)));
}

node root_of(const settings& chosen) { return {examples::random_bits(chosen.seed), 0}; }

/// As much as travels in one answer.
struct loot {
    std::uint32_t count = 0;
    std::array<node, 16> nodes = {};
};

/// The nodes that a rank has still to visit. Its owner takes the newest, which keeps it small;
/// thieves get the oldest, below which most is to be expected. Where a thread of its own serves
/// messages, a thief's call runs beside the owner's code: hence the lock. Nobody waits for anything
/// while holding it.
class node_store {
public:
    void add(std::span<const node> more) {
        const std::scoped_lock hold(lock_);
        nodes_.insert(nodes_.end(), more.begin(), more.end());
    }
    std::optional<node> take_newest() {
        const std::scoped_lock hold(lock_);
        if (nodes_.empty()) return std::nullopt;
        const node newest = nodes_.back();
        nodes_.pop_back();
        return newest;
    }
    loot give_half() {
        const std::scoped_lock hold(lock_);
        loot given;
        const std::size_t half = std::min(nodes_.size() / 2, given.nodes.size());
        for (; given.count < half; ++given.count) {
            given.nodes[given.count] = nodes_.front();
            nodes_.pop_front();
        }
        return given;
    }
    std::size_t size() {
        const std::scoped_lock hold(lock_);
        return nodes_.size();
    }

private:
    std::mutex lock_;
    std::deque<node> nodes_;
};

/// What others see of a rank.
struct alignas(64) desk {
    node_store* store;       ///< of use to its own rank only: calls that come find it here
    std::uint64_t on_offer;  ///< how many nodes it had a moment ago
    selion::signal finished;
};

loot steal_here(selion::global_ptr<desk> at) { return at.local()->store->give_half(); }

/// One rank's part of the search.
///
/// When is it over? A rank counts as busy while it has nodes, and also while it tries to steal: it
/// counts itself before it asks. So when the number of the busy falls to 0, nobody has a node and
/// none is on its way; and from then on nobody can get one. Whoever lets it fall to 0 tells all.
class searcher {
public:
    /// Collective.
    searcher(const selion::world& world, const settings& chosen)
        : world_(&world),
          chosen_(chosen),
          desks_(selion::allocate<desk>(world, 1)),
          busy_(selion::allocate<std::int64_t>(world, 1).on(0)) {
        desks_.local()->store = &store_;
        if (world.rank() == 0) {
            *busy_.local() = world.size();
            const node root = root_of(chosen);
            store_.add(std::span(&root, 1));
        }
        world.barrier();
    }
    /// Collective.
    void release() {
        selion::deallocate(*world_, busy_.on(world_->rank()));
        selion::deallocate(*world_, desks_);
    }

    void search() {
        do {
            visit_own();
        } while (find_more());
    }
    const findings& found() const { return found_; }
    std::uint64_t steals() const { return steals_; }

private:
    void visit_own() {
        std::vector<node> children;
        while (const auto next = store_.take_newest()) {
            found_.add(*next);
            children.clear();
            append_children(*next, chosen_, children);
            store_.add(children);
            // Thieves look here before they ask, so that nobody is disturbed for nothing; and they
            // are answered when this rank looks after its messages.
            selion::atomic_put(desks_.member(&desk::on_offer), store_.size());
            if (found_.nodes % 16 == 0) selion::progress();
        }
    }

    /// @return false when the search is over.
    bool find_more() {
        using namespace std::chrono_literals;
        stop_being_busy();
        // The pauses let others run where they share a core, and grow while nothing is found.
        for (auto pause = 2us; !selion::wait_until(desks_.member(&desk::finished), 1, pause);
             pause = std::min(2 * pause, 100us)) {
            if (try_to_steal()) return true;
        }
        return false;
    }

    bool try_to_steal() {
        const std::uint32_t others = world_->size() - 1;
        if (others == 0) return false;
        const auto distance = 1 + examples::random_bits(attempts_++) % others;
        const selion::rank_id victim = (world_->rank() + distance) % world_->size();
        const auto place = desks_.on(victim);
        if (selion::atomic_get(place.member(&desk::on_offer)) < 2) return false;
        selion::fetch_add(busy_, 1);
        const loot taken = selion::rpc(victim, steal_here, place).get();
        if (taken.count == 0) {
            stop_being_busy();
            return false;
        }
        store_.add(std::span(taken.nodes).first(taken.count));
        ++steals_;
        return true;
    }

    void stop_being_busy() {
        if (selion::fetch_add(busy_, -1) != 1) return;
        for (std::uint32_t rank = 0; rank < world_->size(); ++rank) {
            selion::notify(desks_.on(rank).member(&desk::finished), selion::signal_set(1));
        }
    }

    const selion::world* world_;
    settings chosen_;
    selion::global_ptr<desk> desks_;
    selion::global_ptr<std::int64_t> busy_;  ///< rank 0's
    node_store store_;
    findings found_;
    std::uint64_t steals_ = 0;
    std::uint64_t attempts_ = 0;
};

findings search_sequentially(const settings& chosen) {
    findings found;
    std::vector<node> left{root_of(chosen)};
    while (!left.empty()) {
        const node next = left.back();
        left.pop_back();
        found.add(next);
        append_children(next, chosen, left);
    }
    return found;
}

/// What rank 0 says of the result. @return the exit status.
int report(const findings& found, const settings& chosen) {
    const findings expected = search_sequentially(chosen);
    if (found.nodes != expected.nodes || found.deepest != expected.deepest ||
        found.checksum != expected.checksum) {
        std::fprintf(stderr,
                     "work_stealing: %" PRIu64 " nodes down to depth %" PRIu64
                     "; sequentially %" PRIu64 " down to %" PRIu64 "\n",
                     found.nodes, found.deepest, expected.nodes, expected.deepest);
        return 1;
    }
    std::printf("%" PRIu64 " nodes, the deepest at %" PRIu64 ": equal to the sequential search\n",
                found.nodes, found.deepest);
    return 0;
}

int work(selion::world& world, const settings& chosen) {
    searcher own(world, chosen);
    own.search();
    // A thief that came too late may still ask: this rank answers in these calls.
    const findings all{world.all_reduce(own.found().nodes, selion::plus),
                       world.all_reduce(own.found().deepest, selion::maximum),
                       world.all_reduce(own.found().checksum, selion::plus)};
    const auto least = world.all_reduce(own.found().nodes, selion::minimum);
    const auto most = world.all_reduce(own.found().nodes, selion::maximum);
    const auto steals = world.all_reduce(own.steals(), selion::plus);
    int status = 0;
    if (world.rank() == 0) {
        status = report(all, chosen);
        std::printf("%u ranks visited %" PRIu64 " to %" PRIu64 " of them, after %" PRIu64
                    " thefts\n",
                    world.size(), least, most, steals);
        status = examples::printed("work_stealing", status);
    }
    own.release();
    return status;
}

constexpr const char* help = R"(work_stealing: counts the nodes of an unbalanced tree

  --seed N    which tree [1]
  --width N   children of the root [1000]
  --work N    rounds of computation for each node [50]
  --help      print this

The count is compared with a sequential one. SELION_MACHINE chooses where it runs. Exit status: 0,
1 if the count is wrong, 2 for an argument or an output that cannot be used.
)";

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    examples::command_line line("work_stealing", help);
    line.number<std::uint32_t>("--seed", chosen.seed, 0, 4'294'967'295);
    line.number<std::uint32_t>("--width", chosen.width, 1, 1'000'000);
    line.number<std::uint32_t>("--work", chosen.work, 0, 1'000'000);
    if (const auto status = line.read(argc, argv)) return *status;
    return selion::run(argc, argv, [&](selion::world& world) { return work(world, chosen); });
}
