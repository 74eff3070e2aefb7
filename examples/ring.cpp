// SPDX-License-Identifier: Apache-2.0
//
// A token goes round the ring of ranks, from neighbour to neighbour. Each rank adds its number,
// counted from 1. The smallest program with a one-sided message: the receiver only waits.
#include <cinttypes>
#include <cstdint>
#include <cstdio>

#include <selion/selion.hpp>

#include "command_line.hpp"
#include "printed.hpp"

namespace {

struct token {
    std::uint64_t sum = 0;
    std::uint64_t hops = 0;
};

/// Where a rank's predecessor puts the token. Token and signal share a line of 64 bytes, so they
/// travel together.
struct alignas(64) mailbox {
    token came;
    selion::signal arrived;
};

/// What rank 0 says in the end. @return the exit status.
int report(const selion::world& world, const token& back, std::uint64_t rounds,
           std::int64_t took_ns) {
    const std::uint64_t size = world.size();
    const std::uint64_t hops = rounds * size;
    const std::uint64_t sum = rounds * (size * (size + 1) / 2);
    if (back.hops != hops || back.sum != sum) {
        std::fprintf(stderr,
                     "ring: the token came back with sum %" PRIu64 " after %" PRIu64
                     " hops; it should be %" PRIu64 " after %" PRIu64 "\n",
                     back.sum, back.hops, sum, hops);
        return 1;
    }
    std::printf("%" PRIu64 " rounds over %" PRIu64 " ranks: sum %" PRIu64
                ", as it must be; a hop took %.0f ns\n",
                rounds, size, sum, static_cast<double>(took_ns) / static_cast<double>(hops));
    return 0;
}

int pass_round(selion::world& world, std::uint64_t rounds) {
    const auto mine = selion::allocate<mailbox>(world, 1);
    const auto next = mine.on((world.rank() + 1) % world.size());

    token held;
    const auto receive = [&](std::uint64_t round) {
        selion::wait_until(mine.member(&mailbox::arrived), round);
        held = mine.local()->came;
    };
    const bool begins = world.rank() == 0;
    const std::int64_t start = world.now();
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        if (!begins) receive(round);
        held.sum += world.rank() + 1;
        ++held.hops;
        // One mailbox is enough, because nobody sends again before the token has been all the way
        // round. Signals count rounds and are never reset, so none can be reset too early.
        selion::put_signal(next.member(&mailbox::came), held, next.member(&mailbox::arrived),
                           selion::signal_set(round));
        if (begins) receive(round);
    }
    const std::int64_t took_ns = world.now() - start;

    int status = 0;
    if (world.rank() == 0) {
        status = examples::printed("ring", report(world, held, rounds, took_ns));
    }
    selion::deallocate(world, mine);
    return status;
}

constexpr const char* help = R"(ring: a token goes round all ranks

  --rounds N   how often [1000]
  --help       print this

SELION_MACHINE chooses where it runs. Exit status: 0, 1 if the token comes back wrong, 2 for an
argument or an output that cannot be used.
)";

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t rounds = 1000;
    examples::command_line line("ring", help);
    line.number<std::uint64_t>("--rounds", rounds, 1, 1'000'000'000);
    if (const auto status = line.read(argc, argv)) return *status;
    return selion::run(argc, argv, [&](selion::world& world) { return pass_round(world, rounds); });
}
