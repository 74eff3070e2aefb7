// SPDX-License-Identifier: Apache-2.0
#include "coherence/copy_store.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coherence/frame_store.hpp"

namespace selion::coherence {
namespace {

constexpr std::size_t block_bytes = 64;

/// A rank whose sends may find it busy with something else.
class busy_host final : public protocol_host {
public:
    void send(std::uint32_t, const block_message& message) override {
        sent.push_back({message.kind, message.block});
        if (during_next_send) std::exchange(during_next_send, nullptr)();
    }
    std::byte* memory_of(std::uint64_t) override { return nullptr; }
    const std::byte* released_memory_of(std::uint64_t) override { return nullptr; }
    void forget(std::uint64_t) override {}
    void show(std::uint64_t, detail::own_state) override {}
    bool was_used(std::uint64_t block) override { return used.erase(block) != 0; }
    void begin_write(std::uint64_t, const std::byte*) override {}
    void send_changes(std::uint64_t block, const std::byte*) override {
        send(1, {message_kind::written, block});
    }
    void finish(block_access&) override { ++finished; }

    std::vector<std::pair<message_kind, std::uint64_t>> sent;
    std::function<void()> during_next_send;
    int finished = 0;
    std::set<std::uint64_t> used;
};

class copy_store_test : public testing::Test {
protected:
    /// Another rank's.
    static std::uint64_t block(std::uint64_t number) {
        return (std::uint64_t{1} << 40) + number * block_bytes;
    }
    void ask(std::uint64_t which, access_kind kind) {
        block_access& one = accesses_.emplace_back();
        one.kind = kind;
        one.address = which;
        one.bytes = 8;
        one.data = room_;
        store.ask(store.find_or_make(which), one);
    }
    void grant(std::uint64_t which, message_kind what) {
        const std::vector<std::byte> data(block_bytes);
        store.receive(1, {what, which, data});
    }
    /// The rank has it.
    void fetch(std::uint64_t which, access_kind kind) {
        ask(which, kind);
        grant(which, kind == access_kind::write ? message_kind::grant_modified
                                                : message_kind::grant_shared);
    }
    bool has(std::uint64_t which) {
        const copy_store::entry* const found = store.find(which);
        return found != nullptr && found->second.state != copy_state::invalid;
    }

