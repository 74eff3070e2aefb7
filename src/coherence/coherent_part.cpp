// SPDX-License-Identifier: Apache-2.0
#include "coherence/coherent_part.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "coherence/coherent_parts.hpp"
#include "machine/call_record.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/error.hpp"
#include "selion/expect.hpp"

namespace selion::coherence {
namespace {

using detail::rank_context;

/// Accesses without a call that waits after which other ranks of the thread have their turn.
constexpr std::uint32_t accesses_per_turn = 64;
/// Bytes of an access whose copying is part of what a hit costs.
constexpr std::uint32_t few_bytes = 16;
bool has_updates(const cached& how) { return how.writes == write_protocol::update; }

std::size_t capacity_of(const cached& how) {
    if (how.capacity_bytes == 0) return SIZE_MAX;
    return std::max<std::size_t>(how.capacity_bytes / how.block_bytes, 1);
}

/// Whether accesses may be made without a call: nobody counts them or their time, others can make
/// the rank look after its messages, and no rank waits for its turn on the thread.
bool may_be_inline(const rank_context& context, const cached& how) {
    return !context.spends_time && context.recorder == nullptr && !how.has_statistics &&
           context.mapped_count == context.ranks && context.group_size == 1;
}

detail::block_view& view_at(const rank_context& context, std::uint64_t offset) {
    return *reinterpret_cast<detail::block_view*>(
        detail::mapped_address(context, detail::global_address(context.rank, offset)));
}

}  // namespace

coherent_part::coherent_part(rank_context& context, const space_shape& shape)
    : context_(context),
      shape_(shape),
      block_bytes_(shape.how.block_bytes),
      memory_(detail::mapped_address(context, detail::global_address(context.rank, shape.offset))),
      view_(view_at(context, shape.view_offset)),
      costs_(*context.host),
      is_shown_(may_be_inline(context, shape.how)),
      replies_keep_order_(context.transport->replies_keep_order()),
      states_(static_cast<detail::own_state*>(std::calloc(shape.bytes / block_bytes_ + 1, 1))),
      table_(static_cast<unsigned>(std::countr_zero(block_bytes_))),
      written_(has_updates(shape.how) ? std::optional<written_blocks>(block_bytes_) : std::nullopt),
      directory_(*this, context.rank, block_bytes_),
      copies_(*this, block_bytes_, capacity_of(shape.how), shape.how.has_statistics,
              written_ ? &*written_ : nullptr) {
    view_.block_bits = static_cast<std::uint64_t>(std::countr_zero(block_bytes_));
    view_.own_first = detail::global_address(context.rank, shape.offset);
    view_.own_memory = memory_;
    view_.states = states_.get();
    view_.part = this;
    view_.is_direct =
        shape.how.protocol == cache_protocol::where_needed && context.mapped_count == context.ranks;
    view_.has_updates = has_updates(shape.how);
    if (states_ == nullptr) throw std::bad_alloc();
    show_table();
    if (shape.how.has_statistics) meter_.emplace(arrays_);
}

void coherent_part::expect_own_thread(std::source_location site) const {
    const rank_context& caller = *detail::current_context;
    SELION_EXPECT_AT(caller.rank == context_.rank || caller.ranks == 0, site,
                     fmt::format("coherent memory is used through rank {}'s handle by rank {}: "
                                 "each rank has its own",
                                 context_.rank, caller.rank));
    SELION_EXPECT_AT(&caller == &context_ || !caller.own.in_handler, site,
                     fmt::format("coherent memory of rank {} is used by a handler on the thread "
                                 "that serves its messages (progress=interrupt): only the rank's "
                                 "own thread may",
                                 context_.rank));
    SELION_EXPECT_AT(&caller == &context_, site,
                     fmt::format("coherent memory of rank {} is used by a thread that has joined "
                                 "it: only the rank's own thread may",
                                 context_.rank));
}

/// For sentences.
std::string coherent_part::name_at(std::uint64_t address) const {
    const named_array* const found = find_array(arrays_, address & detail::offset_mask);
    return found == nullptr ? "coherent memory" : found->name;
}

/// Whether a copy and its home's memory differ, or will when that has been accessed.
bool coherent_part::is_behind(std::uint64_t block, const block_copy& copy,
                              detail::access_purpose purpose) const {
    if (purpose == detail::access_purpose::write) return copy.state != copy_state::invalid;
    return copy.state == copy_state::modified || (written_ && written_->is_open(block));
}

/// What another rank has shown of a block of its own.
detail::own_state coherent_part::shown_state_of(std::uint64_t block) const {
    using enum detail::own_state;
    if (shape_.states_offset == 0) return untouched;
    const std::uint64_t number = ((block & detail::offset_mask) - shape_.offset) / block_bytes_;
    std::byte* const shown = detail::mapped_address(
        context_, detail::global_address(detail::rank_of(block), shape_.states_offset + number));
    if (shown == nullptr) return untouched;
    // relaxed: what the program does to order the accesses orders this one too
    return std::atomic_ref(*reinterpret_cast<detail::own_state*>(shown))
        .load(std::memory_order_relaxed);
}

void coherent_part::show(std::uint64_t block, detail::own_state state) {
    const std::uint64_t number = ((block & detail::offset_mask) - shape_.offset) / block_bytes_;
    std::byte* const shown = detail::mapped_address(
        context_, detail::global_address(context_.rank, shape_.states_offset + number));
    // relaxed: as the look of `shown_state_of`
    std::atomic_ref(*reinterpret_cast<detail::own_state*>(shown))
        .store(state, std::memory_order_relaxed);
}

void coherent_part::expect_uncached(std::uint64_t address, std::size_t bytes,
                                    detail::access_purpose purpose,
                                    std::source_location site) const {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t block = block_of(address); block < end; block += block_bytes_) {
        const copy_store::entry* const copy = copies_.find(block);
        const bool is_kept = copy != nullptr && is_behind(block, copy->second, purpose);
        const auto most = purpose == detail::access_purpose::write ? detail::own_state::writable
                                                                   : detail::own_state::readable;
        const bool is_elsewhere =
            (is_own(block) ? directory_.state_of(block) : shown_state_of(block)) > most;
        SELION_EXPECT_AT(
            !is_kept && !is_elsewhere, site,
            fmt::format("{} of rank {} is accessed without its protocol while {}: "
                        "call invalidate() of its space on all ranks, and a barrier, "
                        "between the two",
                        name_at(std::max(block, address)), detail::rank_of(block),
                        is_kept ? "this rank keeps a copy of it" : "other ranks have it"));
    }
}

