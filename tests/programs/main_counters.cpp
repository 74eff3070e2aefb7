// SPDX-License-Identifier: Apache-2.0
// Ranks count on words in main's frame, whose place within a cache line the kernel chooses anew in
// each run. Prints the picoseconds that it takes.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>

#include <selion/selion.hpp>

namespace {

constexpr std::size_t messages = 8;

selion::arrival take(const std::uint64_t&, selion::message_info) { return {}; }

}  // namespace

int main(int argc, char** argv) {
    std::array<selion::counter, messages> counters;
    return selion::run(argc, argv, [&](selion::world& world) {
        world.barrier();
        if (world.rank() != 0) return world.barrier();
        const std::array<std::uint64_t, 8> data{};
        const std::int64_t begun = world.now_ps();
        for (std::uint64_t k = 0; k < messages; ++k) {
            const auto target = static_cast<std::uint32_t>((k + 1) % world.size());
            selion::send(target, take, k, std::as_bytes(std::span(data)),
                         {.completion = &counters[k]});
        }
        for (selion::counter& each : counters) each.wait(1);
        std::printf("%lld\n", static_cast<long long>(world.now_ps() - begun));
        world.barrier();
    });
}
