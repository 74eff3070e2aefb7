// SPDX-License-Identifier: Apache-2.0
#include "selion/spread_layout.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>

#include "selion/error.hpp"

namespace selion {
namespace {

using testing::HasSubstr;

template <std::size_t N>
coordinates<N> first_index() {
    return {};
}

/// Calls `what` with each element's indices, and where it should lie.
template <std::size_t N, class Function>
void for_elements(const spread_layout<N>& layout, const typename spread_layout<N>::tile& tile,
                  const Function& what) {
    const coordinates<N> strides = row_major(layout.tile_extents());
    coordinates<N> within = first_index<N>();
    do {
        coordinates<N> at;
        std::size_t local = tile.local;
        for (std::size_t d = 0; d < N; ++d) {
            at[d] = tile.elements.first[d] + within[d];
            local += within[d] * strides[d];
        }
        what(at, local);
    } while (detail::advance(within, tile.elements.extents));
}

/// Each element has a place of its own, and the tiles of all ranks are all elements.
template <std::size_t N>
void expect_complete(const spread_layout<N>& layout, std::uint32_t ranks) {
    std::set<std::pair<std::uint32_t, std::size_t>> places;
    std::map<coordinates<N>, std::pair<std::uint32_t, std::size_t>> place_of;
    coordinates<N> index = first_index<N>();
    do {
        const auto place = layout.place_of(index);
        ASSERT_LT(place.rank, ranks);
        ASSERT_LT(place.local, layout.local_size());
        ASSERT_TRUE(places.emplace(place.rank, place.local).second);
        place_of[index] = {place.rank, place.local};
    } while (detail::advance(index, layout.extents()));
    std::size_t seen = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::size_t last = 0;
        for (std::size_t number = 0; number < layout.tiles_of(rank); ++number) {
            const auto tile = layout.tile_of(rank, number);
            ASSERT_TRUE(number == 0 || tile.local > last) << "tiles are in the order of memory";
            last = tile.local;
            seen += size_of(tile.elements);
            for_elements(layout, tile, [&](const coordinates<N>& at, std::size_t local) {
                ASSERT_EQ(place_of.at(at), std::pair(rank, local));
            });
        }
    }
    EXPECT_EQ(seen, place_of.size());
}

/// What is said of a layout that is not possible.
template <class Function>
std::string text(const Function& make) {
    try {
        make();
    } catch (const error& trouble) {
        return trouble.what();
    }
    return "nothing";
}

TEST(spread_layout, one_dimension_needs_no_grid) {
    const spread_layout<1> plain({13}, cyclic(4), 4);
    EXPECT_EQ(plain, spread_layout<1>({13}, on_grid(cyclic(4)), 4));
    EXPECT_NE(plain, spread_layout<1>({13}, block(4), 4));
}

TEST(spread_layout, every_element_has_its_place) {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 6u, 7u, 16u}) {
        for (const std::size_t extent : {1u, 2u, 5u, 12u, 13u}) {
            expect_complete<1>({{extent}, tiles(3), ranks}, ranks);
            expect_complete<1>({{extent}, runs{4}, ranks}, ranks);
            expect_complete<1>({{extent}, on_grid(block(ranks)), ranks}, ranks);
            expect_complete<1>({{extent}, on_grid(cyclic(ranks)), ranks}, ranks);
            expect_complete<1>({{extent}, block_cyclic(2, ranks), ranks}, ranks);
            expect_complete<2>({{extent, 7}, tiles(2, 3), ranks}, ranks);
            expect_complete<2>({{extent, 12}, runs{6}, ranks}, ranks);
            expect_complete<2>({{extent, 12}, runs{24}, ranks}, ranks);
            expect_complete<2>({{extent, 12}, runs{0}, ranks}, ranks);
            expect_complete<2>({{extent, 9}, on_grid(block(ranks), whole()), ranks}, ranks);
            expect_complete<3>({{extent, 3, 4}, tiles(1, 1, 1), ranks}, ranks);
        }
    }
    expect_complete<2>({{10, 13}, on_grid(block_cyclic(2, 3), cyclic(2)), 7}, 7);
    expect_complete<2>({{9, 5}, on_grid(block(4), block(2)), 8}, 8);
    expect_complete<3>({{5, 6, 7}, on_grid(cyclic(2), block(2), block_cyclic(2, 2)), 8}, 8);
}

TEST(spread_layout, tiles_go_to_ranks_in_turn_as_in_split_c) {
    // double A[3][2]::[2][2] on 4 processors.
    const spread_layout<2> layout({6, 4}, tiles(2, 2), 4);
    using place = spread_layout<2>::place;
    EXPECT_EQ(layout.place_of({0, 0}), (place{0, 0}));
    EXPECT_EQ(layout.place_of({1, 3}), (place{1, 3}));
    EXPECT_EQ(layout.place_of({2, 1}), (place{2, 1}));
    EXPECT_EQ(layout.place_of({4, 0}), (place{0, 4})) << "the fifth tile is rank 0's second";
    EXPECT_EQ(layout.place_of({5, 2}), (place{1, 6}));
    EXPECT_EQ(layout.local_size(), 8u);
}

