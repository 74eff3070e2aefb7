// SPDX-License-Identifier: Apache-2.0
#include "selion/access_replay.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "coherence/access_trace.hpp"
#include "coherence/trace_reader.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/error.hpp"

namespace selion {
namespace {

using coherence::access_kind;
using coherence::access_trace;
using coherence::block_access;
using testing::HasSubstr;

constexpr std::uint64_t space_offset = 4096;
constexpr std::uint64_t space_bytes = 256;

/// Accesses of two ranks to a space with blocks of 64 bytes, in the order in which they are given.
class AccessReplay : public testing::Test {
protected:
    AccessReplay() {
        std::string pattern = testing::TempDir() + "accesses-XXXXXX";
        folder_ = mkdtemp(pattern.data());
        start_again(space_bytes);
        for (const auto& trace : traces_) {
            trace->add_array({space_offset, 128, "left"});
            trace->add_array({space_offset + 128, 128, "right"});
        }
    }
    ~AccessReplay() override { std::filesystem::remove_all(folder_); }

    /// Without arrays.
    void start_again(std::uint64_t bytes) {
        traces_.clear();
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            traces_.push_back(std::make_unique<access_trace>(
                folder_, coherence::trace_head{rank, 2, 1, 0, 64, space_offset, bytes}));
        }
    }
    void access(std::uint32_t rank, access_kind kind, std::uint32_t home, std::uint64_t place,
                std::uint32_t bytes = 8) {
        block_access one;
        one.kind = kind;
        one.address = detail::global_address(home, space_offset + place);
        one.bytes = bytes;
        now_ps_ += 5000;
        traces_[rank]->add(one, now_ps_);
    }
    void read(std::uint32_t rank, std::uint32_t home, std::uint64_t place,
              std::uint32_t bytes = 8) {
        access(rank, access_kind::read, home, place, bytes);
    }
    void write(std::uint32_t rank, std::uint32_t home, std::uint64_t place) {
        access(rank, access_kind::write, home, place);
    }
    void flush(std::uint32_t rank) { traces_[rank]->add_flush(false, now_ps_ += 5000); }
    void invalidate(std::uint32_t rank) { traces_[rank]->add_flush(true, now_ps_ += 5000); }
    void finish() {
        for (const auto& one : traces_) one->finish(7, 1000);
    }
    replayed_space replay(std::vector<std::size_t> sizes) const {
        auto spaces = replay_accesses(folder_, sizes);
        EXPECT_EQ(spaces.size(), 1u);
        return spaces.at(0);
    }
    static replayed_array of(const replayed_space& space, std::string_view array,
                             std::size_t block_bytes) {
        for (const replayed_array& one : space.arrays) {
            if (one.array == array && one.block_bytes == block_bytes) return one;
        }
        return {};
    }

