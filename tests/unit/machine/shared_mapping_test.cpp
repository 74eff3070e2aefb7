// SPDX-License-Identifier: Apache-2.0
#include "machine/node/shared_mapping.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "machine/host/memory_file.hpp"
#include "unit/machine/mapping_parts.hpp"

namespace selion::machine::node {
namespace {

/// A part of the mapping, as offsets.
struct part {
    std::uint64_t start;
    std::uint64_t end;
};

template <class T>
part part_of(const shared_mapping& mapping, const T& object) {
    const auto start =
        static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&object) - mapping.start());
    return {start, start + sizeof(T)};
}

TEST(shared_mapping, parts_lie_apart_within_the_mapping) {
    const shared_mapping mapping = small_mapping(2, 3, false, true);
    const control_block& control = mapping.control();
    std::vector<part> parts{part_of(mapping, control)};
    for (std::uint32_t rank = 0; rank < control.ranks; ++rank) {
        parts.push_back(part_of(mapping, mapping.record(rank)));
        parts.push_back(part_of(mapping, *mapping.record_beside(rank)));
        const auto slice = static_cast<std::uint64_t>(mapping.slice(rank) - mapping.start());
        parts.push_back({slice, slice + control.reserve_bytes});
    }
    for (std::uint32_t i = 0; i < 2; ++i) parts.push_back(part_of(mapping, mapping.process(i)));
    for (std::uint32_t i = 0; i < 6; ++i) {
        const mailbox mail = mapping.mail(i);
        parts.push_back(part_of(mapping, *mail.area));
        for (message_ring& ring : mail.rings()) parts.push_back(part_of(mapping, ring));
        for (std::byte* const pool : {mail.request_bytes, mail.reply_bytes}) {
            const auto start = static_cast<std::uint64_t>(pool - mapping.start());
            parts.push_back({start, start + control.pool_bytes});
        }
    }
    for (std::uint32_t i = 0; i < control.bells; ++i) {
        parts.push_back(part_of(mapping, mapping.bell(i)));
    }
    std::ranges::sort(parts, {}, &part::start);
    for (std::size_t i = 1; i < parts.size(); ++i) {
        EXPECT_GE(parts[i].start, parts[i - 1].end) << "part " << i;
    }
    EXPECT_LE(parts.back().end, control.total_bytes);
    EXPECT_EQ(control.ranks, 6u);
    // Of carriers, one for each rank, of joining threads, of notifiers, and of threads beside
    // ranks.
    EXPECT_EQ(control.bells, 2 * 3 + 2 * 3 + 2 + 6u);
}

TEST(shared_mapping, what_threads_write_alone_has_lines_of_its_own) {
    const shared_mapping mapping = small_mapping(2, 2);
    for (std::uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(part_of(mapping, mapping.record(i)).start % detail::line_bytes, 0u);
        EXPECT_EQ(part_of(mapping, mapping.bell(i)).start % detail::line_bytes, 0u);
    }
    EXPECT_EQ(part_of(mapping, mapping.control().sleepers).start % detail::line_bytes, 0u);
    EXPECT_EQ(part_of(mapping, mapping.process(1)).start % detail::line_bytes, 0u);
}

TEST(shared_mapping, threads_that_have_joined_are_noted_once_for_all) {
    const shared_mapping mapping = small_mapping(2, 2);
    for (const std::uint32_t slot : {0u, 2u, 1u}) note_joined(mapping.process(1), slot);
    EXPECT_EQ(mapping.process(1).joined, 3u);
    EXPECT_EQ(mapping.process(0).joined, 0u);
}

TEST(shared_mapping, slices_are_zeroed_page_aligned_and_equally_far_apart) {
    const shared_mapping mapping = small_mapping(1, 4);
    const control_block& control = mapping.control();
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        const std::span<const std::byte> slice(mapping.slice(rank), control.reserve_bytes);
        EXPECT_TRUE(std::ranges::all_of(slice, [](std::byte b) { return b == std::byte{0}; }));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slice.data()) % 4096, 0u);
        EXPECT_EQ(mapping.slice(rank) - mapping.slice(0),
                  static_cast<std::ptrdiff_t>(rank * control.stride_bytes));
    }
}

TEST(shared_mapping, the_reserve_that_nobody_asked_for_can_be_addressed) {
    constexpr std::uint64_t gib = std::uint64_t{1} << 30;
    for (const std::uint32_t ranks : {1u, 2u, 8u, 9u, 64u, 1000u}) {
        for (const std::uint64_t memory : {gib, 24 * gib, 1024 * gib, 1536 * gib, 65536 * gib}) {
            EXPECT_LE(default_reserve(ranks, memory, UINT64_MAX), detail::offset_mask + 1) << ranks;
            const std::uint64_t fitting = default_reserve(ranks, memory, 2 * gib);
            EXPECT_LE(fitting * ranks, 2 * gib);
            EXPECT_GT(fitting * ranks, gib / 2);
        }
    }
    EXPECT_GE(default_reserve(1, 24 * gib, UINT64_MAX), gib);
}

