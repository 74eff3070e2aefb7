// SPDX-License-Identifier: Apache-2.0
#include "latency.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace software_cache {
namespace {

using chain_value = std::int32_t;

/// Who accesses: the one that is measured, the home of what is remote to it, and another one.
constexpr std::uint32_t measured = 0;
constexpr std::uint32_t home = 1;
constexpr std::uint32_t third = 2;
constexpr std::size_t elements = 64;  ///< each in a block of its own
constexpr int rounds = 5;             ///< of which the median counts

enum class step : std::uint8_t { read, write };
struct preparation {
    std::uint32_t rank;
    step what;
};
struct latency_case {
    std::string_view name;
    std::uint32_t owner;  ///< of the elements
    std::vector<preparation> before;
    bool for_reads = true;
};

/// Blocks have been at the measured rank before where its first access would make an entry.
const std::array<latency_case, 9>& cases() {
    using enum step;
    static const std::array<latency_case, 9> all{{
        {"local_untouched", measured, {}},
        {"local_shared", measured, {{third, read}}},
        {"local_modified_here", measured, {{third, read}, {measured, write}}},
        {"local_modified_elsewhere", measured, {{third, write}}},
        {"remote_present_shared", home, {{measured, read}}},
        {"remote_present_modified", home, {{measured, write}}},
        {"remote_at_home", home, {{measured, read}, {home, write}}},
        {"remote_home_must_invalidate",
         home,
         {{measured, read}, {home, write}, {third, read}},
         false},
        {"remote_home_must_flush", home, {{measured, read}, {third, write}}},
    }};
    return all;
}

/// Nanoseconds of one access of the measured rank, on all ranks. The others serve it meanwhile and
/// send nothing of their own: not even that they have come to the next barrier.
template <class Prepare, class Access>
study::spread time_accesses(selion::world& world, const Prepare& prepare, const Access& access) {
    const auto done = selion::allocate<selion::signal>(world, 1);
    std::vector<double> ns;
    for (int round = 0; round < rounds; ++round) {
        prepare();
        world.barrier();
        if (world.rank() == measured) {
            const std::int64_t begin_ps = world.now_ps();
            for (std::size_t k = 0; k < elements; ++k) access(k);
            const auto passed = static_cast<double>(world.now_ps() - begin_ps);
            ns.push_back(passed / elements / 1000);
            for (std::uint32_t other = 0; other < world.size(); ++other) {
                selion::notify(done.on(other), selion::signal_add(1));
            }
        }
        selion::wait_until(done, static_cast<std::uint64_t>(round) + 1);
        world.barrier();
    }
    selion::deallocate(world, done);
    return ns.empty() ? study::spread{} : study::spread_of(ns);
}

study::spread time_cached(selion::world& world, const latency_case& which, std::size_t block_bytes,
                          bool is_write) {
    const std::size_t apart = std::max(block_bytes / sizeof(chain_value), std::size_t{1});
    const std::size_t each = elements * apart;
    std::vector<selion::cached_array<chain_value, 1>> made;
    const auto access = [&](step what, std::size_t k) {
        const auto one = made.back()(which.owner * each + k * apart);
        if (what == step::write) {
            one = static_cast<chain_value>(k);
        } else {
            static_cast<void>(one.get());
        }
    };
    // Each round has blocks that nobody has had.
    const auto prepare = [&] {
        made.emplace_back(
            world, selion::coordinates<1>{each * world.size()}, selion::runs{each},
            selion::cached{.block_bytes = block_bytes, .protocol = selion::cache_protocol::always});
        for (const preparation& one : which.before) {
            world.barrier();
            if (world.rank() != one.rank) continue;
            for (std::size_t k = 0; k < elements; ++k) access(one.what, k);
        }
    };
    const step what = is_write ? step::write : step::read;
    const study::spread ns = time_accesses(world, prepare, [&](std::size_t k) { access(what, k); });
    for (const auto& one : made) selion::deallocate(world, one);
    return ns;
}

/// Without a cache, as in plain Split-C.
study::spread time_plain(selion::world& world, std::string_view name, bool is_write) {
    const auto memory = selion::allocate<chain_value>(world, elements);
    const auto place = memory.on(name == "split_c_remote" ? home : measured);
    chain_value* const own = memory.local();
    const auto access = [&](std::size_t k) {
        const auto one = place + static_cast<std::ptrdiff_t>(k);
        volatile chain_value* const mine = own + k;
        if (name == "private") {
            selion::charge(is_write ? selion::stores(1) : selion::loads(1));
            *mine = is_write ? static_cast<chain_value>(k) : *mine;
            return;
        }
        if (name == "split_c_local") selion::charge(plain_access_work);
        if (is_write) {
            selion::put(one, static_cast<chain_value>(k));
            if (name == "split_c_remote") selion::quiet(home);
        } else {
            static_cast<void>(selion::get(one));
        }
    };
    const study::spread ns = time_accesses(world, [] {}, access);
    selion::deallocate(world, memory);
    return ns;
}

}  // namespace

measurement read_latency(const nlohmann::ordered_json& params, bool is_write) {
    const auto name = study::parameter<std::string>(params, "case");
    const auto found = std::ranges::find(cases(), name, &latency_case::name);
    const bool is_plain = name == "private" || name == "split_c_local" || name == "split_c_remote";
    const std::size_t block_bytes = read_block_bytes(params, is_plain);
    if (found == cases().end() && !is_plain) {
        throw study::bad_argument("'case' is '" + name + "', which is none.");
    }
    if (found != cases().end() && !found->for_reads && !is_write) {
        throw study::bad_argument("'case' is '" + name + "': no read makes a home do that.");
    }
    return [=](selion::world& world, const study::row_frame& frame) {
        if (world.size() <= third) {
            if (world.rank() != measured) return;
            const std::string reason = "it is about three ranks, and " + world.machine().spec +
                                       " has " + std::to_string(std::uint32_t{world.size()});
            std::printf("%s\n", nlohmann::json{{"skipped", reason}}.dump().c_str());
            return;
        }
        const study::spread ns = is_plain ? time_plain(world, name, is_write)
                                          : time_cached(world, *found, block_bytes, is_write);
        if (world.rank() == measured) study::print_row(frame, {"latency_ns", "ns"}, ns);
    };
}

}  // namespace software_cache