    std::string folder_;
    std::vector<std::unique_ptr<access_trace>> traces_;
    std::int64_t now_ps_ = 0;
};

TEST_F(AccessReplay, CausesOfMissesDependOnTheSizeOfBlocks) {
    read(1, 0, 0);   // cold
    write(0, 0, 8);  // takes the copy away where both lie in one block
    read(1, 0, 0);   // and nothing of it has changed
    write(0, 0, 0);
    read(1, 0, 0);  // it has
    finish();
    const replayed_space space = replay({8});
    const replayed_array small = of(space, "left", 8);
    EXPECT_EQ(small.accesses, 5u);
    EXPECT_EQ(small.remote_accesses, 3u);
    EXPECT_EQ(small.cold, 1u);
    EXPECT_EQ(small.false_sharing, 0u);
    EXPECT_EQ(small.invalidated, 1u);
    EXPECT_EQ(small.at_home, 1u);
    EXPECT_EQ(small.messages, 6u);
    EXPECT_EQ(small.moved_bytes, 16u);
    const replayed_array own = of(space, "left", 64);
    EXPECT_EQ(own.cold, 1u);
    EXPECT_EQ(own.false_sharing, 1u);
    EXPECT_EQ(own.invalidated, 1u);
    EXPECT_EQ(own.at_home, 2u);
    EXPECT_EQ(own.misses(), 5u);
    EXPECT_EQ(own.moved_bytes, 192u);
    ASSERT_EQ(space.worst.size(), 1u);
    EXPECT_EQ(space.worst[0].array, "left");
    EXPECT_EQ(space.worst[0].offset, 0u);
    EXPECT_EQ(space.worst[0].useless_misses, 1u);
    EXPECT_EQ(space.misses, 14u);
    EXPECT_EQ(space.waited_ps, 2000);
    EXPECT_TRUE(space.is_whole);
}

TEST_F(AccessReplay, AnOwnerIsAskedForWhatItHasWritten) {
    write(1, 0, 128);  // cold
    write(1, 0, 136);  // its own now
    read(0, 0, 128);   // the home gets it back
    write(1, 0, 128);  // it may still read it
    finish();
    const replayed_array all = of(replay({}), "right", 64);
    EXPECT_EQ(all.cold, 1u);
    EXPECT_EQ(all.at_home, 1u);
    EXPECT_EQ(all.upgrades, 1u);
    EXPECT_EQ(all.misses(), 3u);
    EXPECT_EQ(all.messages, 6u);
    EXPECT_EQ(all.moved_bytes, 128u);
}

TEST_F(AccessReplay, CopiesThatWereGivenUpAreMissedAgain) {
    read(1, 0, 0);
    flush(1);
    read(1, 0, 0);  // it had only read it
    invalidate(1);
    read(1, 0, 8);  // cold again
    write(1, 0, 0);
    flush(1);
    write(0, 0, 0);  // at home again, without asking anybody
    finish();
    const replayed_array all = of(replay({}), "left", 64);
    EXPECT_EQ(all.cold, 2u);
    EXPECT_EQ(all.upgrades, 1u);
    EXPECT_EQ(all.misses(), 3u);
    EXPECT_EQ(all.messages, 7u);  // two for each miss, and what was flushed
    EXPECT_EQ(all.moved_bytes, 192u);
}

TEST_F(AccessReplay, FalseSharingIsOfTheArrayThatMisses) {
    start_again(space_bytes);
    for (const auto& trace : traces_) {
        trace->add_array({space_offset, 32, "first"});
        trace->add_array({space_offset + 32, 96, "second"});
    }
    write(1, 0, 0);
    for (int i = 0; i < 3; ++i) {
        read(1, 0, 40);
        write(0, 0, 32);
    }
    finish();
    const replayed_space space = replay({});
    ASSERT_EQ(space.worst.size(), 1u);
    EXPECT_EQ(space.worst[0].array, "second");
    EXPECT_EQ(space.worst[0].offset, 0u);
    EXPECT_EQ(space.worst[0].useless_misses, 2u);
}

TEST_F(AccessReplay, ALargeSpaceTakesMemoryForWhatIsAccessedAlone) {
    const std::uint64_t huge = std::uint64_t{1} << 39;
    start_again(huge);
    write(1, 0, huge - 8);
    read(0, 0, huge - 8);
    finish();
    EXPECT_EQ(of(replay({}), "", 64).misses(), 2u);
}

TEST_F(AccessReplay, LongAccessesMeetEveryBlock) {
    read(1, 0, 0, 256);
    finish();
    const replayed_space space = replay({16, 65536});
    EXPECT_EQ(of(space, "left", 16).cold, 16u);
    EXPECT_EQ(of(space, "left", 64).cold, 4u);
    EXPECT_EQ(of(space, "left", 65536).cold, 1u);
}

TEST_F(AccessReplay, ATraceThatEndsEarlyIsRead) {
    for (int i = 0; i < 100; ++i) read(1, 0, 8);
    traces_.clear();
    const std::string path = folder_ + "/run-1-space-0-rank-1.trace";
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 2);
    const replayed_space space = replay({});
    EXPECT_FALSE(space.is_whole);
    EXPECT_EQ(of(space, "left", 64).accesses, 99u);
}

