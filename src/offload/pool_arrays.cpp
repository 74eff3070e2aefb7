// SPDX-License-Identifier: Apache-2.0
// Memory that stays on workers, and memory that all see.
#include <fmt/format.h>

#include <exception>

#include "base/units.hpp"
#include "offload/pool_state.hpp"

namespace selion::detail {

std::uint64_t padded(std::uint64_t bytes) {
    if (bytes > ~std::uint64_t{0} - place_alignment) return bytes;  // more than there is
    const std::uint64_t whole = (bytes + place_alignment - 1) / place_alignment * place_alignment;
    return whole == 0 ? place_alignment : whole;
}

void pool_state::expect_on_worker(std::uint32_t worker) const {
    if (worker < size()) return;
    throw error(status::bad_argument,
                fmt::format("there is no worker {}; workers are 0 to {}", worker, size() - 1));
}

worker_range pool_state::allocate(std::uint32_t worker, std::uint64_t bytes,
                                  std::source_location site) {
    const offload::worker_wait noted(made_.rank, site);
    expect_open();
    expect_on_worker(worker);
    worker_place& place = places_[worker];
    const auto find = [&] {
        if (place.gone) std::rethrow_exception(place.gone);
        return place.memory.allocate(padded(bytes), place_alignment, workers_->memory_bytes());
    };
    auto extent = find();
    if (!extent && !place.sent.empty()) {  // arguments of its calls are in the way
        await_calls_of(place);
        extent = find();
    }
    if (!extent) {
        throw error(
            status::out_of_memory,
            fmt::format("worker {} has no room for {}: {} of {} are used", worker,
                        base::bytes_text(bytes), base::bytes_text(place.memory.used_bytes()),
                        base::bytes_text(workers_->memory_bytes())));
    }
    return {worker, place.generation, extent->start, bytes, this};
}

void pool_state::free(const worker_range& range) {
    if (!is_open()) return;
    const offload::worker_wait noted(made_.rank, made_.site);
    worker_place& place = places_[range.worker];
    await_calls_of(place);
    if (place.generation == range.generation) place.memory.deallocate(range.offset);
}

/// They use its arrays, and it must not be disturbed.
void pool_state::await_calls_of(worker_place& place) {
    const reservation no_others(place);
    while (!place.sent.empty() || !place.pinned.empty()) {
        rest(machine::no_deadline);
        progress();
    }
}

pool_state::worker_place& pool_state::expect_range(const part& wanted) {
    const auto& [range, offset, bytes] = wanted;
    expect_open();
    if (range.pool != this) {
        throw error(status::bad_argument, "an array of another pool's workers");
    }
    if (offset > range.bytes || bytes > range.bytes - offset) {
        throw error(
            status::bad_argument,
            fmt::format("bytes {} to {} lie beyond the end of an array of {} on worker {}", offset,
                        offset + bytes, base::bytes_text(range.bytes), range.worker));
    }
    worker_place& place = places_[range.worker];
    await_calls_of(place);
    if (place.generation != range.generation) {
        throw error(status::rank_dead,
                    fmt::format("worker {} has died and was replaced; what lay in its memory is "
                                "gone",
                                range.worker));
    }
    return place;
}

void pool_state::write(const part& to, const void* data, std::source_location site) {
    const offload::worker_wait noted(made_.rank, site);
    expect_range(to);
    workers_->write(to.range.worker, to.range.offset + to.offset, data, to.bytes);
}

void pool_state::read(void* data, const part& from, std::source_location site) {
    const offload::worker_wait noted(made_.rank, site);
    expect_range(from);
    workers_->read(from.range.worker, from.range.offset + from.offset, data, from.bytes);
}

void pool_state::copy(const worker_range& from, const worker_range& to, std::uint64_t bytes,
                      std::source_location site) {
    const offload::worker_wait noted(made_.rank, site);
    worker_place& source = expect_range({from, 0, bytes});
    const reservation no_others(source);
    const reservation nor_there(expect_range({to, 0, bytes}));
    await_calls_of(source);
    expect_range({from, 0, bytes});
    const std::uint64_t turn = source.last_turn + 1;
    {
        const handling without_others(*this);  // which would take the same turn
        const bool takes_turn =
            workers_->copy({from.worker, from.offset}, {to.worker, to.offset}, bytes, turn);
        if (!takes_turn) return;
        source.last_turn = turn;
        source.sent.push_back(nullptr);  // nobody's, but under way
    }
    do {
        rest(machine::no_deadline);
        progress();
    } while (!workers_->has_ended(from.worker, turn));
    workers_->end_copy();
}

std::vector<worker_range> pool_state::replicate(const void* data, std::uint64_t bytes,
                                                std::source_location site) {
    constexpr std::uint32_t no_generation = 0;  // of a worker that never was
    const offload::worker_wait noted(made_.rank, site);
    wait_all(site);
    if (least_loaded() == any_worker) std::rethrow_exception(places_.front().gone);
    std::vector<worker_range> ranges;
    std::vector<offload::memory_place> targets;
    try {
        for (std::uint32_t worker = 0; worker < size(); ++worker) {
            if (places_[worker].gone) {
                ranges.push_back({worker, no_generation, 0, bytes, this});
                continue;
            }
            ranges.push_back(allocate(worker, bytes, site));
            targets.push_back({worker, ranges.back().offset});
        }
    } catch (...) {
        for (const worker_range& each : ranges) free(each);
        throw;
    }
    workers_->write_all(targets, data, bytes);
    return ranges;
}

std::byte* pool_state::allocate_shared(std::uint64_t bytes) {
    expect_open();
    const std::span<std::byte> all = workers_->shared();
    const auto extent = shared_.allocate(padded(bytes), place_alignment, all.size());
    if (!extent) {
        throw error(status::out_of_memory,
                    fmt::format("the pool's shared memory has no room for {}: {} of {} are used; "
                                "set shared_bytes",
                                base::bytes_text(bytes), base::bytes_text(shared_.used_bytes()),
                                base::bytes_text(all.size())));
    }
    return all.data() + extent->start;
}

void pool_state::free_shared(const void* data) {
    expect_open();
    const auto offset =
        static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - workers_->shared().data());
    if (!shared_.deallocate(offset)) {
        throw error(status::bad_argument, "this is not the start of an array of the pool");
    }
}

}  // namespace selion::detail
