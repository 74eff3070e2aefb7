// SPDX-License-Identifier: Apache-2.0
/// Ranks that use coherent memory without calls, and what makes them look after their messages.
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <selion/cached_array.hpp>

#include "conformance/spmd.hpp"

namespace {

using numbers = selion::cached_array<std::uint64_t, 1>;
constexpr std::size_t in_block = 8;
constexpr selion::cached always{.block_bytes = in_block * sizeof(std::uint64_t),
                                .protocol = selion::cache_protocol::always};

void compute(selion::world& world, int milliseconds) {
    if (!world.machine().capabilities.real_time) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

SPMD_TEST(cached_calls, more_messages_than_one_look_takes) {
    if (world.size() < 2) return;
    constexpr std::size_t blocks = 200;
    const selion::coherent_space space(world, 1 << 16, always);
    const numbers data(space, {blocks * in_block}, selion::runs{0}, "data");
    const numbers flag(space, {in_block}, selion::runs{0}, "flag");
    world.barrier();
    if (world.rank() == 1) {
        std::vector<std::uint64_t> into(blocks * in_block);
        data.read({{0}, {into.size()}}, into);
        flag(0) = 1;
    }
    if (world.rank() == 0) {
        compute(world, 20);
        while (flag(0).get() == 0) {
        }
    }
    world.barrier();
    selion::deallocate(world, space);
}

/// Rank 1's handlers find no room at rank 0, and what they could not send leaves when rank 0 has
/// looked already.
SPMD_TEST(cached_calls, messages_that_leave_late_call_as_well) {
    if (world.size() != 3) return;
    constexpr std::size_t elements = 515 * in_block;
    const selion::coherent_space space(world, 1 << 18, always);
    const numbers data(space, {3 * elements}, selion::runs{elements}, "data");
    const numbers flag(space, {in_block}, selion::runs{0}, "flag");
    const auto go = selion::allocate<selion::signal>(world, 1);
    world.barrier();
    if (world.rank() == 0) {
        for (std::size_t i = 0; i < elements; i += in_block) data(elements + i) = i;
        selion::notify(go.on(2), selion::signal_set(1));
        compute(world, 200);
        while (selion::progress()) {
        }
        static_cast<void>(std::uint64_t{flag(0)});
        while (selion::progress()) {
        }
        while (flag(0).get() == 0) {
        }
    } else if (world.rank() == 1) {
        selion::wait_until(go, 1);
        compute(world, 400);
    } else {
        selion::wait_until(go, 1);
        std::vector<std::uint64_t> into(elements);
        selion::transfers under_way;
        data.get(under_way, {{elements}, {elements}}, into);
        compute(world, 100);
        selion::notify(go.on(1), selion::signal_set(1));
        under_way.sync();
        test.equal(into[in_block], std::uint64_t{in_block});
        flag(0) = 1;
    }
    world.barrier();
    selion::deallocate(world, go);
    selion::deallocate(world, space);
}

SPMD_TEST(cached_calls, hints_wait_for_no_room) {
    selion::cached how = always;
    how.capacity_bytes = 4 * how.block_bytes;
    const numbers data(world, {world.size() * 64 * in_block}, selion::runs{64 * in_block}, how);
    const std::size_t start = test.neighbour() * 64 * in_block;
    world.barrier();
    data.prefetch({{start}, {64 * in_block}});
    for (std::size_t i = 0; i < 64; ++i) test.equal(data(start + i * in_block).get(), 0u);
    world.barrier();
    selion::deallocate(world, data);
}

SPMD_TEST(cached_calls, a_loop_over_own_elements_is_the_programs_line) {
    selion::cached how = always;
    how.has_statistics = true;
    const numbers data(world, {world.size() * in_block}, selion::runs{in_block}, how);
    world.barrier();
    data.for_mine([](auto element, std::size_t index) { element = index; });
    bool is_here = false;
    for (const selion::access_line& line : data.space().accesses_by_line()) {
        is_here |= line.file.find("cached_calls_test") != std::string::npos;
    }
    test.that(is_here, "the line of the program is named");
    world.barrier();
    selion::deallocate(world, data);
}

SPMD_TEST(cached_calls, sizes_that_are_no_numbers_are_refused) {
    const auto code_of = [](const auto& make) {
        try {
            make();
        } catch (const selion::error& trouble) {
            return trouble.code();
        }
        return selion::status::timed_out;
    };
    const auto full = selion::status::out_of_memory;
    const std::size_t half = std::size_t{1} << 31;
    test.that(code_of([&] {
                  selion::cached_array<std::uint64_t, 2>(world, {half, half / 2}, selion::runs{0},
                                                         always);
              }) == full,
              "an array of 2^61 elements");
    test.that(code_of([&] { selion::coherent_space(world, SIZE_MAX - 5, always); }) == full,
              "a space of nearly 2^64 bytes");
    const selion::coherent_space space(world, 4096, always);
    test.that(code_of([&] { space.take<double>((std::size_t{1} << 61) + 1); }) == full,
              "elements whose bytes are more than 2^64");
    selion::deallocate(world, space);
}

}  // namespace