TEST_F(AccessReplay, WhatIsNoTraceIsRefused) {
    finish();
    const auto sentence = [&](std::vector<std::size_t> sizes) -> std::string {
        try {
            static_cast<void>(replay_accesses(folder_, sizes));
        } catch (const error& trouble) {
            return trouble.what();
        }
        return "none";
    };
    EXPECT_THAT(sentence({48}), HasSubstr("blocks of 48 bytes: legal are powers of two"));
    std::filesystem::remove(folder_ + "/run-1-space-0-rank-1.trace");
    EXPECT_THAT(sentence({}), HasSubstr("not those of one run of 2 ranks: there are 1"));
    std::ofstream(folder_ + "/run-1-space-0-rank-1.trace") << "something else";
    EXPECT_THAT(sentence({}), HasSubstr("is no trace of accesses"));
    std::filesystem::remove_all(folder_);
    EXPECT_THAT(sentence({}), HasSubstr("there are no traces of accesses in"));
}

TEST_F(AccessReplay, WhatGoesOnBehindItsTotalsIsRefused) {
    const auto sentence_with = [&](const std::string& records) -> std::string {
        start_again(space_bytes);
        finish();
        traces_.clear();
        const std::string path = folder_ + "/run-1-space-0-rank-1.trace";
        std::ofstream(path, std::ios::app | std::ios::binary) << records;
        try {
            return replay_accesses(folder_, {}).at(0).is_whole ? "whole" : "cut";
        } catch (const error& trouble) {
            return trouble.what();
        }
    };
    EXPECT_EQ(sentence_with(""), "whole");
    EXPECT_THAT(sentence_with("more"), HasSubstr("goes on behind its totals near byte"));
}

/// What a file says of lengths is not believed further than it can be.
TEST_F(AccessReplay, LengthsBeyondTheFileAreRefused) {
    const std::string path = folder_ + "/run-1-space-0-rank-1.trace";
    traces_.clear();
    const auto outcome_with = [&](const std::string& record) -> std::string {
        start_again(space_bytes);
        traces_.clear();
        std::ofstream(path, std::ios::app | std::ios::binary) << record;
        try {
            return replay_accesses(folder_, {}).at(0).is_whole ? "whole" : "cut";
        } catch (const error& trouble) {
            return trouble.what();
        }
    };
    using namespace std::string_literals;
    EXPECT_EQ(outcome_with("\2\0\x80\1\xff\xff\xff\xff\xff\x1fname"s), "cut") << "2^40 of name";
    EXPECT_THAT(outcome_with("\0\0\xff\xff\xff\x7f\0"s),
                HasSubstr("has an access of 268435455 bytes to a space of 256 near byte"));
}

TEST_F(AccessReplay, WhatAnEarlierRunHasLeftIsRemoved) {
    for (const char* name :
         {"run-1-space-0-rank-2.trace", "run-1-space-1-rank-0.trace", "run-12-space-0-rank-1.trace",
          "run-1-space-0-rank-1.trace.kept", "run-01-space-0-rank-2.trace",
          "rerun-2-space-0-rank-2.trace", "other"}) {
        std::ofstream(folder_ + '/' + name) << "left";
    }
    start_again(space_bytes);
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        names.push_back(entry.path().filename());
    }
    EXPECT_THAT(names, testing::UnorderedElementsAre(
                           "run-1-space-0-rank-0.trace", "run-1-space-0-rank-1.trace",
                           "run-1-space-0-rank-1.trace.kept", "run-01-space-0-rank-2.trace",
                           "rerun-2-space-0-rank-2.trace", "other"));
}

TEST_F(AccessReplay, TracesOfTwoRunsAreToldApart) {
    finish();
    const access_trace left(folder_, coherence::trace_head{2, 3, 1, 0, 64, space_offset, 256});
    try {
        static_cast<void>(replay_accesses(folder_, {}));
        ADD_FAILURE();
    } catch (const error& trouble) {
        EXPECT_THAT(trouble.what(),
                    HasSubstr("there are 3; files of an earlier run are among them, or some are "
                              "missing: empty the folder and run the program again"));
    }
}

}  // namespace
}  // namespace selion