bool coherent_part::is_own(std::uint64_t address) const {
    return detail::rank_of(address) == context_.rank;
}

std::byte* coherent_part::memory_of(std::uint64_t block) {
    return memory_ + ((block & detail::offset_mask) - shape_.offset);
}

// ---- what inline accesses find

/// @return whether somebody had called; before the first time too.
bool coherent_part::show_table() {
    view_.places = table_.places();
    const std::uint64_t bytes = is_shown_ ? shape_.bytes : 0;
    const std::uint64_t mask = is_shown_ ? table_.mask() : 0;
    // acq_rel: what others have sent before they set one to 0 is seen; pairs with [view.attention]
    const std::uint64_t bytes_then =
        std::atomic_ref(view_.own_bytes).exchange(bytes, std::memory_order_acq_rel);
    const std::uint64_t mask_then =
        std::atomic_ref(view_.mask).exchange(mask, std::memory_order_acq_rel);  // [view.attention]
    return bytes_then == 0 || mask_then == 0;
}

/// In the middle of an access: who has called is heard in the next one.
void coherent_part::show_grown_table() {
    if (show_table() && is_shown_) call_for_attention(context_.rank);
}

void coherent_part::forget(std::uint64_t block) {
    if (is_own(block)) {
        state_of(block) = detail::own_state::elsewhere;
    } else {
        table_.forget(block);
    }
}

detail::own_state& coherent_part::state_of(std::uint64_t address) {
    return states_[((address & detail::offset_mask) - shape_.offset) / block_bytes_];
}

// ---- accesses

/// Whether somebody wants to be heard.
bool coherent_part::is_called() const {
    return std::atomic_ref(view_.mask).load(std::memory_order_relaxed) != table_.mask() ||
           std::atomic_ref(view_.own_bytes).load(std::memory_order_relaxed) != shape_.bytes;
}

/// Takes in what has come, before an access that is a call.
void coherent_part::enter() {
    // In a handler no mail is looked at: who has called is heard in the rank's next access.
    const bool may_look = onesided::completion_queue::is_run_by(context_);
    if (is_shown_ && may_look && is_called()) show_table();
    // One look takes some of what has come; who has sent the rest has called already. Nor does
    // anybody call when there is room again for what handlers could not send.
    const bool has_more =
        context_.transport->poll(context_) || context_.transport->has_unsent(context_);
    if (has_more && is_shown_) call_for_attention(context_.rank);
    detail::run_completions(context_);  // messages that others have served are some
    catch_up();
    const bool has_turns = context_.group_size > 1 && !context_.own.in_handler;
    if (has_turns && ++entered_ % accesses_per_turn == 0) detail::let_others_run(context_);
}

