// SPDX-License-Identifier: Apache-2.0
/// Collectives of long blocks, of ranks that share no memory.
///
///   long_blocks             each kind once; a rank tells how many bytes of data it has put into
///                           messages and how many it has read
///   long_blocks limited     the same, each within a minute
///   long_blocks hasty       rank 0 gives up while it reads what rank 1 has lent
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <selion/selion.hpp>

namespace {

constexpr std::size_t block_words = (std::size_t{1} << 20) / sizeof(std::uint64_t);

void expect(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
}

/// Its memory is its own again then, and the others learn that theirs is.
void give_up_reading(selion::world& world) {
    constexpr std::uint64_t kept = 7;
    const selion::team members = world.split(0);
    const std::vector<std::uint64_t> own(64 * block_words, world.rank() + 1);
    std::vector<std::uint64_t> all(own.size() * world.size());
    const auto begins = selion::allocate<selion::signal>(world, 1);
    if (world.rank() != 0u) {
        selion::notify(begins.on(0), selion::signal_add(1));
        members.gather(std::span(own), std::span(all), 0);
    } else {
        // What is lent has to be known before the time is up: later its owner would wait for ever.
        selion::wait_until(begins, 1);
        const auto known = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (std::chrono::steady_clock::now() < known) selion::progress();
        bool has_given_up = false;
        try {
            members.with_timeout(std::chrono::milliseconds(5))
                .gather(std::span(own), std::span(all), 0);
        } catch (const selion::error& problem) {
            has_given_up = problem.code() == selion::status::timed_out;
        }
        expect(has_given_up, "the gather takes longer than its limit");
        std::ranges::fill(all, kept);
        // Longer than all that is read takes: a read that went on would be seen.
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        expect(std::ranges::all_of(all, [](std::uint64_t one) { return one == kept; }),
               "nobody writes any more");
    }
    world.barrier();
    std::printf("passed\n");
}

/// @param members of the world.
void tell_amounts(const selion::world& world, const selion::team& members) {
    selion::meter sent("sent", "message_bytes:message");
    selion::meter read("read", "message_bytes:get");
    const std::uint64_t rank = world.rank();
    const std::uint64_t size = world.size();
    std::vector<std::uint64_t> given(block_words * size, rank + 1);
    std::vector<std::uint64_t> got(block_words * size);
    members.barrier();
    sent.start();
    read.start();
    const std::span<const std::uint64_t> all(given);
    members.exchange(all, got);
    expect(got.front() == 1 && got.back() == size, "what an exchange brings");
    members.all_gather(all.first(block_words), got);
    expect(got.front() == 1 && got.back() == size, "what an all_gather brings");
    const std::span own = std::span(given).first(block_words);
    members.all_reduce(own, selion::plus);
    expect(own.back() == size * (size + 1) / 2, "the sum");
    members.broadcast(own, static_cast<std::uint32_t>(size - 1));
    sent.stop();
    read.stop();
    std::printf("rank %u: %.0f bytes sent, %.0f read\n", static_cast<unsigned>(world.rank()),
                sent.value(), read.value());
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "";
    return selion::run(argc, argv, [how](selion::world& world) {
        if (how == "hasty") return give_up_reading(world);
        const bool is_limited = how == "limited";
        tell_amounts(world,
                     is_limited ? world.with_timeout(std::chrono::minutes(1)) : world.split(0));
    });
}
