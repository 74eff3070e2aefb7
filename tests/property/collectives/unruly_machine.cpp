// SPDX-License-Identifier: Apache-2.0
#include "property/collectives/unruly_machine.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "selion/detail/word_access.hpp"

namespace selion::collectives {
namespace {

constexpr std::uint32_t nobody = ~std::uint32_t{0};
/// A slow rank or message moves by chance once in so many turns that it could have.
constexpr std::uint32_t slowness = 200;

/// What goes wrong with a signal to this word, if it is the time for that.
fault fault_of(std::uint64_t word) {
    const auto rank = detail::rank_of(word);
    const std::uint64_t first = block_address(rank, offsetof(team_block, links));
    if (word < first || word >= first + sizeof(team_block{}.links)) return fault::none;
    switch ((word - first) % sizeof(link_end)) {
        case offsetof(link_end, letters_taken): return fault::early_credit;
        case offsetof(link_end, parcels_invited): return fault::early_invitation;
        default: return fault::none;
    }
}

}  // namespace

unruly_machine::unruly_machine(std::uint32_t ranks, std::uint64_t seed, fault seeded)
    : random_(seed),
      fault_(seeded),
      slow_messages_(1 + static_cast<std::uint32_t>(random_() % 10)),
      stride_lines_(runtime_bytes / sizeof(line) + 1),
      memory_(std::make_unique<line[]>(stride_lines_ * ranks)) {
    const bool has_slow_ranks = by_chance(2);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        rank_state& state = ranks_.emplace_back();
        state.is_slow = has_slow_ranks && by_chance(3);
        detail::rank_context& context = state.context;
        context.rank = rank;
        context.ranks = ranks;
        context.map_ranks(memory_[rank * stride_lines_].bytes, rank, 1,
                          stride_lines_ * sizeof(line));
        context.bypass_count = 1;
        context.sleepers = &sleepers_;
        context.transport = this;
        context.clock = this;
    }
}

std::byte* unruly_machine::address_of(std::uint64_t bits) const {
    return memory_[detail::rank_of(bits) * stride_lines_].bytes + (bits & detail::offset_mask);
}

const team_block& unruly_machine::block(std::uint32_t rank) const {
    return *reinterpret_cast<const team_block*>(address_of(block_address(rank, 0)));
}

bool unruly_machine::run(const std::function<void(detail::rank_context&, team_block&)>& body) {
    {
        std::vector<std::jthread> threads;
        const std::lock_guard lock(mutex_);
        running_ = nobody;
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
            threads.emplace_back([this, rank, &body] { run_rank(rank, body); });
        }
        choose_next();
    }
    return !is_stuck_;
}

void unruly_machine::run_rank(std::uint32_t rank,
                              const std::function<void(detail::rank_context&, team_block&)>& body) {
    rank_state& own = ranks_[rank];
    detail::rank_context* const outer = std::exchange(detail::current_context, &own.context);
    try {
        {
            std::unique_lock lock(mutex_);
            own.turn.wait(lock, [&] { return running_ == rank || is_stuck_; });
        }
        body(own.context, const_cast<team_block&>(block(rank)));
    } catch (const stuck&) {
    }
    detail::current_context = outer;
    const std::lock_guard lock(mutex_);
    own.has_ended = true;
    if (!is_stuck_) choose_next();
}

bool unruly_machine::can_run(const rank_state& rank) const {
    return !rank.has_ended &&
           (rank.word == nullptr || detail::word_load(*rank.word) >= rank.at_least);
}