/// In virtual time a handler may run beside the rank. What either of them sends comes behind what
/// the other one has sent before it changed what both know.
void coherent_part::wait_until(std::int64_t ps) {
    if (!context_.spends_time) return;
    std::int64_t now_ps = context_.clock->stamp_ps();
    while (now_ps <= ps) {
        charge({.picoseconds = ps - now_ps + 1});
        const std::int64_t before_ps = std::exchange(now_ps, context_.clock->stamp_ps());
        if (now_ps == before_ps) return;  // the host's time is spent, not what is charged
    }
}

/// Handlers that have begun have ended, also those that begin while the rank waits for that.
void coherent_part::catch_up() {
    std::int64_t seen_ps = 0;
    do {
        seen_ps = handled_until_ps_;
        wait_until(seen_ps);
    } while (handled_until_ps_ != seen_ps);
}

void coherent_part::charge_hit(const block_access& one) {
    const bool is_untouched =
        is_own(one.address) && state_of(one.address) == detail::own_state::untouched;
    work cost = is_untouched       ? costs_.untouched_hit()
                : writes(one.kind) ? costs_.write_hit()
                                   : costs_.read_hit();
    if (one.bytes > few_bytes) cost = cost + copied(one.bytes);
    charge(cost);
}

/// @return whether it has been made: nobody needed to be asked.
bool coherent_part::try_now(block_access& one) {
    if (is_own(one.address)) return try_own(one);
    const detail::block_place* const place = table_.find(one.address);
    const std::uint64_t number = one.address >> view_.block_bits;
    if (place == nullptr || (writes(one.kind) && !place->may_write(number))) return try_copy(one);
    if (meter_) count_hit(one, false);
    one.perform(reinterpret_cast<std::byte*>(one.address + place->distance));
    return true;
}

bool coherent_part::try_own(block_access& one) {
    using enum detail::own_state;
    const auto most = writes(one.kind) ? writable : readable;
    detail::own_state& state = state_of(one.address);
    if (state > most) state = directory_.state_of(block_of(one.address));
    if (state > most) {
        if (!written_) return false;
        begin_write(block_of(one.address), memory_of(block_of(one.address)));
        state = writable;
    }
    if (meter_) count_hit(one, state == untouched);
    one.perform(memory_of(one.address));
    return true;
}

bool coherent_part::try_copy(block_access& one) {
    copy_store::entry* const found = copies_.find(block_of(one.address));
    if (found == nullptr || !copies_.may(found->second, one.kind)) return false;
    auto& [block, copy] = *found;
    const bool is_first_use = copy.is_early && one.kind != access_kind::touch;
    if (writes(one.kind)) begin_write(block, copy.data);
    const bool may_write = written_ ? written_->is_open(block) : copy.state == copy_state::modified;
    if (table_.remember(block, copy.data, may_write)) show_grown_table();
    if (meter_) count_hit(one, false);
    one.perform(copy.data + (one.address - block));
    if (is_first_use) {
        copies_.use(copy);
        ++prefetched_used_;
        prefetch_behind(block, one.site);
    }
    return true;
}

/// Asks for what an access needs, or finds that it needs nothing any more.
/// @return whether it is done.
bool coherent_part::ask(block_access& one) {
    const std::uint64_t block = block_of(one.address);
    if (is_own(block)) {
        note_miss(one, miss_cause::at_home);
        directory_.ask(one, block);
        return false;
    }
    while (true) {
        copy_store::entry& which = copies_.find_or_make(block);
        if (copies_.has_room_for(which.second)) {
            const copy_state state = which.second.state;
            const bool is_upgrade = state == copy_state::shared;
            const miss_cause cause = which.second.is_asked_for ? miss_cause::asked_for
                                     : is_upgrade              ? miss_cause::upgrade
                                                               : which.second.lost_by;
            note_miss(one, cause);
            const bool is_read = one.kind == access_kind::read;
            const bool is_first = which.second.is_early || one.kind == access_kind::touch;
            if (cause == miss_cause::asked_for && !is_first) ++joined_misses_;
            note_prefetch(which.second, one.kind);
            const std::source_location site = one.site;  // it may be done when `ask` returns
            copies_.ask(which, one);
            if (is_read) prefetch_behind(block, site);
            return false;
        }
        await_change(one.site);
        if (try_now(one)) return true;
    }
}

/// Waits until some access has been finished.
void coherent_part::await_change(std::source_location site) {
    const std::uint64_t seen = detail::word_load(changes_);
    await_change_after(seen, site);
}