    busy_host host;
    copy_store store{host, block_bytes, 2, false, nullptr};

private:
    std::byte room_[8] = {};
    std::deque<block_access> accesses_;
};

TEST_F(copy_store_test, the_block_that_is_sent_away_is_not_sent_away_twice) {
    fetch(block(1), access_kind::write);
    fetch(block(2), access_kind::read);
    // A handler asks for a block while the first one goes home.
    host.during_next_send = [&] { ask(block(4), access_kind::touch); };
    host.sent.clear();
    ask(block(3), access_kind::read);
    grant(block(4), message_kind::grant_shared);
    grant(block(3), message_kind::grant_shared);
    const auto gone = std::pair{message_kind::write_back, block(1)};
    EXPECT_EQ(std::ranges::count(host.sent, gone), 1);
    EXPECT_TRUE(has(block(3)));
    EXPECT_TRUE(has(block(4)));
    EXPECT_FALSE(has(block(1)));
    // And the room is what it was.
    for (std::uint64_t next = 5; next < 9; ++next) fetch(block(next), access_kind::read);
    int kept = 0;
    for (std::uint64_t number = 1; number < 9; ++number) kept += has(block(number)) ? 1 : 0;
    EXPECT_EQ(kept, 2);
}

TEST_F(copy_store_test, a_block_may_be_asked_for_again_while_it_goes_home) {
    fetch(block(1), access_kind::write);
    fetch(block(2), access_kind::read);
    host.during_next_send = [&] { ask(block(1), access_kind::touch); };
    ask(block(3), access_kind::read);
    grant(block(1), message_kind::grant_shared);
    grant(block(3), message_kind::grant_shared);
    EXPECT_TRUE(has(block(1)));
    EXPECT_TRUE(has(block(3)));
    for (std::uint64_t next = 5; next < 9; ++next) fetch(block(next), access_kind::read);
    EXPECT_FALSE(has(block(1)));
}

TEST_F(copy_store_test, a_block_may_have_come_again_while_it_went_home) {
    fetch(block(1), access_kind::write);
    fetch(block(2), access_kind::read);
    host.during_next_send = [&] { fetch(block(1), access_kind::write); };
    host.sent.clear();
    ask(block(3), access_kind::read);
    grant(block(3), message_kind::grant_shared);
    // It has been written again, and is here or has been sent again.
    const auto gone = std::pair{message_kind::write_back, block(1)};
    EXPECT_EQ(std::ranges::count(host.sent, gone), has(block(1)) ? 1 : 2);
    EXPECT_TRUE(has(block(3)));
}

TEST_F(copy_store_test, a_block_may_have_come_and_gone_again_meanwhile) {
    written_blocks written(block_bytes);
    copy_store updated(host, block_bytes, 2, false, &written);
    const std::vector<std::byte> data(block_bytes);
    block_access all[3];
    std::byte room[8] = {};
    const auto bring = [&](std::uint64_t which, block_access& one) {
        one.bytes = sizeof room;
        one.address = which;
        one.data = room;
        updated.ask(updated.find_or_make(which), one);
        updated.receive(1, {message_kind::grant_shared, which, data});
    };
    bring(block(1), all[0]);
    written.open(block(1), data.data());
    bring(block(2), all[1]);
    block_access again;
    host.during_next_send = [&] {
        written.close(block(1), data.data(), {});
        bring(block(1), again);
        updated.receive(1, {message_kind::invalidate, block(1)});
    };
    bring(block(3), all[2]);
    EXPECT_EQ(host.finished, 4);
    EXPECT_EQ(updated.find(block(1)), nullptr);
    EXPECT_EQ(updated.entries(), 2u);
}

TEST_F(copy_store_test, all_that_is_kept_may_be_waited_for_meanwhile) {
    copy_store narrow(host, block_bytes, 1, false, nullptr);
    block_access first, second, third;
    for (block_access* one : {&first, &second, &third}) one->bytes = 8;
    std::byte room[8] = {};
    first.data = second.data = third.data = room;
    first.kind = access_kind::write;
    first.address = block(1);
    second.kind = third.kind = access_kind::read;
    second.address = block(2);
    third.address = block(3);
    const std::vector<std::byte> data(block_bytes);
    narrow.ask(narrow.find_or_make(block(1)), first);
    narrow.receive(1, {message_kind::grant_modified, block(1), data});
    host.during_next_send = [&] { narrow.ask(narrow.find_or_make(block(3)), third); };
    narrow.ask(narrow.find_or_make(block(2)), second);  // would look for a block to go for ever
    narrow.receive(1, {message_kind::grant_shared, block(3), data});
    narrow.receive(1, {message_kind::grant_shared, block(2), data});
    EXPECT_EQ(host.finished, 3);
}

TEST_F(copy_store_test, what_is_modified_is_known_whatever_becomes_of_it) {
    copy_store some(host, block_bytes, 4, false, nullptr);
    std::mt19937 random(7);
    const std::vector<std::byte> data(block_bytes);
    const auto is_modified = [&](std::uint64_t number) {
        const copy_store::entry* const found = some.find(block(number));
        return found != nullptr && found->second.state == copy_state::modified;
    };
    for (int step = 0; step < 20'000; ++step) {
        const std::uint64_t number = 1 + random() % 9;
        block_access one;
        std::byte word[8] = {};
        switch (random() % 8) {
            case 0: some.receive(1, {message_kind::invalidate, block(number)}); break;
            case 1: some.receive(1, {message_kind::flush_to_shared, block(number)}); break;
            case 2: some.receive(1, {message_kind::flush_to_invalid, block(number)}); break;
            case 3: some.write_all_back(); break;
            default: {
                one.kind = random() % 2 == 0 ? access_kind::write : access_kind::read;
                one.address = block(number);
                one.bytes = sizeof word;
                one.data = word;
                copy_store::entry& which = some.find_or_make(block(number));
                if (some.may(which.second, one.kind)) break;
                some.ask(which, one);
                const bool is_write = one.kind == access_kind::write;
                some.receive(1,
                             {is_write ? message_kind::grant_modified : message_kind::grant_shared,
                              block(number), data});
            }
        }
        bool has_one = false;
        for (std::uint64_t each = 1; each < 10; ++each) has_one = has_one || is_modified(each);
        ASSERT_EQ(some.has_modified(), has_one);
    }
}

/// What is counted as useless is counted as a miss by an invalidation, too.
TEST_F(copy_store_test, a_miss_is_useless_only_if_an_invalidation_has_caused_it) {
    copy_store counted(host, block_bytes, 2, true, nullptr);
    const std::vector<std::byte> data(block_bytes);
    std::byte word[8] = {};
    std::deque<block_access> accesses;
    const auto ask_for = [&](access_kind kind) -> block_access& {
        block_access& one = accesses.emplace_back();
        one.kind = kind;
        one.address = block(1);
        one.bytes = sizeof word;
        one.data = word;
        counted.ask(counted.find_or_make(block(1)), one);
        return one;
    };
    ask_for(access_kind::read);
    counted.receive(1, {message_kind::grant_shared, block(1), data});
    counted.receive(1, {message_kind::invalidate, block(1)});
    EXPECT_EQ(counted.find(block(1))->second.lost_by, miss_cause::invalidated);
    const block_access& again = ask_for(access_kind::read);
    counted.receive(1, {message_kind::grant_shared, block(1), data});
    EXPECT_TRUE(again.is_useless);
    // The copy goes while the right to write it is asked for: that was a miss of another kind.
    const block_access& raised = ask_for(access_kind::write);
    counted.receive(1, {message_kind::invalidate, block(1)});
    counted.receive(1, {message_kind::grant_modified, block(1), data});
    EXPECT_FALSE(raised.is_useless);
}

TEST_F(copy_store_test, a_flush_costs_what_has_been_written) {
    copy_store few(host, block_bytes, SIZE_MAX, false, nullptr);
    copy_store many(host, block_bytes, SIZE_MAX, false, nullptr);
    const std::vector<std::byte> data(block_bytes);
    std::byte word[8] = {};
    const auto bring = [&](copy_store& to, std::uint64_t number, access_kind kind) {
        block_access one;
        one.kind = kind;
        one.address = block(number);
        one.bytes = sizeof word;
        one.data = word;
        to.ask(to.find_or_make(block(number)), one);
        const bool is_write = kind == access_kind::write;
        to.receive(1, {is_write ? message_kind::grant_modified : message_kind::grant_shared,
                       block(number), data});
    };
    const auto flush_ns = [&](copy_store& of) {
        bring(of, 0, access_kind::write);
        const auto begun = std::chrono::steady_clock::now();
        of.write_all_back();
        EXPECT_FALSE(of.has_modified());
        return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begun)
            .count();
    };
    for (std::uint64_t i = 1; i <= 10; ++i) bring(few, i, access_kind::read);
    for (std::uint64_t i = 1; i <= 200'000; ++i) bring(many, i, access_kind::read);
    std::vector<double> ratios;
    for (int round = 0; round < 101; ++round) ratios.push_back(flush_ns(many) / flush_ns(few));
    std::ranges::nth_element(ratios, ratios.begin() + 50);
    EXPECT_LT(ratios[50], 50) << "with 20,000 times as many copies that are only read";
}

/// A rank with room for some copies, whose homes answer at once.
class early_copies_test : public copy_store_test {
protected:
    static constexpr std::size_t room = 8;