void unruly_machine::choose_next() {
    while (true) {
        // Numbers of ranks, then of messages.
        std::vector<std::size_t> quick;
        std::vector<std::size_t> all;
        bool have_all_ended = true;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            have_all_ended &= ranks_[rank].has_ended;
            if (!can_run(ranks_[rank])) continue;
            all.push_back(rank);
            if (!ranks_[rank].is_slow) quick.push_back(rank);
        }
        for (std::size_t i = 0; i < on_the_way_.size(); ++i) {
            all.push_back(ranks_.size() + i);
            if (!on_the_way_[i].is_slow) quick.push_back(ranks_.size() + i);
        }
        if (all.empty()) {
            is_stuck_ = !have_all_ended;
            for (rank_state& rank : ranks_) rank.turn.notify_one();
            return;
        }
        const std::vector<std::size_t>& among = quick.empty() || by_chance(slowness) ? all : quick;
        const std::size_t chosen = among[random_() % among.size()];
        if (chosen < ranks_.size()) {
            running_ = static_cast<std::uint32_t>(chosen);
            ranks_[chosen].turn.notify_one();
            return;
        }
        deliver(chosen - ranks_.size());
    }
}

void unruly_machine::deliver(std::size_t number) {
    message now = std::move(on_the_way_[number]);
    on_the_way_[number] = std::move(on_the_way_.back());
    on_the_way_.pop_back();
    if (!now.data.empty()) {
        std::memcpy(address_of(now.target), now.data.data(), now.data.size());
    }
    if (now.word == nullptr) return;
    std::atomic_ref value(now.word->value);
    value.store(now.update.amount + (now.update.adds ? value.load() : 0));
}

/// Gives the turn away and waits for the next one.
void unruly_machine::let_others(std::unique_lock<std::mutex>& lock, std::uint32_t rank) {
    running_ = nobody;
    choose_next();
    ranks_[rank].turn.wait(lock, [&] { return running_ == rank || is_stuck_; });
    if (is_stuck_) throw stuck();
}

void unruly_machine::put(detail::rank_context& context, const detail::put_request& request) {
    std::unique_lock lock(mutex_);
    ++messages_;
    const auto* start = static_cast<const std::byte*>(request.source);
    message sent{request.target,
                 {start, start + request.bytes},
                 request.signal == detail::null_address
                     ? nullptr
                     : reinterpret_cast<detail::shared_word*>(address_of(request.signal)),
                 request.update,
                 by_chance(slow_messages_)};
    if (fault_ != fault::none && fault_of(request.signal) == fault_) ++sent.update.amount;
    if (fault_ == fault::torn_message && request.bytes != 0) {
        on_the_way_.push_back({0, {}, std::exchange(sent.word, nullptr), sent.update, false});
    }
    on_the_way_.push_back(std::move(sent));
    let_others(lock, context.rank);
}

bool unruly_machine::wait(detail::rank_context& context, const machine::wait_request& request) {
    std::unique_lock lock(mutex_);
    rank_state& own = ranks_[context.rank];
    own.word = &request.word;
    own.at_least = request.at_least;
    let_others(lock, context.rank);
    own.word = nullptr;
    return true;
}

void unruly_machine::get(detail::rank_context& context, void* target, std::uint64_t source,
                         std::size_t bytes) {
    std::unique_lock lock(mutex_);
    ++gets_;
    let_others(lock, context.rank);
    std::memcpy(target, address_of(source), bytes);
}

std::uint64_t unruly_machine::atomic(detail::rank_context&, const detail::atomic_request&) {
    std::abort();  // nothing under test uses them
}

// Nothing under test uses these.
void unruly_machine::start_get(detail::rank_context&, const detail::get_request&) { std::abort(); }
void unruly_machine::start_atomic(detail::rank_context&, const detail::atomic_request&,
                                  const detail::atomic_answer&) {
    std::abort();
}
void unruly_machine::send(detail::rank_context&, const machine::message_request&) { std::abort(); }
void unruly_machine::quiet(detail::rank_context& context, std::uint32_t) { quiet(context); }

void unruly_machine::quiet(detail::rank_context& context) {
    std::unique_lock lock(mutex_);
    while (!on_the_way_.empty()) deliver(random_() % on_the_way_.size());
    let_others(lock, context.rank);
}

}  // namespace selion::collectives
