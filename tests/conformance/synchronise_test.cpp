// SPDX-License-Identifier: Apache-2.0
/// Barriers really separate what comes before from what comes after.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "conformance/memory_parts.hpp"

namespace {

SPMD_TEST(barrier, separates_phases_of_puts) {
    // In each phase every rank writes to some others; after the barrier the values are there.
    constexpr std::uint32_t reach = 4;
    spmd::symmetric_array<std::uint64_t> cells(world, reach);
    for (std::uint64_t phase = 1; phase <= test.rounds(6000, 30); ++phase) {
        for (std::uint32_t d = 0; d < reach; ++d) {
            selion::put(cells.at(test.neighbour(d + 1), d), phase * 1000 + world.rank());
        }
        world.barrier();
        for (std::uint32_t d = 0; d < reach; ++d) {
            test.equal(cells.mine()[d], phase * 1000 + test.neighbour_before(d + 1));
        }
        world.barrier();
    }
}

template <class Synchronise>
void count_arrivals(spmd::test_run& test, selion::world& world, Synchronise synchronise) {
    spmd::symmetric_array<std::uint64_t> arrivals(world, 1);
    const auto counter = arrivals.at(world.size() - 1);
    for (std::uint64_t phase = 1; phase <= test.rounds(6000, 30); ++phase) {
        test.at_least(phase * world.size(), selion::fetch_add(counter, 1) + 1);
        synchronise();
        // All have arrived, and nobody begins the next phase before all have looked.
        test.equal(selion::atomic_get(counter), phase * world.size());
        synchronise();
    }
}

SPMD_TEST(barrier, nobody_leaves_before_all_have_come) {
    count_arrivals(test, world, [&] { world.barrier(); });
}

SPMD_TEST(sync, nobody_leaves_before_all_have_come) {
    count_arrivals(test, world, [&] { world.sync(); });
}

SPMD_TEST(barrier, mixes_with_sync) {
    spmd::symmetric_array<std::uint64_t> arrivals(world, 1);
    for (std::uint64_t phase = 1; phase <= test.rounds(3000, 20); ++phase) {
        selion::fetch_add(arrivals.at(0), 1);
        for (std::uint64_t i = 0; i < test.common_random()() % 4; ++i) world.sync();
        world.barrier();
        test.equal(selion::atomic_get(arrivals.at(0)), phase * world.size());
        world.sync();
    }
}

SPMD_TEST(barrier, waits_for_the_last_whoever_that_is) {
    spmd::symmetric_array<std::uint32_t> last(world, 1);
    const spmd::way_giver way(world);
    for (std::uint32_t round = 1; round <= test.rounds(60, 8); ++round) {
        const std::uint32_t late = round % world.size();
        if (world.rank() == late) {
            for (int i = 0; i < 50; ++i) way();
            selion::put(last.at(0), round);
        }
        world.barrier();
        test.equal(selion::get(last.at(0)), round);
        world.barrier();
    }
}

SPMD_TEST(barrier, works_for_a_team) {
    const selion::team& everybody = world;
    spmd::symmetric_array<std::uint32_t> cell(world, 1);
    for (std::uint32_t round = 1; round <= 5; ++round) {
        selion::put(cell.at(test.neighbour()), round);
        everybody.barrier();
        test.equal(*cell.mine(), round);
        everybody.sync();
    }
}

SPMD_TEST(synchronise, in_two_halves) {
    spmd::symmetric_array<std::uint64_t> cells(world, 2);
    const selion::team half = world.split(world.rank() % 2);
    const std::uint32_t size = world.size();
    const std::uint32_t before = (world.rank() + size - 1) % size;
    for (std::uint64_t turn = 1; turn <= 50; ++turn) {
        selion::put(cells.at(test.neighbour(), turn % 2), turn * 1000 + world.rank());
        world.arrive();
        half.barrier();  // of another team
        world.wait();
        test.equal(selion::get(cells.own(turn % 2)), turn * 1000 + before);
        half.arrive();
        test.equal(world.all_reduce(1u, selion::plus), size);
        half.wait();
    }
}

/// Words that all ranks of a host see without a call.
class words_beside {
public:
    explicit words_beside(selion::world& world) {
        const std::string path =
            "/tmp/selion-synchronise-" + std::to_string(world.broadcast(::getpid(), 0));
        if (world.rank() == 0) open(path, O_CREAT | O_EXCL);
        world.barrier();
        if (world.rank() != 0) open(path, 0);
        world.barrier();
        if (world.rank() == 0) ::unlink(path.c_str());
    }
    ~words_beside() { ::munmap(words_, bytes); }
    words_beside(const words_beside&) = delete;
    words_beside& operator=(const words_beside&) = delete;

