// SPDX-License-Identifier: Apache-2.0
#include "onesided/symmetric_heap.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace selion::onesided {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t reserve = 4 << 20;
constexpr std::uint64_t kept = 10'000;  // for the floors above

/// Counts what is promised, and remembers what was given back early.
class counting_memory final : public machine::memory {
public:
    bool commit(std::uint64_t bytes) override {
        if (bytes > limit - committed) return false;
        committed += bytes;
        return true;
    }
    void release(std::uint64_t bytes) override { committed -= bytes; }
    void discard(detail::rank_context&, std::uint64_t, std::uint64_t bytes) override {
        discarded.push_back(bytes);
    }
    std::uint64_t committed_bytes() const override { return committed; }
    std::uint64_t limit_bytes() const override { return limit; }
    bool is_of_each_rank() const override { return is_own; }

    bool is_own = false;
    std::uint64_t limit = 64 << 20;
    std::uint64_t committed = 0;
    std::vector<std::uint64_t> discarded;
};

/// A machine of which only the memory is asked for.
class memory_machine final : public machine::machine {
public:
    const machine_description& description() const override { return description_; }
    selion::thread_level thread_level() const override { return thread_level::single; }
    class selion::machine::launcher& launcher() override { std::abort(); }
    class selion::machine::memory& memory() override { return counts; }
    counting_memory counts;

private:
    machine_description description_;
};

class symmetric_heap_test : public testing::Test {
protected:
    symmetric_heap_test() : segment_(reserve + largest_alignment) {
        void* start = segment_.data();
        std::size_t bytes = segment_.size();
        context_.map_ranks(
            static_cast<std::byte*>(std::align(largest_alignment, reserve, start, bytes)), 0, 1,
            reserve);
        context_.ranks = 1;
        context_.reserve_bytes = reserve;
        context_.host = &host_;
        detail::current_context = &context_;
        heap_.emplace(context_, kept);
    }
    ~symmetric_heap_test() override { detail::current_context = outer_; }

    std::span<std::byte> memory(std::uint64_t offset, std::uint64_t bytes) {
        return {context_.mapped_base() + offset, bytes};
    }
    bool is_zero(std::uint64_t offset, std::uint64_t bytes) {
        return std::ranges::all_of(memory(offset, bytes),
                                   [](std::byte value) { return value == std::byte{0}; });
    }
    void dirty(std::uint64_t offset, std::uint64_t bytes) {
        std::ranges::fill(memory(offset, bytes), std::byte{0xff});
    }

    detail::rank_context* outer_ = detail::current_context;
    std::vector<std::byte> segment_;
    memory_machine host_;
    detail::rank_context context_;
    std::optional<symmetric_heap> heap_;
};

TEST_F(symmetric_heap_test, grows_from_both_ends) {
    const auto first = heap_->allocate_symmetric(1000, 16);
    const auto second = heap_->allocate_symmetric(1000, 16);
    const auto own = heap_->allocate_own(1000, 16);
    EXPECT_GE(*first, kept);
    EXPECT_GT(*second, *first);
    EXPECT_GT(*own, *second);
    EXPECT_LE(*own + 1000, reserve);
    EXPECT_LT(*heap_->allocate_own(1000, 16), *own);
}

TEST_F(symmetric_heap_test, what_fills_a_line_of_the_cache_shares_none) {
    for (const std::uint64_t bytes : {64, 100, 5000}) {
        const auto odd = heap_->allocate_symmetric(3, 1);
        const auto own_odd = heap_->allocate_own(3, 1);
        EXPECT_EQ(*heap_->allocate_symmetric(bytes, 1) % 64, 0u);
        EXPECT_EQ(*heap_->allocate_own(bytes, 1) % 64, 0u);
        EXPECT_NE(*odd % 64 + *own_odd % 64, 0u);  // small ones do
    }
}

TEST_F(symmetric_heap_test, what_is_kept_for_others_cannot_be_given_back) {
    EXPECT_FALSE(heap_->deallocate_symmetric(0));
    EXPECT_FALSE(heap_->deallocate_symmetric(kept - 1));
}

