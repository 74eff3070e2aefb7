// SPDX-License-Identifier: Apache-2.0
#include "machine/node/hang_report.hpp"

#include <gmock/gmock.h>

#include "unit/machine/mapping_parts.hpp"

namespace selion::machine::node {
namespace {

using testing::HasSubstr;
using testing::Not;

class hang_report_test : public testing::Test {
protected:
    hang_report_test() : mapping_(small_mapping(1, 4, false, true)) {}

    /// Lets a rank begin a call and leave it open; waits in it when told so.
    void begin(std::uint32_t rank, operation what, std::source_location site,
               bool is_waiting = true) {
        begin(mapping_.record(rank), what, site, is_waiting);
    }
    static void begin(call_record& record, operation what, std::source_location site,
                      bool is_waiting = true) {
        record.site = encode_site(site);
        record.what = static_cast<std::uint32_t>(what);
        if (begins_collective(what)) ++record.instance;
        record.entries |= 1;
        record.is_waiting = is_waiting ? 1 : 0;
    }
    void end(std::uint32_t rank) {
        ++mapping_.record(rank).entries;
        mapping_.record(rank).is_waiting = 0;
    }
    void wait_for_signal(std::uint32_t rank, std::uint64_t has, std::uint64_t wants) {
        wait_for_signal(rank, mapping_.record(rank), has, wants);
    }
    void wait_for_signal(std::uint32_t rank, call_record& record, std::uint64_t has,
                         std::uint64_t wants) {
        auto& word = *reinterpret_cast<detail::shared_word*>(mapping_.slice(rank) + 4096);
        word.value = has;
        begin(record, operation::wait_signal, std::source_location::current());
        record.signal_offset = 4096;
        record.at_least = wants;
    }
    std::string place(std::source_location site) {
        return std::string(site.file_name()) + ":" + std::to_string(site.line());
    }