    std::atomic_ref<std::uint64_t> operator[](std::size_t which) const {
        return std::atomic_ref(words_[which]);
    }

private:
    static constexpr std::size_t bytes = 4096;

    void open(const std::string& path, int how) {
        const int file = ::open(path.c_str(), O_RDWR | how, S_IRUSR | S_IWUSR);
        if (how != 0) {
            EXPECT_EQ(::ftruncate(file, bytes), 0);
        }
        words_ = static_cast<std::uint64_t*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        ::close(file);
    }

    std::uint64_t* words_ = nullptr;
};

/// Looks at something for as long as a test may take. @param calls whether it makes progress.
template <class Look>
bool becomes_so(bool calls, const Look& look) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!look()) {
        if (std::chrono::steady_clock::now() > end) return false;
        calls ? static_cast<void>(selion::progress()) : std::this_thread::yield();
    }
    return true;
}

/// A rank computes between the halves until all others have left the barrier. In every other turn
/// it comes last; in the others it may have to take what is under way to it when they come.
void hold_nobody(spmd::test_run& test, selion::world& world, const selion::team& team) {
    const words_beside words(world);
    const std::uint64_t others = world.size() - 1;
    const selion::machine_description& machine = world.machine();
    // What is sent over a network may need a call of its sender to leave.
    const bool has_network = machine.kind == "fabric" && !machine.capabilities.shares_memory;
    const bool needs_calls = has_network || machine.carriers < machine.ranks;
    for (std::uint64_t turn = 1; turn <= 2 * world.size(); ++turn) {
        const auto arrived = words[0];
        const auto left = words[1];
        const bool is_last = turn % 2 == 0;
        if (world.rank() != turn / 2 % world.size()) {
            team.arrive();
            ++arrived;
            team.wait();
            ++left;
        } else {
            if (is_last) {
                test.that(becomes_so(true, [&] { return arrived == others * turn; }),
                          "the others arrive");
            }
            team.arrive();
            test.that(becomes_so(needs_calls || !is_last, [&] { return left == others * turn; }),
                      "nobody waits for a rank that has arrived");
            team.wait();
        }
        world.barrier();
    }
}

/// The same in virtual time.
void hold_nobody_for_long(spmd::test_run& test, selion::world& world, const selion::team& team) {
    constexpr std::int64_t long_ns = 10'000'000'000;
    for (std::uint32_t turn = 1; turn <= 2 * world.size(); ++turn) {
        world.barrier();
        const bool is_late = turn / 2 % world.size() == world.rank();
        if (is_late && turn % 2 == 0) selion::charge(selion::nanoseconds(long_ns / 10));
        team.arrive();
        if (is_late) selion::charge(selion::nanoseconds(long_ns));
        const std::int64_t start = world.now();
        team.wait();
        test.at_least(long_ns / 5, world.now() - start);
    }
}

SPMD_TEST(synchronise, nobody_waits_for_who_has_arrived) {
    const selion::team team = world.split(0, -std::int64_t{world.rank()});
    const bool is_mapped = world.explain(selion::collective_kind::barrier, 0).choice.way ==
                           selion::collective_way::slots;
    if (!is_mapped && world.size() > 32) return test.skip("so many pass on who has arrived");
    const selion::machine_description& machine = world.machine();
    if (machine.spec.find("multispert") != std::string::npos) {
        return test.skip("a bus that leaves computing boards alone holds up who signals them");
    }
    if (!world.machine().capabilities.real_time) {
        hold_nobody_for_long(test, world, world);
        return hold_nobody_for_long(test, world, team);
    }
    hold_nobody(test, world, world);
    hold_nobody(test, world, team);
}

}  // namespace
