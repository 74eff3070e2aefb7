// SPDX-License-Identifier: Apache-2.0
/// What is counted and traced of accesses, and arrays that have names.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "coherence/coherent_part.hpp"
#include "selion/charge.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/error.hpp"

namespace selion::coherence {

void coherent_part::count_hit(const block_access& one, bool is_untouched) {
    if (one.kind == access_kind::touch) return;
    if (trace_) trace_->add(one, context_.clock->stamp_ps());
    access_counts& counts = meter_->at(one.address & detail::offset_mask, one.site);
    const bool is_remote = !is_own(one.address);
    if (writes(one.kind)) {
        ++counts.writes;
        counts.remote_writes += is_remote;
        counts.untouched_writes += is_untouched;
    } else {
        ++counts.reads;
        counts.remote_reads += is_remote;
        counts.untouched_reads += is_untouched;
    }
}

void coherent_part::note_miss(block_access& one, miss_cause cause) {
    if (context_.spends_time && cause == miss_cause::cold) charge(costs_.create_entry());
    if (!meter_) return;
    one.begun_ps = context_.clock->stamp_ps();
    if (one.kind == access_kind::touch) return;
    count_hit(one, false);
    access_counts& counts = meter_->at(one.address & detail::offset_mask, one.site);
    ++(writes(one.kind) ? counts.write_misses : counts.read_misses);
    switch (cause) {
        case miss_cause::given_up:
        case miss_cause::cold: ++counts.cold; break;
        case miss_cause::invalidated: ++counts.invalidated; break;
        case miss_cause::evicted: ++counts.evicted; break;
        case miss_cause::upgrade: ++counts.upgrades; break;
        case miss_cause::at_home:
        case miss_cause::asked_for: break;
    }
}

void coherent_part::trace_into(const std::string& folder, std::uint64_t number) {
    trace_.emplace(folder, trace_head{.rank = context_.rank,
                                      .ranks = context_.ranks,
                                      .run = context_.job,
                                      .space = number,
                                      .block_bytes = block_bytes_,
                                      .offset = shape_.offset,
                                      .bytes = shape_.bytes});
}

void coherent_part::finish_trace() {
    if (!trace_) return;
    const access_counts all = meter_->total();
    // Those that have joined another access are none where accesses come one after another.
    trace_->finish(all.read_misses + all.write_misses - joined_misses_, all.waited_ps);
    trace_.reset();
}

std::uint64_t coherent_part::take(std::size_t bytes, std::size_t alignment, std::string_view name,
                                  std::source_location site) {
    expect_own_thread(site);
    const std::uint64_t start = (shape_.offset + taken_bytes_ + alignment - 1) & ~(alignment - 1);
    const std::uint64_t end = shape_.offset + shape_.bytes;
    if (start > end || bytes > end - start) {
        throw error(status::out_of_memory,
                    fmt::format("a coherent space of {} bytes for each rank has {} left, and {} "
                                "are asked for",
                                shape_.bytes, end - std::min(start, end), bytes));
    }
    taken_bytes_ = start + bytes - shape_.offset;
    if (!name.empty()) arrays_.push_back({start, bytes, std::string(name)});
    if (trace_ && !name.empty()) trace_->add_array(arrays_.back());
    return start;
}

cache_counts coherent_part::counts() const {
    return {.home_entries = directory_.entries(),
            .copy_entries = copies_.entries(),
            .blocks_sent = blocks_sent_,
            .blocks_received = blocks_received_,
            .invalidations_sent = directory_.invalidations() + directory_.flushes(),
            .invalidations_received = copies_.invalidations(),
            .evictions = copies_.evictions(),
            .write_backs = copies_.write_backs(),
            .updates_sent = updates_sent_,
            .updates_received = updates_received_,
            .prefetched = prefetched_,
            .prefetched_used = prefetched_used_};
}

}  // namespace selion::coherence
