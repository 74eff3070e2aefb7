// SPDX-License-Identifier: Apache-2.0
/// Ranks that use coherent memory without calls, and what makes them look after their messages.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <selion/cached_array.hpp>

#include "conformance/memory_parts.hpp"
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

selion::arrival do_nothing(const std::size_t&, selion::message_info) { return {}; }

/// To rank 0, which has no room for so many.
void send_more_than_fits() {
    for (std::size_t i = 0; i < 5000; ++i) selion::send(0, do_nothing, i);
}

/// Rank 0 looks at its messages only when it is called; rank 1's own messages come behind those
/// that its handler could not send.
SPMD_TEST(cached_calls, what_a_handler_has_kept_calls_again) {
    if (world.size() < 2) return;
    const numbers data(world, {world.size() * in_block}, selion::runs{in_block}, always);
    world.barrier();
    static_cast<void>(std::uint64_t{data(in_block)});
    world.barrier();
    if (world.rank() == 0) {
        while (data(in_block).get() == 0) {
        }
    } else if (world.rank() == 1) {
        selion::rpc(1, [] { send_more_than_fits(); }).wait();
        data(in_block) = 1;
    }
    world.barrier();
    selion::deallocate(world, data);
}

/// What a handler finds of its rank.
struct own_numbers {
    std::uintptr_t array;
    selion::signal counted;
};

selion::arrival count_up(const selion::global_ptr<own_numbers>& where, selion::message_info) {
    const auto& data = *reinterpret_cast<const numbers*>(where.local()->array);
    for (std::size_t i = 0; i < in_block; ++i) data(where.rank() * in_block + i) += 1;
    selion::notify(where.member(&own_numbers::counted), selion::signal_add(1));
    return {};
}

/// More accesses than ranks of one thread make before others have their turn.
SPMD_TEST(cached_calls, handlers_use_what_their_rank_has) {
    if (world.progress() == selion::progress_kind::interrupt) return;
    const numbers data(world, {world.size() * in_block}, selion::runs{in_block}, always);
    spmd::symmetric_array<own_numbers> own(world, 1);
    own.mine()->array = reinterpret_cast<std::uintptr_t>(&data);
    world.barrier();
    constexpr std::uint64_t messages = 50;
    const selion::rank_id to = test.neighbour();
    for (std::uint64_t i = 0; i < messages; ++i) selion::send(to, count_up, own.at(to));
    selion::wait_until(own.own().member(&own_numbers::counted), messages);
    for (std::size_t i = 0; i < in_block; ++i) {
        test.equal(data(world.rank() * in_block + i).get(), messages);
    }
    world.barrier();
    selion::deallocate(world, data);
}

/// Of the array in the header's memory.
selion::arrival look_at(const selion::global_ptr<own_numbers>& where, selion::message_info) {
    const auto& data = *reinterpret_cast<const numbers*>(where.local()->array);
    selion::notify(where.member(&own_numbers::counted), selion::signal_add(1 + data(1).get() % 2));
    return {};
}

selion::arrival nothing(const int&, selion::message_info) { return {}; }

/// A handler's access sees no mail, and what called before it is heard all the same.
SPMD_TEST(cached_calls, a_handler_that_looks_takes_no_call_away) {
    if (world.size() < 2 || world.progress() == selion::progress_kind::interrupt) return;
    const numbers data(world, {world.size() * in_block}, selion::runs{in_block}, always);
    spmd::symmetric_array<own_numbers> own(world, 1);
    own.mine()->array = reinterpret_cast<std::uintptr_t>(&data);
    world.barrier();
    if (world.rank() == 0) {
        compute(world, 20);
        selion::progress();
        while (data(0).get() == 0) {
        }
    } else if (world.rank() == 1) {
        constexpr int more_than_one_look = 100;
        selion::send(0, look_at, own.at(0));
        for (int i = 0; i < more_than_one_look; ++i) selion::send(0, nothing, i);
        data(0) = 1;
    }
    world.barrier();
    selion::deallocate(world, data);
}