TEST(spread_layout, runs_go_to_ranks_in_turn_as_in_upc) {
    // shared [3] double A[10], THREADS = 2: upc_threadof and upc_phaseof of A[7] are 0 and 1.
    const spread_layout<1> layout({10}, runs{3}, 2);
    EXPECT_EQ(layout.place_of({7}).rank, 0u);
    EXPECT_EQ(layout.place_of({7}).local, 3u + 1u);
    EXPECT_EQ(layout.place_of({9}).rank, 1u);
    const spread_layout<2> rows({4, 6}, runs{12}, 2);
    EXPECT_EQ(rows.place_of({1, 5}).rank, 0u);
    EXPECT_EQ(rows.place_of({2, 0}).rank, 1u);
    const spread_layout<1> one({10}, runs{0}, 2);
    EXPECT_EQ(one.place_of({9}).rank, 0u);
    EXPECT_EQ(one.place_of({9}).local, 9u);
}

TEST(spread_layout, what_is_not_possible_is_said) {
    using two = spread_layout<2>;
    EXPECT_THAT(text([] { two({0, 4}, tiles(1, 1), 2); }), HasSubstr("dimension 0 has 0 elements"));
    EXPECT_THAT(text([] { two({4, 4}, tiles(1, 0), 2); }), HasSubstr("along dimension 1"));
    EXPECT_THAT(text([] { two({4, 4}, on_grid(block(2), block(2)), 3); }),
                HasSubstr("a grid of 4 ranks, but there are 3"));
    EXPECT_THAT(text([] { two({4, 4}, distribution<2>{{1, 1}, {2, 0}}, 4); }),
                HasSubstr("dimension 1 of the grid has no ranks"));
    EXPECT_THAT(text([] { two({4, 10}, runs{4}, 2); }), HasSubstr("runs of 4 elements"));
    EXPECT_THAT(text([] { two({std::size_t{1} << 32, 1}, tiles(1, 1), 2); }),
                HasSubstr("legal: 1 to 4294967295"));
    EXPECT_THAT(text([] { two({1u << 20, 1u << 20}, tiles(1, 1), 2); }),
                HasSubstr("too many tiles"));
    using three = spread_layout<3>;
    EXPECT_THAT(text([] { three({1u << 22, 1u << 21, 1u << 21}, runs{0}, 2); }),
                HasSubstr("more elements than can be counted"));
}

TEST(spread_layout, a_grid_has_ranks) {
    using one = spread_layout<1>;
    using two = spread_layout<2>;
    const auto none = HasSubstr("dimension 0 of the grid has no ranks; legal: 1 or more");
    EXPECT_THAT(text([] { one({10}, cyclic(0), 4); }), none);
    EXPECT_THAT(text([] { one({10}, block(0), 4); }), none);
    EXPECT_THAT(text([] { one({10}, on_grid(block_cyclic(2, 0)), 4); }), none);
    EXPECT_THAT(text([] { two({10, 10}, on_grid(cyclic(0), cyclic(0)), 4); }), none);
    EXPECT_THAT(text([] { two({10, 10}, on_grid(block(0), block(0)), 4); }), none);
    EXPECT_THAT(text([] { two({10, 10}, on_grid(cyclic(0), block(2)), 4); }), none);
}

TEST(spread_layout, tiles_of_less_than_nothing_are_refused) {
    using one = spread_layout<1>;
    using two = spread_layout<2>;
    const std::size_t negative = static_cast<std::size_t>(-1);
    EXPECT_THAT(text([] { one({10}, tiles(-1), 4); }),
                HasSubstr("dimension 0 has tiles of -1 elements; at most 92233720"));
    EXPECT_THAT(text([] { two({10, 10}, tiles(2, -3), 4); }),
                HasSubstr("dimension 1 has tiles of -3 elements"));
    EXPECT_THAT(text([=] { one({10}, block_cyclic(negative, 4), 4); }),
                HasSubstr("tiles of -1 elements"));
    EXPECT_THAT(text([=] { one({10}, runs{negative}, 4); }),
                HasSubstr("runs of -1 elements; at most 92233720"));
    EXPECT_THAT(text([] { one({10}, tiles(PTRDIFF_MAX), 4); }), "nothing");
    EXPECT_THAT(text([] { one({10}, runs{PTRDIFF_MAX}, 4); }), "nothing");
}

TEST(divider, divides_as_the_processor_does) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 200'000; ++i) {
        const std::uint64_t by = (random() >> (32 + random() % 32)) | 1 << random() % 2;
        const std::uint64_t number = random() >> (32 + random() % 32);
        const std::uint64_t below = by * (number / by);
        const detail::divider divide(by);
        ASSERT_EQ(divide.quotient(number), number / by) << number << " by " << by;
        ASSERT_EQ(divide.quotient(below), below / by);
        if (below == 0) continue;
        ASSERT_EQ(divide.quotient(below - 1), (below - 1) / by);
    }
    for (const std::uint64_t by : {1ull, 2ull, 3ull, 0xffffffffull, 0x80000000ull, 0x7fffffffull}) {
        EXPECT_EQ(detail::divider(by).quotient(0xffffffff), 0xffffffff / by);
    }
}

}  // namespace
}  // namespace selion
