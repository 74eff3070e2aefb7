// SPDX-License-Identifier: Apache-2.0
/// Collectives of long blocks, of ranks that share no memory.
///
///   long_blocks             each kind once; a rank tells how many bytes of data it has put into
///                           messages and how many it has read
///   long_blocks limited     the same, each within a minute
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include <selion/selion.hpp>

namespace {

constexpr std::size_t block_words = (std::size_t{1} << 20) / sizeof(std::uint64_t);

void expect(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    const bool is_limited = argc > 1 && argv[1] == std::string_view("limited");
    return selion::run(argc, argv, [is_limited](selion::world& world) {
        selion::meter sent("sent", "message_bytes:message");
        selion::meter read("read", "message_bytes:get");
        const std::uint64_t rank = world.rank();
        const std::uint64_t size = world.size();
        std::vector<std::uint64_t> given(block_words * size, rank + 1);
        std::vector<std::uint64_t> got(block_words * size);
        const selion::team members =
            is_limited ? world.with_timeout(std::chrono::minutes(1)) : world.split(0);
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
    });
}