    shared_mapping mapping_;
};

TEST_F(hang_report_test, the_last_calls_are_told_where_nobody_waits) {
    EXPECT_EQ(explain_waits(mapping_),
              "\n  ranks 0-3 do not wait; before their first collective call or wait");
    const auto site = std::source_location::current();
    for (const std::uint32_t rank : {0u, 1u, 2u}) begin(rank, operation::barrier, site, false);
    end(1);
    mapping_.record(3).has_finished = 1;
    EXPECT_EQ(explain_waits(mapping_),
              "\n  ranks 0-2 do not wait; last known call: barrier #1 at " + place(site) +
                  "\n  rank 3 does not wait; its function has returned");
}

TEST_F(hang_report_test, who_looks_for_a_signal_is_told_with_its_value) {
    for (std::uint32_t rank = 1; rank < 4; ++rank) {
        wait_for_signal(rank, 5, 9);
        mapping_.record(rank).what = static_cast<std::uint32_t>(operation::test_signal);
        mapping_.record(rank).is_waiting = 0;
    }
    end(2);
    begin(0, operation::barrier, std::source_location::current());
    EXPECT_THAT(explain_waits(mapping_), HasSubstr("ranks 1-3 do not wait; last known call: test"));
    EXPECT_THAT(explain_waits(mapping_), HasSubstr("for a signal of at least 9; it is 5"));
}

TEST_F(hang_report_test, who_has_returned_to_a_script_has_no_place) {
    for (const std::uint32_t rank : {0u, 1u}) {
        begin(rank, operation::end_of_run, std::source_location::current());
        mapping_.record(rank).site = 0;
        mapping_.record(rank).has_finished = 1;
    }
    begin(2, operation::barrier, std::source_location::current());
    EXPECT_THAT(explain_waits(mapping_),
                HasSubstr("ranks 0-1 wait in the end of run: their functions have returned\n"));
}

TEST_F(hang_report_test, who_waits_in_a_collective_and_who_is_absent) {
    const auto site = std::source_location::current();
    for (const std::uint32_t rank : {0u, 1u, 3u}) begin(rank, operation::barrier, site);
    const std::string text = explain_waits(mapping_);
    EXPECT_THAT(text, HasSubstr("ranks 0-1, 3 wait in barrier #1 at " + place(site)));
    EXPECT_THAT(text, HasSubstr("absent: rank 2: before its first collective call or wait"));
    EXPECT_THAT(text, Not(HasSubstr("absent: ranks")));  // who waits is there
}

TEST_F(hang_report_test, the_absent_are_grouped_by_what_they_do) {
    const auto first = std::source_location::current();
    for (std::uint32_t rank = 0; rank < 4; ++rank) begin(rank, operation::sync, first);
    for (std::uint32_t rank = 0; rank < 4; ++rank) end(rank);
    begin(0, operation::all_reduce, std::source_location::current());
    mapping_.record(2).has_finished = 1;
    const std::string text = explain_waits(mapping_);
    EXPECT_THAT(text, HasSubstr("rank 0 waits in all_reduce #2"));
    EXPECT_THAT(
        text, HasSubstr("absent: ranks 1, 3: in their own code, after sync #1 at " + place(first)));
    EXPECT_THAT(text, HasSubstr("absent: rank 2: its function has returned"));
}

/// It was in another one, perhaps, but in one of that number.
TEST_F(hang_report_test, who_has_left_a_collective_is_not_absent_from_it) {
    const auto site = std::source_location::current();
    for (std::uint32_t rank = 0; rank < 4; ++rank) begin(rank, operation::barrier, site);
    end(0);
    begin(0, operation::end_of_run, site);
    mapping_.record(0).has_finished = 1;
    const std::string text = explain_waits(mapping_);
    EXPECT_THAT(text, HasSubstr("ranks 1-3 wait in barrier #1"));
    EXPECT_THAT(text, HasSubstr("absent: nobody"));
    EXPECT_THAT(text, Not(HasSubstr("absent: rank 0")));
    EXPECT_THAT(text, HasSubstr("unless the ranks disagree in kind"));
}

TEST_F(hang_report_test, different_calls_are_told_apart) {
    const auto one = std::source_location::current();
    begin(0, operation::barrier, one);
    begin(1, operation::barrier, one);
    const auto other = std::source_location::current();
    begin(2, operation::broadcast, other);
    begin(3, operation::broadcast, other);
    const std::string text = explain_waits(mapping_);
    EXPECT_THAT(text, HasSubstr("ranks 0-1 wait in barrier #1 at " + place(one)));
    EXPECT_THAT(text, HasSubstr("ranks 2-3 wait in broadcast #1 at " + place(other)));
    EXPECT_THAT(text,
                HasSubstr("nobody, but the ranks disagree: as #1 ranks 2-3 are in broadcast"));
    EXPECT_THAT(text, HasSubstr("nobody, but the ranks disagree: as #1 ranks 0-1 are in barrier"));
}

TEST_F(hang_report_test, all_have_come_and_yet_wait) {
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        begin(rank, operation::all_reduce, std::source_location::current());
    }
    const std::string text = explain_waits(mapping_);
    EXPECT_THAT(text, HasSubstr("absent: nobody; who waits goes on once its thread is free"));
    EXPECT_THAT(text, HasSubstr("unless the ranks disagree in kind, size, root, type or modes"));
    EXPECT_THAT(explain_waits(mapping_, true), Not(HasSubstr("disagree")));
}

TEST_F(hang_report_test, who_has_arrived_is_not_absent) {
    const auto site = std::source_location::current();
    for (const std::uint32_t rank : {0u, 1u, 3u}) begin(rank, operation::arrive, site, false);
    for (const std::uint32_t rank : {0u, 1u}) end(rank);
    begin(0, operation::wait, site);
    const std::string text = explain_waits(mapping_);
    EXPECT_THAT(text, HasSubstr("rank 0 waits in wait #1 at " + place(site)));
    EXPECT_THAT(text, HasSubstr("absent: rank 2: before its first collective call or wait"));
    EXPECT_THAT(text, Not(HasSubstr("rank 1")));
    begin(2, operation::arrive, site, false);
    EXPECT_THAT(explain_waits(mapping_), HasSubstr("absent: nobody; who waits goes on"));
    EXPECT_THAT(explain_waits(mapping_), Not(HasSubstr("#1 rank")));  // in another call of that one
}

TEST_F(hang_report_test, a_signal_is_told_with_its_value) {
    wait_for_signal(2, 5, 9);
    EXPECT_THAT(explain_waits(mapping_), HasSubstr("rank 2 waits in wait_until at "));
    EXPECT_THAT(explain_waits(mapping_), HasSubstr("for a signal of at least 9; it is 5"));
}

TEST_F(hang_report_test, a_handler_beside_its_rank_is_told_too) {
    begin(1, operation::barrier, std::source_location::current());
    call_record& record = *mapping_.record_beside(1);
    const auto site = std::source_location::current();
    begin(record, operation::wait_counter, site);
    const std::string text = explain_waits(mapping_);
    EXPECT_THAT(text, HasSubstr("\n  rank 1 waits in barrier #1 at "));
    EXPECT_THAT(text, HasSubstr("\n  a completion handler of rank 1 waits in counter::wait at " +
                                place(site)));
    wait_for_signal(1, record, 5, 9);
    EXPECT_THAT(explain_waits(mapping_),
                HasSubstr("a completion handler of rank 1 waits in wait_until at "));
    EXPECT_THAT(explain_waits(mapping_), HasSubstr("for a signal of at least 9; it is 5"));
    record.is_waiting = 0;
    EXPECT_THAT(explain_waits(mapping_), Not(HasSubstr("a completion handler")));
}

TEST_F(hang_report_test, a_watch_reports_each_long_wait_once) {
    hang_watch watch(mapping_, 100);
    begin(0, operation::barrier, std::source_location::current());
    EXPECT_FALSE(watch.sample(1000));
    EXPECT_FALSE(watch.sample(1099));
    EXPECT_TRUE(watch.sample(1100));
    EXPECT_FALSE(watch.sample(5000));
    end(0);
    EXPECT_FALSE(watch.sample(6000));
    begin(0, operation::barrier, std::source_location::current());
    EXPECT_FALSE(watch.sample(7000));
    EXPECT_TRUE(watch.sample(7100));
}

TEST_F(hang_report_test, a_watch_lets_short_waits_pass) {
    hang_watch watch(mapping_, 100);
    for (std::int64_t now = 1; now < 2000; now += 60) {
        begin(0, operation::barrier, std::source_location::current());
        EXPECT_FALSE(watch.sample(now));
        end(0);
    }
}

TEST_F(hang_report_test, a_watch_counts_no_time_in_which_its_process_stood_still) {
    constexpr std::int64_t second = 1'000'000'000;
    hang_watch watch(mapping_, 3 * second);
    begin(0, operation::barrier, std::source_location::current());
    EXPECT_FALSE(watch.sample(second));
    EXPECT_FALSE(watch.sample(1000 * second));
    EXPECT_FALSE(watch.sample(1001 * second));
    EXPECT_TRUE(watch.sample(1002 * second));
}

TEST_F(hang_report_test, who_lets_others_run_outside_of_calls_does_not_wait) {
    hang_watch watch(mapping_, 100);
    mapping_.record(0).is_waiting = 1;
    for (std::int64_t now = 1; now < 2000; now += 60) EXPECT_FALSE(watch.sample(now));
}

TEST_F(hang_report_test, a_place_that_is_of_another_wait_is_not_looked_at) {
    wait_for_signal(2, 4, 7);
    mapping_.record(2).signal_offset = ~std::uint64_t{0} - 7;
    EXPECT_THAT(explain_waits(mapping_), HasSubstr("rank 2 waits in wait_until at"));
    mapping_.record(2).signal_offset = 4097;
    EXPECT_THAT(explain_waits(mapping_), Not(HasSubstr("it is 4")));
}

TEST_F(hang_report_test, a_watch_without_time_never_reports) {
    hang_watch watch(mapping_, 0);
    begin(0, operation::barrier, std::source_location::current());
    EXPECT_FALSE(watch.sample(1));
    EXPECT_FALSE(watch.sample(1'000'000'000'000));
}

}  // namespace
}  // namespace selion::machine::node