TEST(shared_mapping, the_reserve_is_what_was_asked_for_in_whole_pages) {
    mapping_plan plan;
    plan.heap_bytes = (5 << 20) + 1;
    const result<shared_mapping> made = shared_mapping::create(plan);
    ASSERT_TRUE(made.has_value());
    const std::uint64_t reserve = made.value().control().reserve_bytes;
    EXPECT_GE(reserve, plan.heap_bytes);
    EXPECT_LE(reserve, plan.heap_bytes + 4096);
}

TEST(shared_mapping, another_mapping_of_the_file_is_the_same_memory) {
    const shared_mapping first = small_mapping(2, 1, true);
    ASSERT_GE(first.file(), 0);
    const int file = dup(first.file());
    const result<shared_mapping> second = shared_mapping::attach(file);
    ASSERT_TRUE(second.has_value());
    EXPECT_NE(second.value().start(), first.start());
    std::memcpy(first.slice(1) + 1000, "hello", 6);
    EXPECT_STREQ(reinterpret_cast<const char*>(second.value().slice(1)) + 1000, "hello");
    second.value().record(1).instance = 42;
    EXPECT_EQ(first.record(1).instance, 42u);
    EXPECT_EQ(second.value().control().total_bytes, first.control().total_bytes);
}

TEST(shared_mapping, the_file_is_sealed) {
    const shared_mapping mapping = small_mapping(2, 1, true);
    EXPECT_NE(ftruncate(mapping.file(), 4096), 0);
    EXPECT_NE(ftruncate(mapping.file(), static_cast<off_t>(mapping.control().total_bytes) + 4096),
              0);
}

TEST(shared_mapping, a_private_mapping_has_no_file) {
    EXPECT_EQ(small_mapping(1, 2).file(), -1);
    EXPECT_FALSE(small_mapping(1, 2).is_shared());
}

TEST(shared_mapping, a_file_that_is_none_of_ours_is_refused) {
    const int file = memfd_create("other", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, 65536), 0);
    for (const int wrong : {file, -1}) {
        const result<shared_mapping> attached = shared_mapping::attach(wrong);
        ASSERT_FALSE(attached.has_value());
        EXPECT_EQ(attached.trouble().code(), status::system_failure);
    }
    close(file);
}

TEST(shared_mapping, a_file_that_others_know_counts_once_it_is_sealed) {
    mapping_plan plan;
    plan.shape.processes = 2;
    plan.heap_bytes = 1 << 20;
    const int file = make_memory_file("test");
    ASSERT_GE(file, 0);
    const int others = dup(file);
    EXPECT_FALSE(is_sealed_memory_file(others));
    const result<shared_mapping> made = shared_mapping::create_in(file, plan);
    ASSERT_TRUE(made.has_value());
    EXPECT_FALSE(is_sealed_memory_file(others)) << "its maker has not finished with it";
    EXPECT_TRUE(seal_memory_file(file));
    EXPECT_TRUE(is_sealed_memory_file(others));
    EXPECT_NE(ftruncate(others, 0), 0);
    const result<shared_mapping> attached = shared_mapping::attach(others);
    ASSERT_TRUE(attached.has_value());
    *made.value().slice(1) = std::byte{5};
    EXPECT_EQ(*attached.value().slice(1), std::byte{5});
    EXPECT_EQ(made.value().control().reserve_bytes, shared_mapping::reserve_of(plan).value());
}

TEST(shared_mapping, a_reserve_beyond_the_address_range_is_refused) {
    mapping_plan plan;
    plan.heap_bytes = 2ull << 40;
    const result<shared_mapping> made = shared_mapping::create(plan);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.trouble().code(), status::bad_argument);
    EXPECT_THAT(made.trouble().what(), testing::HasSubstr("SELION_HEAP asks for 2 TiB"));
}

TEST(shared_mapping, too_many_ranks_for_the_address_space_are_refused_with_the_cure) {
    mapping_plan plan;
    plan.shape.ranks_per_process = 1 << 19;
    plan.heap_bytes = 1ull << 39;
    const result<shared_mapping> made = shared_mapping::create(plan);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.trouble().code(), status::out_of_memory);
    EXPECT_THAT(made.trouble().what(), testing::HasSubstr("SELION_HEAP"));
}

}  // namespace
}  // namespace selion::machine::node
