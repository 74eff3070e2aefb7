// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/node_memory.hpp"

#include <algorithm>
#include <bit>

namespace selion::machine::sim {

node_memory::node_memory(const node_model& model)
    : model_(model),
      memory_(model.sockets),
      fpu_free_at_(std::size_t{model.sockets} * model.cores, std::vector<ticks>(model.fpus)) {}

void node_memory::slow_down(std::uint32_t thread, rate slowness) {
    const std::size_t threads = fpu_free_at_.size() * model_.threads;
    if (slowness_.empty()) slowness_.assign(threads, rate::from_ticks(1));
    slowness_[thread] = slowness;
}

thread_place node_memory::place_of(std::uint32_t thread) const {
    const std::uint32_t core = thread / model_.threads;
    return {core, core / model_.cores_per_cache, core / model_.cores};
}

ticks node_memory::way(std::uint32_t from_core, std::uint32_t to_core) const {
    if (from_core == to_core) return model_.same_core;
    return from_core / model_.cores_per_cache == to_core / model_.cores_per_cache ? model_.near
                                                                                  : model_.far;
}

ticks node_memory::longest_way(std::uint64_t cores, std::uint32_t to_core) const {
    ticks longest = 0;
    for (; cores != 0; cores &= cores - 1) {
        const auto core = static_cast<std::uint32_t>(std::countr_zero(cores));
        if (core != to_core) longest = std::max(longest, way(core, to_core));
    }
    return longest;
}

ticks node_memory::shortest_way(std::uint64_t cores, std::uint32_t to_core) const {
    ticks shortest = model_.far;
    for (; cores != 0; cores &= cores - 1) {
        shortest =
            std::min(shortest, way(static_cast<std::uint32_t>(std::countr_zero(cores)), to_core));
    }
    return shortest;
}

/// One line after another. @return what one takes that is asked for at `start`.
ticks node_memory::from_memory(std::uint32_t socket, ticks start) {
    memory_use& memory = memory_[socket];
    if (start > memory.free_at) memory = {.free_at = start};
    const ticks begin = memory.free_at;
    memory.fraction += model_.memory_per_byte.fraction_of(model_.line_bytes);
    memory.free_at =
        later(begin, model_.memory_per_byte.of(model_.line_bytes) + (memory.fraction >> 20));
    memory.fraction &= 0xfffff;
    return begin - start + model_.from_memory;
}

/// A line that the core does not have as it needs it.
ticks node_memory::fetch(std::uint32_t thread, line& which, access_kind kind, ticks now) {
    const thread_place place = place_of(thread);
    const std::uint64_t own = std::uint64_t{1} << place.core;
    const ticks start = std::max(now, which.free_at);
    ticks taken = 0;
    if (which.sharers == 0) {
        taken = from_memory(place.socket, start);
    } else if (kind == access_kind::read) {
        taken = which.owner != nobody ? way(which.owner, place.core)
                                      : shortest_way(which.sharers, place.core);
        ++transfers_;
    } else {
        // All other copies must go; the own one may be good already.
        taken = longest_way(which.sharers & ~own, place.core);
        ++transfers_;
    }
    which.free_at = start + std::min(taken, model_.line_service);
    return start + taken;
}

ticks node_memory::own_access(std::uint32_t thread, const line& which) const {
    const bool is_news =
        which.changer == place_of(thread).core && (which.seen & bit_in_core(thread)) == 0;
    return is_news ? model_.same_core : stretched(thread, model_.hit);
}

void node_memory::note_access(std::uint32_t thread, line& which, access_kind kind) const {
    const std::uint32_t core = place_of(thread).core;
    if (kind != access_kind::read) {
        which.changer = core;
        which.seen = 0;
    }
    if (which.changer == core) which.seen |= bit_in_core(thread);
}

ticks node_memory::access(std::uint32_t thread, std::uintptr_t address, access_kind kind,
                          ticks now) {
    line& which = lines_[address / model_.line_bytes];
    const std::uint32_t core = place_of(thread).core;
    const std::uint64_t own = std::uint64_t{1} << core;
    const bool has_it =
        kind == access_kind::read ? (which.sharers & own) != 0 : which.sharers == own;
    const ticks atomic = kind == access_kind::atomic ? stretched(thread, model_.atomic) : 0;
    ticks done = 0;
    if (!has_it) {
        done = fetch(thread, which, kind, now) + atomic;
    } else if (kind == access_kind::read) {
        done = now + own_access(thread, which);
    } else {
        // Threads of one core change a line one after another.
        done = std::max(now, which.free_at) + own_access(thread, which) + atomic;
        which.free_at = done;
    }
    note_access(thread, which, kind);
    if (kind == access_kind::read) {
        which.sharers |= own;
        if (!has_it) which.owner = nobody;
    } else {
        which.sharers = own;
        which.owner = core;
    }
    return done;
}

ticks node_memory::stream(std::uint32_t thread, std::uintptr_t start, std::uint64_t bytes,
                          access_kind kind, ticks now) {
    if (bytes == 0) return now;
    line_range range = range_of(start, bytes, kind, now);
    stream(thread, range, end_of_time);
    return range.done;
}

void node_memory::stream(std::uint32_t thread, line_range& range, ticks until) {
    // Lines of one range come one behind another: the first takes its whole way, each further one
    // what the core copies meanwhile, or what it has to wait beyond that.
    const auto copied = [&](std::uint64_t lines) {
        return stretched(thread, model_.core_per_byte.of(lines * model_.line_bytes));
    };
    for (; !range.is_over() && range.asked < until; ++range.next) {
        const std::uintptr_t address = range.next * model_.line_bytes;
        range.done = std::max(range.done, access(thread, address, range.kind, range.asked));
        range.asked = later(range.begun, copied(range.next + 1 - range.first));
    }
    if (!range.is_over()) return;
    const ticks alone = stretched(thread, model_.core_per_byte.of(range.bytes));
    range.done = std::max(range.done, range.begun + alone);
}

ticks node_memory::compute(std::uint32_t thread, ticks work, ticks now) {
    std::vector<ticks>& units = fpu_free_at_[place_of(thread).core];
    ticks& unit = *std::ranges::min_element(units);
    unit = std::max(unit, now) + work;
    return unit;
}

}  // namespace selion::machine::sim
