// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "machine/sim/simulation.hpp"

/// Ranks of one process of a simulated node: they address each other's memory, and each access
/// takes the time of the cache line that it needs.
namespace selion::machine::sim {

void simulation::share_memory(detail::rank_context& context) {
    const std::uint32_t first = context.rank / ranks_per_process_ * ranks_per_process_;
    context.simulated = this;
    context.map_ranks(segments_.slice(first), first,
                      std::min(ranks_per_process_, model_.ranks - first), segments_.stride_bytes());
    context.words_mapped = context.mapped_count == model_.ranks;
}

bool simulation::shares_memory(std::uint32_t left, std::uint32_t right) const {
    return !nodes_.empty() && left / ranks_per_process_ == right / ranks_per_process_;
}

/// Without a node each rank is one.
std::uint32_t simulation::place_of(std::uint32_t rank, locality where) {
    if (nodes_.empty()) return where == locality::process ? 0 : rank;
    const std::uint32_t node = rank / ranks_per_node_;
    const thread_place place = node_of(rank).place_of(thread_of(rank));
    switch (where) {
        case locality::process: return rank / ranks_per_process_;
        case locality::cache: return node * model_.node->sockets * model_.node->cores + place.cache;
        case locality::socket: return node * model_.node->sockets + place.socket;
        case locality::node: break;
    }
    return node;
}

/// An address as caches see it. The kernel gives the stack on which a program starts another start
/// within a line in each run; its lines are counted from a place that is the same in all of them.
std::uintptr_t simulation::line_place(const void* place) const {
    constexpr std::uintptr_t stack_bytes = std::uintptr_t{8} << 20;
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    const bool is_on_stack = address - stack_mark_ < stack_bytes;
    return is_on_stack ? address - stack_mark_ % model_.node->line_bytes : address;
}

/// Lets the rank have a line. What it then does to the line happens at that moment.
void simulation::spend_access(rank_state& rank, const void* place, access_kind kind) {
    catch_up();
    const std::uint32_t number = rank.context.rank;
    ticks& now = time_of(rank);
    const ticks begun = now;
    now = node_of(number).access(thread_of(number), line_place(place), kind, now);
    now += perturbation_.explored_lateness(now - begun);
    check_time(rank, now);
    catch_up();
}

std::uint64_t simulation::load(detail::rank_context& context, const detail::shared_word& word) {
    spend_access(ranks_[context.rank], &word, access_kind::read);
    return word.value;
}

void simulation::store(detail::rank_context& context, detail::shared_word& word,
                       std::uint64_t value) {
    spend_access(ranks_[context.rank], &word, access_kind::write);
    change_word(word, {value, false});
}

std::uint64_t simulation::add(detail::rank_context& context, detail::shared_word& word,
                              std::uint64_t amount) {
    spend_access(ranks_[context.rank], &word, access_kind::atomic);
    const std::uint64_t before = word.value;
    change_word(word, {amount, true});
    return before;
}

void simulation::touch(detail::rank_context& context, const void* place, std::size_t bytes,
                       bool writes) {
    catch_up();
    if (bytes == 0) return;
    rank_state& rank = ranks_[context.rank];
    node_memory& node = node_of(context.rank);
    const std::uint32_t thread = thread_of(context.rank);
    ticks& now = time_of(rank);
    line_range range = node.range_of(line_place(place), bytes,
                                     writes ? access_kind::write : access_kind::read, now);
    while (true) {
        node.stream(thread, range, later(range.asked, longest_part_));
        if (range.is_over()) break;
        // Others come before the lines that this rank will ask for later, and may take it time.
        now = range.asked;
        catch_up();
        range.begun += now - range.asked;
        range.asked = now;
        check_time(rank, now);
    }
    now = std::max(now, range.done);
    check_time(rank, now);
}

/// Data and signal of a rank's own process.
void simulation::put_locally(rank_state& rank, const detail::put_request& request) {
    if (request.bytes != 0) {
        std::byte* const address = address_of(request.target);
        if (!nodes_.empty()) touch(rank.context, address, request.bytes, true);
        catch_up();
        std::memcpy(address, request.source, request.bytes);
    }
    auto& word = *reinterpret_cast<detail::shared_word*>(address_of(request.signal));
    if (nodes_.empty()) {
        catch_up();
    } else {
        spend_access(rank, &word, request.update.adds ? access_kind::atomic : access_kind::write);
    }
    change_word(word, request.update);
    note_signal(rank, request.signal);
}

}  // namespace selion::machine::sim