void coherent_part::await_change_after(std::uint64_t seen, std::source_location site) {
    detail::expect_may_wait(context_, "access to coherent memory", site);
    expect_no_completion(site);
    const machine::call_scope scope(context_, machine::operation::coherent_access, site);
    const std::int64_t deadline_ns = context_.own.deadline_ns;  // of a collective that releases
    const bool has_changed = detail::await(context_, {.word = changes_,
                                                      .at_least = seen + 1,
                                                      .reason = machine::wait_reason::message,
                                                      .deadline_ns = deadline_ns,
                                                      .others = {}});
    if (!has_changed) detail::end_collective_wait(context_);
    catch_up();
}

/// The rank may be within an access or a release, which does not go on while the handler runs.
void coherent_part::expect_no_completion(std::source_location site) const {
    SELION_EXPECT_AT(!onesided::in_completion(context_), site,
                     std::string("a completion handler must not wait for coherent memory: it may "
                                 "use what the rank has"));
}

void coherent_part::await_at_most(std::uint64_t most, const std::uint64_t& count,
                                  std::source_location site) {
    while (true) {
        const std::uint64_t seen = detail::word_load(changes_);
        if (count <= most) return;
        await_change_after(seen, site);
    }
}

void coherent_part::access(block_access& one) {
    expect_own_thread(one.site);
    if (context_.spends_time) charge_hit(one);
    enter();
    if (try_now(one)) return;
    // Also while what it sends waits for room.
    const machine::call_scope scope(context_, machine::operation::coherent_access, one.site);
    if (may_be_late(one)) return write_later(one);
    if (ask(one)) return;
    while (true) {
        const std::uint64_t seen = detail::word_load(changes_);
        if (one.is_done) return;
        await_change_after(seen, one.site);
    }
}

coherent_part::kept_access& coherent_part::keep(const block_access& one) {
    if (free_.empty()) {
        free_.push_back(all_kept_.emplace_back(std::make_unique<kept_access>()).get());
    }
    kept_access& kept = *free_.back();
    free_.pop_back();
    static_cast<block_access&>(kept) = one;
    kept.is_kept = true;
    kept.is_late = false;
    return kept;
}

coherent_part::kept_access& coherent_part::keep_copied(const block_access& one) {
    kept_access& kept = keep(one);
    std::memcpy(kept.copy, one.data, one.bytes);
    kept.data = kept.copy;
    return kept;
}

void coherent_part::start(const block_access& one) {
    expect_own_thread(one.site);
    if (context_.spends_time) charge_hit(one);
    enter();
    block_access now = one;
    const bool is_vain = one.kind == access_kind::touch && !may_touch(one.address);
    if (is_vain || try_now(now)) return detail::count_here(context_, now.completion, now.site);
    run_kept(keep(one));
}

void coherent_part::start_copied_write(const block_access& one) {
    expect_own_thread(one.site);
    if (context_.spends_time) charge_hit(one);
    enter();
    kept_access& kept = keep_copied(one);
    if (!try_now(kept)) return run_kept(kept);
    detail::count_here(context_, kept.completion, kept.site);
    free_.push_back(&kept);
}

void coherent_part::run_kept(kept_access& kept) {
    const machine::call_scope scope(context_, machine::operation::coherent_access, kept.site);
    ++unfinished_;
    if (kept.completion != nullptr) {
        detail::claim_counter(context_, *kept.completion, kept.site);
    }
    if (ask(kept)) finish(kept);
}

/// By whoever has made an access that was waiting.
void coherent_part::finish(block_access& one) {
    if (meter_) {
        access_counts& counts = meter_->at(one.address & detail::offset_mask, one.site);
        const bool is_late = one.is_kept && static_cast<kept_access&>(one).is_late;
        const bool has_missed = one.begun_ps != block_access::not_missed;
        if (has_missed && !is_late && one.kind != access_kind::touch)
            counts.waited_ps += context_.clock->stamp_ps() - one.begun_ps;
        if (one.is_useless) {
            ++counts.useless;
            meter_->note_useless(block_of(one.address), one.address & detail::offset_mask);
        }
    }
    one.is_done = true;
    if (one.is_kept) {
        --unfinished_;
        if (one.completion != nullptr) {
            detail::count_together(context_, counter_access::word(*one.completion));
        }
        auto& kept = static_cast<kept_access&>(one);
        if (kept.is_late) --late_writes_;
        free_.push_back(&kept);
    }
    detail::count_together(context_, changes_);
}

}  // namespace selion::coherence
