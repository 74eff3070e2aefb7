// SPDX-License-Identifier: Apache-2.0
/// Every rank puts some bytes to every other one, and prints a JSON object: ranks, messages, bytes
/// that were delivered, and the virtual time from the first put to the last arrival.
///
///   mesh_flood BYTES [check]
///
/// With `check` each message has a place of its own at its target, and every byte is looked at
/// there; exit status 1 if one is wrong. Without, all messages to a rank have the same place, which
/// is also what the rank sends.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include <selion/selion.hpp>

namespace {

/// What a byte of a message must be.
std::byte content(std::uint32_t from, std::uint32_t to, std::size_t place) {
    return static_cast<std::byte>(from * 131U + to * 31U + static_cast<std::uint32_t>(place) * 7U +
                                  1U);
}

std::uint64_t wrong_bytes(const selion::world& world, std::span<const std::byte> memory,
                          std::size_t bytes) {
    std::uint64_t wrong = 0;
    for (std::uint32_t from = 0; from < world.size(); ++from) {
        if (from == world.rank()) continue;
        for (std::size_t i = 0; i < bytes; ++i) {
            wrong += memory[from * bytes + i] != content(from, world.rank(), i);
        }
    }
    return wrong;
}

int flood(selion::world& world, std::size_t bytes, bool checks) {
    const std::uint32_t self = world.rank();
    const std::size_t places = checks ? world.size() : 1;
    const auto memory = selion::allocate_local<std::byte>(world, bytes * places, 64);
    const std::span<std::byte> own(memory.on(self).local(), bytes * places);
    std::vector<std::byte> made(checks ? bytes : 0);
    const std::span<const std::byte> data = checks ? made : own;
    world.barrier();
    const std::int64_t start_ps = world.now_ps();
    for (std::uint32_t i = 1; i < world.size(); ++i) {
        const std::uint32_t to = (self + i) % world.size();
        for (std::size_t k = 0; checks && k < bytes; ++k) made[k] = content(self, to, k);
        const std::size_t place = checks ? self * bytes : 0;
        selion::put(memory.on(to) + static_cast<std::ptrdiff_t>(place), data);
    }
    selion::quiet();
    const auto taken_ps = static_cast<std::uint64_t>(world.now_ps() - start_ps);
    const std::uint64_t longest_ps = world.all_reduce(taken_ps, selion::maximum);
    world.barrier();
    const std::uint64_t wrong =
        world.all_reduce(checks ? wrong_bytes(world, own, bytes) : 0, selion::plus);
    if (self != 0) return 0;
    const std::uint64_t messages = std::uint64_t{world.size()} * (world.size() - 1);
    std::printf("{\"ranks\":%u,\"messages\":%llu,\"bytes\":%llu,\"ps\":%llu,\"checked\":%s}\n",
                world.size(), static_cast<unsigned long long>(messages),
                static_cast<unsigned long long>(messages * bytes),
                static_cast<unsigned long long>(longest_ps), checks ? "true" : "false");
    if (wrong == 0) return 0;
    std::fprintf(stderr, "mesh_flood: %llu bytes are wrong\n",
                 static_cast<unsigned long long>(wrong));
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    const bool checks = argc > 2 && std::string_view(argv[2]) == "check";
    if (bytes == 0 || argc > 3 || (argc == 3 && !checks)) {
        std::fprintf(stderr, "usage: mesh_flood BYTES [check]\n");
        return 2;
    }
    return selion::run(argc, argv,
                       [&](selion::world& world) { return flood(world, bytes, checks); });
}