    void make(std::uint64_t which, access_kind kind, std::uint64_t behind = 0) {
        block_access& one = made_.emplace_back();
        one.kind = kind;
        one.address = which;
        one.bytes = 8;
        one.data = word_;
        one.behind = behind;
        copies.ask(copies.find_or_make(which), one);
        const std::vector<std::byte> data(block_bytes);
        copies.receive(1, {message_kind::grant_shared, which, data});
    }
    /// @return whether it was a miss.
    bool read(std::uint64_t number) {
        copy_store::entry& which = copies.find_or_make(block(number));
        const bool is_hit = which.second.state != copy_state::invalid;
        copies.use(which.second);
        if (is_hit) host.used.insert(which.first);
        if (!is_hit) make(which.first, access_kind::read);
        return !is_hit;
    }
    /// @param behind number of the block in use; 0: a hint.
    void bring(std::uint64_t number, std::uint64_t behind = 0) {
        const copy_store::entry* const known = copies.find(block(number));
        if (known != nullptr && known->second.state != copy_state::invalid) return;
        const std::uint64_t used = behind == 0 ? 0 : block(behind);
        const block_copy none;
        if (copies.has_early_room_for(none, used)) make(block(number), access_kind::touch, used);
    }
    bool is_here(std::uint64_t number) const {
        const copy_store::entry* const found = copies.find(block(number));
        return found != nullptr && found->second.state != copy_state::invalid;
    }
    /// Of a range of blocks. @return how many are here.
    std::size_t count_here(std::uint64_t first, std::uint64_t end) const {
        std::size_t found = 0;
        for (; first < end; ++first) found += is_here(first) ? 1 : 0;
        return found;
    }

