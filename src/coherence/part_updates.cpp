// SPDX-License-Identifier: Apache-2.0
/// Where others get what a rank has written: how changed bytes are found, sent and taken in.
#include <utility>

#include "coherence/at_once.hpp"
#include "coherence/change_batches.hpp"
#include "coherence/coherent_part.hpp"
#include "onesided/waiting.hpp"
#include "selion/charge.hpp"
#include "selion/detail/global_address.hpp"

namespace selion::coherence {
namespace {

/// What `taken` tells, in the place of a block: how many have been told of a batch, and its number.
constexpr unsigned count_shift = 32;

}  // namespace

/// What the block holds is remembered, to find what has been changed.
void coherent_part::begin_write(std::uint64_t block, const std::byte* here) {
    if (!written_ || written_->is_open(block)) return;
    charge(copied(block_bytes_));
    written_->open(block, here);
}

/// A byte that is written twice, at last to what it was, is no change: others must not have seen
/// what it was in between.
const std::byte* coherent_part::released_memory_of(std::uint64_t block) {
    const std::byte* const before = written_ ? written_->before(block) : nullptr;
    return before != nullptr ? before : memory_of(block);
}

/// Those who are to know the changes of an open block, which is open no more.
void coherent_part::close(std::uint64_t block, const std::byte* here, change_batches& to) {
    charge(copied(block_bytes_));
    forget(block);
    if (!is_own(block)) {
        const std::vector<std::byte> changes = written_->close(block, here, round_);
        if (!changes.empty()) to.add(detail::rank_of(block), block, changes);
        return;
    }
    const std::vector<std::byte> changes = written_->close(block, here, {});
    if (changes.empty()) return;
    for (const std::uint32_t rank : directory_.sharers_of(block)) to.add(rank, block, changes);
}

void coherent_part::send_changes(std::uint64_t block, const std::byte* here) {
    change_batches batches;
    ++round_;
    close(block, here, batches);
    for (const change_batch& one : batches.all()) send_batch(one, message_kind::written);
}

/// All that the rank has written is closed and put in the outbox before any other message is
/// looked at: so of two ranks that write the same bytes, everybody gets the later one later.
void coherent_part::release_changes(std::source_location site) {
    if (!written_->all_open().empty()) at_once([&] { send_all_changes(); });
    // A handler's access may send another batch while the answers are waited for, and how many are
    // missing is not known before it is taken.
    while (true) {
        const std::uint64_t seen = detail::word_load(changes_);
        if (untaken_batches_ == 0 && missing_answers_ == 0) return;
        await_change_after(seen, site);
    }
}

/// Of what is open now: handlers that have run meanwhile may have given some up.
void coherent_part::send_all_changes() {
    const std::vector<std::uint64_t> open = written_->all_open();
    change_batches homes;
    change_batches sharers;
    ++round_;
    for (const std::uint64_t block : open) {
        const bool is_mine = is_own(block);
        const std::byte* const here = is_mine ? memory_of(block) : copies_.find(block)->second.data;
        close(block, here, is_mine ? sharers : homes);
    }
    for (const change_batch& one : homes.all()) send_batch(one, message_kind::written);
    for (const change_batch& one : sharers.all()) send_batch(one, message_kind::update);
}

void coherent_part::send_batch(const change_batch& batch, message_kind what) {
    updates_sent_ += batch.blocks.size();
    if (what == message_kind::update) {
        ++missing_answers_;
        return send(batch.rank, {what, context_.rank, batch.data});
    }
    ++untaken_batches_;
    const std::uint32_t number = ++last_batch_;
    under_way_.emplace(number, sent_batch{round_, batch.blocks});
    send(batch.rank, {what, number, batch.data});
}

/// Of blocks of the rank's own: others who have copies get them too.
void coherent_part::take_changes(std::uint32_t writer, const block_message& message) {
    change_batches batches;
    change_batches::for_each(message.data,
                             [&](std::uint64_t block, std::span<const std::byte> changes) {
                                 ++updates_received_;
                                 charge(costs_.write_hit());
                                 written_->merge(block, memory_of(block), changes);
                                 for (const std::uint32_t rank : directory_.sharers_of(block)) {
                                     if (rank != writer) batches.add(rank, block, changes);
                                 }
                             });
    for (const change_batch& one : batches.all()) {
        updates_sent_ += one.blocks.size();
        send(one.rank, {message_kind::update, writer, one.data});
    }
    send(writer, {message_kind::taken, batches.all().size() << count_shift | message.block});
}

/// Of blocks that the rank has copies of. Who has written hears that they are here.
void coherent_part::take_update(const block_message& message) {
    change_batches::for_each(message.data,
                             [&](std::uint64_t block, std::span<const std::byte> changes) {
                                 ++updates_received_;
                                 charge(costs_.write_hit());
                                 copies_.take_changes(block, changes);
                             });
    send(static_cast<std::uint32_t>(message.block), {message_kind::updated, 0});
}

/// The home has put a batch into its memory. What it sends from now on comes later in its order.
void coherent_part::note_taken(std::uint64_t count_and_number) {
    const auto number = static_cast<std::uint32_t>(count_and_number);
    const sent_batch sent = std::move(under_way_.extract(number).mapped());
    for (const std::uint64_t block : sent.blocks) written_->forget(block, sent.round);
    --untaken_batches_;
    missing_answers_ += count_and_number >> count_shift;
    detail::count_together(context_, changes_);
}

/// One who had a copy has got what the rank has written; perhaps before the home has said that.
void coherent_part::note_update() {
    --missing_answers_;
    detail::count_together(context_, changes_);
}

}  // namespace selion::coherence