/// A rank that only hits looks after no messages of the program's; who waits for room there calls.
SPMD_TEST(cached_calls, messages_that_fill_the_way_are_taken_by_who_only_hits) {
    if (world.size() < 2) return;
    const numbers data(world, {world.size() * in_block}, selion::runs{in_block}, always);
    world.barrier();
    if (world.rank() == 0) {
        while (data(0).get() == 0) {
        }
    } else if (world.rank() == 1) {
        constexpr int more_than_there_is_room_for = 1500;
        for (int i = 0; i < more_than_there_is_room_for; ++i) selion::send(0, nothing, i);
        data(0) = 1;
    }
    world.barrier();
    selion::deallocate(world, data);
}

/// Rank 1 computes while rank 0, which has more to send than there is room for, gives up a
/// collective.
SPMD_TEST(cached_calls, a_release_that_runs_out_of_time_loses_nothing) {
    if (world.size() != 2 || !world.machine().capabilities.real_time) return;
    constexpr std::size_t elements = std::size_t{1} << 20;
    const selion::cached how{.block_bytes = 1024,
                             .protocol = selion::cache_protocol::always,
                             .consistency = selion::memory_consistency::release,
                             .writes = selion::write_protocol::update};
    const numbers data(world, {2 * elements}, selion::runs{elements}, how);
    const selion::team alone = world.split(0, world.rank());
    const selion::team limited = alone.with_timeout(std::chrono::milliseconds(100));
    if (world.rank() == 0) {
        std::vector<std::uint64_t> copies(elements);
        data.read({{elements}, {elements}}, copies);
    }
    world.barrier();
    if (world.rank() == 0) {
        for (std::size_t i = elements; i < 2 * elements; ++i) data(i) = i;
        try {
            limited.barrier();
        } catch (const selion::error& trouble) {
            test.that(trouble.code() == selion::status::timed_out, trouble.what());
        }
    } else {
        compute(world, 400);
    }
    world.barrier();
    std::size_t wrong = 0;
    for (std::size_t i = elements; i < 2 * elements; ++i) wrong += data(i).get() == i ? 0 : 1;
    test.equal(wrong, std::size_t{0});
    world.barrier();
    selion::deallocate(world, data);
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

SPMD_TEST(cached_calls, a_hint_brings_its_first_blocks_once) {
    constexpr std::size_t room = 8;
    selion::cached how = always;
    how.capacity_bytes = room * how.block_bytes;
    const numbers data(world, {world.size() * 64 * in_block}, selion::runs{64 * in_block}, how);
    const std::size_t start = test.neighbour() * 64 * in_block;
    world.barrier();
    for (std::size_t i = 60; i < 64; ++i) test.equal(data(start + i * in_block).get(), 0u);
    data.prefetch({{start}, {48 * in_block}});
    for (std::size_t i = 0; i < room; ++i) test.equal(data(start + i * in_block).get(), 0u);
    const selion::cache_counts counts = data.space().counts();
    const std::uint64_t early = world.size() == 1 ? 0 : room;
    test.equal(counts.prefetched, early);
    test.equal(counts.prefetched_used, early);
    test.equal(counts.blocks_received, world.size() == 1 ? 0 : early + 4);
    world.barrier();
    selion::deallocate(world, data);
}

SPMD_TEST(cached_calls, a_scan_with_little_room_brings_each_block_once) {
    constexpr std::size_t blocks = 200;
    for (const std::size_t room : {2, 4, 16}) {
        selion::cached how = always;
        how.capacity_bytes = room * how.block_bytes;
        how.prefetch = selion::prefetch_kind::next;
        how.prefetch_blocks = 16;
        const std::size_t each = blocks * in_block;
        const numbers data(world, {world.size() * each}, selion::runs{each}, how);
        const std::size_t start = test.neighbour() * each;
        world.barrier();
        for (std::size_t i = 0; i < each; ++i) test.equal(data(start + i).get(), 0u);
        const selion::cache_counts counts = data.space().counts();
        test.equal(counts.blocks_received, world.size() == 1 ? 0 : blocks);
        test.equal(counts.prefetched_used, counts.prefetched);
        world.barrier();
        selion::deallocate(world, data);
    }
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

/// Nobody waits for what rank 2 fetches beforehand, so its home has time to compute while the data
/// that it has asked rank 1 for are on their way.
SPMD_TEST(cached_calls, a_flush_waits_for_what_has_been_asked_for) {
    if (world.size() < 3) return;
    const numbers data(world, {world.size() * in_block}, selion::runs{in_block}, always);
    const auto bell = selion::allocate<selion::signal>(world, 1);
    if (world.rank() == 1) data(0) = 42;
    world.barrier();
    if (world.rank() == 2) {
        data.prefetch({{0}, {1}});
        selion::notify(bell.on(0), selion::signal_set(1));
    } else if (world.rank() == 0) {
        selion::wait_until(bell, 1);
        for (int look = 0; look < 20; ++look) selion::progress();
        selion::notify(bell.on(1), selion::signal_set(1));
        compute(world, 20);
    } else if (world.rank() == 1) {
        selion::wait_until(bell.on(1), 1);
        data.space().flush();
        test.equal(selion::get(data.memory().address_of({0})), std::uint64_t{42});
    }
    world.barrier();
    if (world.rank() == 0) test.equal(data.memory().local()[0], std::uint64_t{42});
    world.barrier();
    selion::deallocate(world, bell);
    selion::deallocate(world, data);
}

struct meeting {
    selion::signal begun;  ///< at rank 1: the completion handler of rank 0 runs
    selion::signal over;   ///< at rank 0: rank 1 has its block
};

/// Waits for rank 1, which waits for a block of rank 0's; meanwhile another thread serves for it.
selion::arrival meet(const selion::global_ptr<meeting>& own, selion::message_info) {
    return {.completion =
                [](void* argument) {
                    auto& here = *static_cast<meeting*>(argument);
                    const selion::global_ptr<meeting> all = selion::to_global(&here);
                    selion::notify(all.on(1).member(&meeting::begun), selion::signal_add(1));
                    std::this_thread::sleep_for(std::chrono::milliseconds(2));
                    selion::wait_until(all.member(&meeting::over), 1);
                },
            .argument = own.local(),
            .may_wait = true};
}

/// The rank's own stack runs a completion handler, which waits for who waits for the rank's part of
/// the space; a thread that has joined takes the message.
SPMD_TEST(cached_calls, a_handler_that_waits_keeps_nobody_from_the_ranks_blocks) {
    if (world.size() < 2) return;
    if (world.thread_level() != selion::thread_level::multiple) {
        return test.skip("the job's thread level is not multiple");
    }
    const numbers data(world, {world.size() * in_block}, selion::runs{in_block}, always);
    for (std::uint32_t round = 0; round < test.rounds(20, 3); ++round) {
        spmd::symmetric_array<meeting> all(world, 1);
        data(world.rank() * in_block) = 1;
        world.barrier();
        if (world.rank() == 0) {
            std::atomic<bool> is_over = false;
            std::jthread other([&] {
                const selion::rank_scope scope(world);
                while (!is_over) selion::progress();
            });
            selion::wait_until(all.own().member(&meeting::over), 1);
            is_over = true;
        } else if (world.rank() == 1) {
            selion::counter complete;
            selion::send(0, meet, all.at(0), {}, {.completion = &complete});
            selion::wait_until(all.own().member(&meeting::begun), 1);
            data(0) = 2;
            selion::notify(all.at(0).member(&meeting::over), selion::signal_add(1));
            complete.wait(1);
        }
        world.barrier();
        test.equal(data(0).get(), std::uint64_t{2});
        world.barrier();
    }
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
