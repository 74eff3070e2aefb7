// SPDX-License-Identifier: Apache-2.0
/// Broadcasts of values and spans from every root.
#include <array>

#include "conformance/memory_parts.hpp"

namespace {

struct coordinates {
    double x, y, z;
    std::uint32_t name;
    bool operator==(const coordinates&) const = default;
};

SPMD_TEST(broadcast, values_from_every_root) {
    for (std::uint32_t root = 0; root < world.size(); ++root) {
        test.equal(world.broadcast(world.rank() * 10 + 1, root), root * 10 + 1);
        test.equal(world.broadcast(static_cast<char>('a' + world.rank() % 26), root),
                   static_cast<char>('a' + root % 26));
        const coordinates own{1.0 / (1 + world.rank()), -2.0, 3e-300, world.rank()};
        test.that(world.broadcast(own, root) == coordinates{1.0 / (1 + root), -2.0, 3e-300, root},
                  "a struct arrives whole");
    }
}

SPMD_TEST(broadcast, large_values) {
    std::array<std::uint32_t, 2500> own;
    own.fill(world.rank() + 3);
    const std::uint32_t root = world.size() - 1;
    const auto all = world.broadcast(own, root);
    test.that(std::ranges::all_of(all, [&](std::uint32_t v) { return v == root + 3; }),
              "all elements are the root's");
}

/// Sizes below, at and above what fits into a message that is sent unasked (48 bytes), into one
/// slot and into two, in bytes.
constexpr std::array<std::size_t, 13> sizes{
    0, 1, 8, 48, 49, 100, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 65536, 65537, 100'001, 131'080};

void broadcast_span(spmd::test_run& test, selion::world& world, std::size_t bytes,
                    std::uint32_t root) {
    std::vector<std::byte> buffer(bytes + 2 * spmd::guard_bytes, spmd::canary);
    const std::span<std::byte> data = std::span(buffer).subspan(spmd::guard_bytes, bytes);
    std::ranges::copy(spmd::message(world.rank(), bytes), data.begin());
    world.broadcast(data, root);
    test.that(std::ranges::equal(data, spmd::message(root, bytes)), "the span is the root's");
    const std::span<const std::byte> all(buffer);
    test.that(spmd::is_untouched(all.first(spmd::guard_bytes)) &&
                  spmd::is_untouched(all.last(spmd::guard_bytes)),
              "the bytes round the span are untouched");
}

SPMD_TEST(broadcast, spans_from_every_root) {
    for (const std::size_t bytes : sizes) {
        for (std::uint32_t root = 0; root < world.size(); ++root) {
            const bool is_quick = bytes <= 100 || world.size() <= 8;
            if (is_quick || root == 0 || root == 37 || root + 1 == world.size()) {
                broadcast_span(test, world, bytes, root);
            }
        }
    }
}

SPMD_TEST(broadcast, spans_of_fixed_extent_are_spans) {
    std::array<std::uint32_t, 5> data{};
    data.fill(world.rank() + 40);
    world.broadcast(std::span(data), 0);
    test.equal(data[4], 40u);
    world.all_reduce(std::span(data), selion::plus);
    test.equal(data[4], 40 * world.size());
}

SPMD_TEST(broadcast, one_after_another_keeps_them_apart) {
    for (std::uint32_t round = 0; round < test.rounds(8000, 40); ++round) {
        const std::uint32_t root = round * 7 % world.size();
        test.equal(world.broadcast(round * 1000 + world.rank(), root), round * 1000 + root);
    }
}

SPMD_TEST(broadcast, span_of_structs) {
    std::vector<coordinates> data(3000, {1, 2, 3, world.rank()});
    data.back().name = world.rank() + 100;
    const std::uint32_t root = world.size() / 2;
    world.broadcast(std::span(data), root);
    test.equal(data.front().name, root);
    test.equal(data.back().name, root + 100);
}

}  // namespace