TEST_F(symmetric_heap_test, each_side_gives_back_only_its_own) {
    const auto all = heap_->allocate_symmetric(1000, 16);
    const auto own = heap_->allocate_own(1000, 16);
    EXPECT_FALSE(heap_->deallocate_own(*all));
    EXPECT_FALSE(heap_->deallocate_symmetric(*own));
    EXPECT_TRUE(heap_->deallocate_own(*own));
    EXPECT_FALSE(heap_->deallocate_own(*own));
    EXPECT_TRUE(heap_->deallocate_symmetric(*all));
    EXPECT_FALSE(heap_->deallocate_symmetric(*all));
}

TEST_F(symmetric_heap_test, the_two_sides_meet_and_never_overlap) {
    const std::uint64_t used = heap_->used_bytes();
    while (heap_->allocate_symmetric(100'000, 16) && heap_->allocate_own(100'000, 16)) continue;
    const std::uint64_t taken = heap_->used_bytes() + heap_->runtime_used_bytes();
    EXPECT_GT(taken, reserve - 200'000);
    EXPECT_LE(taken, reserve);
    EXPECT_GT(heap_->used_bytes(), used);
    EXPECT_FALSE(heap_->allocate_own(reserve, 16));
    EXPECT_FALSE(heap_->allocate_symmetric(~std::uint64_t{0}, 16));
    EXPECT_FALSE(heap_->allocate_own(~std::uint64_t{0}, 16));
}

TEST_F(symmetric_heap_test, what_the_runtime_keeps_is_not_the_program_s) {
    const std::uint64_t kept = heap_->runtime_used_bytes();
    EXPECT_GT(kept, 0u);
    EXPECT_EQ(heap_->used_bytes(), 0u);
    const auto all = heap_->allocate_symmetric(1024, 16);
    EXPECT_EQ(*all, kept);
    const auto block = heap_->allocate_for_runtime(256);
    EXPECT_EQ(heap_->used_bytes(), 1024u);
    EXPECT_EQ(heap_->runtime_used_bytes(), kept + 256);
    heap_->deallocate_for_runtime(*block, 256);
    heap_->deallocate_symmetric(*all);
    EXPECT_EQ(heap_->used_bytes(), 0u);
    EXPECT_EQ(heap_->runtime_used_bytes(), kept);
}

TEST_F(symmetric_heap_test, promises_of_the_host_are_kept_and_taken_back) {
    const std::uint64_t before = host_.counts.committed;
    const auto all = heap_->allocate_symmetric(5000, 16);
    const auto own = heap_->allocate_own(7000, 16);
    EXPECT_GE(host_.counts.committed, before + 12'000);
    EXPECT_FALSE(heap_->allocate_symmetric(reserve - 20'000, 16));  // has no room: no promise
    EXPECT_FALSE(heap_->allocate_own(reserve - 20'000, 16));
    heap_->deallocate_symmetric(*all);
    heap_->deallocate_own(*own);
    EXPECT_EQ(host_.counts.committed, before);
}

TEST_F(symmetric_heap_test, a_host_without_memory_refuses) {
    const std::uint64_t used = heap_->used_bytes();
    host_.counts.limit = host_.counts.committed + 1000;
    EXPECT_FALSE(heap_->allocate_symmetric(2000, 16));
    EXPECT_FALSE(heap_->allocate_own(2000, 16));
    EXPECT_EQ(heap_->used_bytes(), used);
    EXPECT_TRUE(heap_->allocate_own(500, 16));
}

TEST_F(symmetric_heap_test, large_pieces_go_back_to_the_host_at_once) {
    const auto small = heap_->allocate_symmetric(1000, 16);
    const auto large = heap_->allocate_symmetric(2 << 20, 16);
    heap_->deallocate_symmetric(*large);
    heap_->deallocate_symmetric(*small);
    EXPECT_EQ(host_.counts.discarded, std::vector<std::uint64_t>{2 << 20});
}

TEST_F(symmetric_heap_test, memory_that_was_used_is_zeroed) {
    for (int turn = 0; turn < 2; ++turn) {
        const auto all = heap_->allocate_symmetric(3000, 16);
        const auto own = heap_->allocate_own(3000, 16);
        EXPECT_TRUE(is_zero(*all, 3000));
        EXPECT_TRUE(is_zero(*own, 3000));
        dirty(*all, 3000);
        dirty(*own, 3000);
        heap_->deallocate_symmetric(*all);
        heap_->deallocate_own(*own);
    }
}

constexpr std::uint64_t nearly_all = reserve - (64 << 10);

TEST_F(symmetric_heap_test, symmetric_memory_is_zeroed_where_own_memory_was) {
    const auto own = heap_->allocate_own(nearly_all, 16);
    dirty(*own, nearly_all);
    heap_->deallocate_own(*own);
    EXPECT_TRUE(is_zero(*heap_->allocate_symmetric(nearly_all, 16), nearly_all));
}

TEST_F(symmetric_heap_test, own_memory_is_zeroed_where_symmetric_memory_was) {
    const auto all = heap_->allocate_symmetric(nearly_all, 16);
    dirty(*all, nearly_all);
    heap_->deallocate_symmetric(*all);
    EXPECT_TRUE(is_zero(*heap_->allocate_own(nearly_all, 16), nearly_all));
}

TEST_F(symmetric_heap_test, a_shortage_tells_what_is_used_free_and_asked_for) {
    static_cast<void>(heap_->allocate_own(1 << 20, 16));
    static_cast<void>(heap_->allocate_for_runtime(4096));
    const std::string text = heap_->shortage_text(8 << 20);
    EXPECT_THAT(text, HasSubstr("rank 0 of 1 asks for 8 MiB"));
    // What is kept for others fills whole pages.
    EXPECT_THAT(text, HasSubstr("it uses 1 MiB, and the runtime 16 KiB, of the 4 MiB reserved"));
    EXPECT_THAT(text, HasSubstr("of 64 MiB"));
    EXPECT_THAT(text, HasSubstr("set SELION_HEAP to reserve more, or ask for less"));
}

TEST_F(symmetric_heap_test, a_shortage_counts_what_was_given_back_in_between) {
    const auto gap = heap_->allocate_symmetric(2 << 20, 16);
    static_cast<void>(heap_->allocate_symmetric(1 << 20, 16));
    heap_->deallocate_symmetric(*gap);
    const auto of = [&](heap_end end) { return heap_->shortage_text(3 << 20, end); };
    EXPECT_THAT(of(heap_end::symmetric), HasSubstr(" 2 MiB are free in one piece"));
    // Memory of the rank alone is taken from the other end.
    EXPECT_THAT(of(heap_end::own), HasSubstr(" KiB are free in one piece"));
}

TEST_F(symmetric_heap_test, a_shortage_that_no_setting_helps_says_so) {
    const std::string text = heap_->shortage_text(65 << 20);
    EXPECT_THAT(
        text, HasSubstr("ask for less: the machine has 64 MiB in all, and no setting gives more"));
    EXPECT_THAT(text, testing::Not(HasSubstr("SELION_HEAP")));
}

TEST_F(symmetric_heap_test, a_machine_may_have_less_for_each_rank_than_is_reserved) {
    host_.counts.is_own = true;
    host_.counts.limit = 64 << 10;
    EXPECT_EQ(heap_->reachable_bytes(), heap_->runtime_used_bytes() + (64 << 10));
    static_cast<void>(heap_->allocate_own(4096, 16));
    EXPECT_EQ(heap_->reachable_bytes(), heap_->runtime_used_bytes() + (64 << 10));
    const std::string text = heap_->shortage_text(1 << 20);
    EXPECT_THAT(text, HasSubstr("60 KiB are free in one piece; it has 4 KiB of 64 KiB; ask for "
                                "less, or give each rank more than 64 KiB: memory.each_rank_kib= "
                                "of the simulated machine"));
}

}  // namespace
}  // namespace selion::onesided
