// SPDX-License-Identifier: Apache-2.0
/// What a rank has written, on its way to others: at its releases, and when it flushes.
#include <cstring>
#include <utility>

#include "coherence/at_once.hpp"
#include "coherence/coherent_part.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/global_address.hpp"

namespace selion::coherence {
namespace {

/// Writes that have missed and nobody waits for: as many as can be of use to one rank.
constexpr std::uint64_t most_late_writes = 64;

}  // namespace

/// Whether the rank can go on before the access is done.
bool coherent_part::may_be_late(const block_access& one) const {
    return shape_.how.consistency == memory_consistency::release &&
           one.kind == access_kind::write && one.bytes <= most_copied;
}

void coherent_part::write_later(block_access& one) {
    detail::expect_may_wait(context_, "write to coherent memory", one.site);
    while (late_writes_ == most_late_writes) {
        await_at_most(most_late_writes - 1, late_writes_, one.site);
        if (try_now(one)) return;
    }
    kept_access& kept = keep_copied(one);
    forget(block_of(one.address));  // what the rank reads there now waits behind it
    kept.is_late = true;
    ++late_writes_;
    run_kept(kept);
}

void coherent_part::on_release(std::source_location site) {
    await_at_most(0, late_writes_, site);
    if (written_) release_changes(site);
}

/// What the rank has written is on its way home. Handlers may access more while it waits.
void coherent_part::send_written(std::source_location site) {
    expect_own_thread(site);
    enter();
    do {
        await_at_most(0, unfinished_, site);
        on_release(site);
        copies_.write_all_back();
    } while (!has_sent_all());
}

/// What the rank has written is on its way, and it has asked for nothing.
bool coherent_part::has_sent_all() const {
    return unfinished_ == 0 && !copies_.has_modified() &&
           !(written_ && !written_->all_open().empty());
}

/// And it is there, and homes know which copies are gone.
void coherent_part::confirm(std::source_location site) {
    const rank_set homes = std::exchange(unconfirmed_, {});
    echoes_ += homes.size();
    for (const std::uint32_t home : homes) send(home, {message_kind::echo_request, 0});
    await_at_most(0, echoes_, site);
}

void coherent_part::flush(std::source_location site) {
    const machine::call_scope scope(context_, machine::operation::coherent_access, site);
    send_written(site);
    confirm(site);
    if (trace_) trace_->add_flush(false, context_.clock->stamp_ps());
}

void coherent_part::drop_all(std::source_location site) {
    const machine::call_scope scope(context_, machine::operation::coherent_access, site);
    // In virtual time a handler may ask for a block at the last moment, or write one.
    for (bool is_dropped = false; !is_dropped;) {
        send_written(site);
        at_once([&] {
            is_dropped = has_sent_all();
            if (!is_dropped) return;
            copies_.drop_all();
            for (const std::uint32_t home : std::exchange(asked_homes_, {})) {
                send(home, {message_kind::all_gone, 0});
            }
        });
    }
    confirm(site);
    if (trace_) trace_->add_flush(true, context_.clock->stamp_ps());
}

}  // namespace selion::coherence