    copy_store copies{host, block_bytes, room, false, nullptr};

private:
    std::byte word_[8] = {};
    std::deque<block_access> made_;
};

TEST_F(early_copies_test, a_hint_for_more_than_there_is_room_brings_its_first_blocks) {
    for (std::uint64_t i = 501; i < 505; ++i) read(i);
    for (std::uint64_t i = 1; i <= 64; ++i) bring(i);
    EXPECT_EQ(count_here(1, 1 + room), room);
    for (std::uint64_t i = 1; i <= room; ++i) EXPECT_FALSE(read(i));
    bring(100);
    EXPECT_TRUE(is_here(100)) << "what has been used makes room";
}

TEST_F(early_copies_test, a_guess_leaves_the_block_in_use_and_other_guesses) {
    for (std::uint64_t in_use = 1; in_use < 100; in_use += 10) {
        for (std::uint64_t i = 1000 * in_use; i < 1000 * in_use + room; ++i) read(i);
        read(in_use);
        for (std::uint64_t i = in_use + 1; i < in_use + 9; ++i) bring(i, in_use);
        EXPECT_TRUE(is_here(in_use));
        EXPECT_EQ(count_here(in_use + 1, in_use + 9), room / 2);
        EXPECT_TRUE(is_here(in_use + 1));
        for (std::uint64_t i = in_use + 1; i <= in_use + room / 2; ++i) EXPECT_FALSE(read(i));
    }
}

TEST_F(early_copies_test, a_scan_brings_each_block_once) {
    std::size_t misses = 0;
    host.sent.clear();
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        misses += read(i) ? 1 : 0;
        for (std::uint64_t next = i + 1; next <= i + 16; ++next) bring(next, i);
    }
    EXPECT_EQ(misses, 1u);
    EXPECT_EQ(host.sent.size(), 1000u + room / 2);
}

TEST_F(early_copies_test, guesses_that_are_wrong_become_few_and_come_again_when_they_are_right) {
    std::mt19937 random(3);
    const auto read_at_random = [&](std::size_t times, bool has_guesses) {
        std::size_t misses = 0;
        for (std::size_t i = 0; i < times; ++i) {
            const std::uint64_t number = 1000 * (1 + random() % 6);
            if (!read(number)) continue;
            ++misses;
            const std::size_t ahead = has_guesses ? 4 : 0;
            for (std::uint64_t next = 1; next <= ahead; ++next) bring(number + next, number);
        }
        return misses;
    };
    read_at_random(1000, true);
    EXPECT_LT(read_at_random(1000, true), 20u) << "six blocks have room for eight";
    std::size_t misses = 0;
    for (std::uint64_t i = 1; i <= 200; ++i) {
        misses += read(i) ? 1 : 0;
        for (std::uint64_t next = i + 1; next <= i + 4; ++next) bring(next, i);
    }
    EXPECT_LT(misses, 5u);
    EXPECT_EQ(count_here(201, 205), 4u);
}

TEST_F(early_copies_test, there_are_never_more_than_there_is_room) {
    std::mt19937 random(11);
    for (int step = 0; step < 50'000; ++step) {
        const std::uint64_t number = 1 + random() % 30;
        switch (random() % 8) {
            case 0: copies.receive(1, {message_kind::invalidate, block(number)}); break;
            case 1: copies.drop_all(); break;
            case 2:
            case 3: bring(number); break;
            case 4:
            case 5:
                read(number);
                bring(number + 1, number);
                bring(number + 2, number);
                break;
            default: read(number);
        }
        ASSERT_LE(copies.entries(), room);
        ASSERT_TRUE(copies.has_room_for({}));
    }
}

TEST(FrameStore, FramesAreAlignedAsBlocksAre) {
    for (const std::size_t bytes : {8u, 64u, 128u, 1024u, 4096u, 65536u}) {
        frame_store frames(bytes);
        for (int i = 0; i < 3; ++i) {
            const auto place = reinterpret_cast<std::uintptr_t>(frames.take());
            EXPECT_EQ(place % std::min<std::size_t>(bytes, 4096), 0u);
        }
    }
}

}  // namespace
}  // namespace selion::coherence
