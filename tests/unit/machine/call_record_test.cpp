// SPDX-License-Identifier: Apache-2.0
#include "machine/call_record.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "selion/detail/script_place.hpp"
#include "unit/kept_place.hpp"

namespace selion::machine {
namespace {

using testing::HasSubstr;
using testing::Not;

class call_record_test : public testing::Test {
protected:
    call_record_test() {
        context_.call = &record_;
        record_.program_start = program_start;
    }
    call_record record_{};
    detail::rank_context context_;
};

TEST_F(call_record_test, a_rank_that_has_called_nothing) {
    EXPECT_EQ(last_call_text(record_), "before its first collective call or wait");
}

TEST_F(call_record_test, inside_and_after_a_call) {
    const auto site = std::source_location::current();
    const std::string place = std::string(site.file_name()) + ":" + std::to_string(site.line());
    {
        const call_scope scope(context_, operation::barrier, site);
        EXPECT_EQ(last_call_text(record_), "in barrier #1 at " + place);
    }
    EXPECT_EQ(last_call_text(record_), "in its own code, after barrier #1 at " + place);
    {
        const call_scope scope(context_, operation::wait_signal, site);
        EXPECT_EQ(last_call_text(record_), "in wait_until at " + place);
    }
    const call_scope scope(context_, operation::all_reduce, site);
    EXPECT_EQ(last_call_text(record_), "in all_reduce #2 at " + place);
}

TEST_F(call_record_test, what_starts_a_collective_has_no_number) {
    const auto site = std::source_location::current();
    const std::string place = std::string(site.file_name()) + ":" + std::to_string(site.line());
    { const call_scope scope(context_, operation::broadcast, site, no_team); }
    EXPECT_EQ(last_call_text(record_), "in its own code, after broadcast at " + place);
    EXPECT_EQ(record_.instance, 0u);
}

TEST_F(call_record_test, a_send_that_nobody_asks_for_is_told_only_while_it_waits) {
    const auto site = std::source_location::current();
    const std::string place = std::string(site.file_name()) + ":" + std::to_string(site.line());
    { const call_scope scope(context_, operation::barrier, site); }
    {
        const send_scope scope(context_, {});
        EXPECT_EQ(last_call_text(record_), "in send at an unknown place");
    }
    EXPECT_EQ(last_call_text(record_), "in its own code, after barrier #1 at " + place);
    { const send_scope scope(context_, site); }
    EXPECT_EQ(last_call_text(record_), "in its own code, after send at " + place);
    const call_scope around(context_, operation::wait_future, site);
    const send_scope scope(context_, {});
    EXPECT_EQ(last_call_text(record_), "in future::wait at " + place);
}

TEST_F(call_record_test, a_site_is_found_again) {
    const auto site = std::source_location::current();
    EXPECT_EQ(decode_site(encode_site(site)).line(), site.line());
    EXPECT_EQ(decode_site(0).line(), 0u);
    EXPECT_EQ(decode_site(UINT64_MAX).line(), 0u);
}

TEST_F(call_record_test, a_wait_tells_what_has_been_started) {
    record_.under_way = static_cast<std::uint32_t>(operation::broadcast);
    const auto site = std::source_location::current();
    {
        const call_scope scope(context_, operation::wait_future, site);
        EXPECT_THAT(last_call_text(record_), HasSubstr("(a started broadcast is under way)"));
    }
    EXPECT_THAT(last_call_text(record_), Not(HasSubstr("under way")));
    const call_scope scope(context_, operation::barrier, site);
    EXPECT_THAT(last_call_text(record_), Not(HasSubstr("under way")));
}

/// What a composed call consists of counts, and keeps its name.
TEST_F(call_record_test, the_parts_of_a_call_are_told_by_its_name) {
    const call_scope whole(context_, operation::gatherv, std::source_location::current());
    for (const operation part : {operation::all_gather, operation::gather}) {
        const call_scope scope(context_, part, std::source_location::current());
    }
    EXPECT_THAT(last_call_text(record_), HasSubstr("in gatherv #2"));
}

/// Another process has the program, and so the site, elsewhere.
TEST_F(call_record_test, a_call_of_another_process) {
    const auto site = std::source_location::current();
    const std::string place = std::string(site.file_name()) + ":" + std::to_string(site.line());
    constexpr std::uint64_t further = std::uint64_t{1} << 40;  // beyond any program
    note_call(record_, operation::barrier, site);
    record_.site += further;
    EXPECT_THAT(last_call_text(record_), HasSubstr("an unknown place"));
    record_.program_start += further;
    EXPECT_THAT(last_call_text(record_), HasSubstr(place));
}

TEST_F(call_record_test, the_outermost_call_gives_the_name) {
    const auto site = std::source_location::current();
    const call_scope outer(context_, operation::allocate, site);
    {
        const call_scope inner(context_, operation::barrier, std::source_location::current());
        EXPECT_THAT(last_call_text(record_), HasSubstr("in allocate #1"));
    }
    EXPECT_THAT(last_call_text(record_), HasSubstr("in allocate #1"));
    EXPECT_EQ(record_.instance, 1u);
}

TEST_F(call_record_test, a_joined_thread_counts_collectives_and_leaves_the_rest) {
    context_.is_foreign_thread = true;
    {
        const call_scope scope(context_, operation::wait_signal, std::source_location::current());
        EXPECT_EQ(record_.entries, 0u);
    }
    const call_scope scope(context_, operation::barrier, std::source_location::current());
    EXPECT_EQ(record_.entries, 0u);
    EXPECT_EQ(record_.instance, 1u);
}

TEST_F(call_record_test, a_rank_that_has_returned) {
    record_.has_finished = 1;
    EXPECT_EQ(last_call_text(record_), "its function has returned");
    record_.return_status = 7;
    EXPECT_EQ(last_call_text(record_),
              "its function has returned 7 (which ends no other rank: an exception or std::exit(7) "
              "ends the job)");
}

TEST_F(call_record_test, where_a_rank_has_died) {
    const auto died_at = [&](fault_place place) {
        record_.crash_place = static_cast<std::uint32_t>(place);
        return crash_place_text(record_);
    };
    record_.crash_address = 0x10;
    EXPECT_EQ(died_at(fault_place::none), "");
    EXPECT_EQ(died_at(fault_place::address), " at address 0x10");
    EXPECT_THAT(died_at(fault_place::no_address), HasSubstr(" at an address that no program can"));
    EXPECT_EQ(died_at(fault_place::stack_end),
              " at address 0x10, where its stack has ended (`ulimit -s` sets its size)");
    record_.stack_kib = 1024;
    EXPECT_EQ(died_at(fault_place::stack_end),
              " at address 0x10, where its stack of 1 MiB has ended (SELION_STACK sets its size)");
}

TEST_F(call_record_test, places_outside_the_program_are_unknown) {
    EXPECT_EQ(site_text(0), "an unknown place");
    EXPECT_EQ(site_text(~std::uint64_t{0}), "an unknown place");
    const auto site = std::source_location::current();
    EXPECT_THAT(site_text(encode_site(site)), testing::EndsWith(":" + std::to_string(site.line())));
}

TEST_F(call_record_test, a_library_names_its_lines_while_its_process_lives) {
    const auto place = std::make_unique<unit::kept_place>("part.cpp", "part", 12u, 3u);
    note_call(record_, operation::barrier, unit::location_of(*place));
    EXPECT_THAT(last_call_text(record_), HasSubstr("an unknown place"));
    record_.process = getpid();
    EXPECT_EQ(last_call_text(record_), "in its own code, after barrier #1 at part.cpp:12");
    record_.what = static_cast<std::uint32_t>(operation::end_of_run);
    EXPECT_EQ(wait_text(record_), "in the end of run");
    record_.what = static_cast<std::uint32_t>(operation::barrier);
    keep_site(record_);
    record_.process = 0;
    EXPECT_EQ(last_call_text(record_), "in its own code, after barrier #1 at part.cpp:12");
}

TEST_F(call_record_test, a_place_that_is_no_text_is_unknown) {
    record_.process = getpid();
    const std::string endless(10'000, 'x');
    const auto place = std::make_unique<unit::kept_place>(endless.data(), "part", 12u, 3u);
    const auto site = unit::location_of(*place);
    note_call(record_, operation::barrier, site);
    EXPECT_THAT(last_call_text(record_), HasSubstr("an unknown place"));
    place->file = nullptr;
    EXPECT_THAT(last_call_text(record_), HasSubstr("an unknown place"));
    keep_site(record_);
    EXPECT_THAT(last_call_text(record_), HasSubstr("an unknown place"));
}

TEST_F(call_record_test, a_script_names_its_own_lines) {
    constexpr std::uint64_t elsewhere = std::uint64_t{1} << 40;  // beyond any program
    detail::rank_context* const before = std::exchange(detail::current_context, &context_);
    context_.ranks = 1;
    detail::note_script_place("model.py:12");
    const auto site = std::source_location::current();
    note_call(record_, operation::barrier, site);
    EXPECT_THAT(last_call_text(record_), HasSubstr(site.file_name()));
    record_.site += elsewhere;  // as in a library that the script has loaded
    EXPECT_EQ(last_call_text(record_), "in its own code, after barrier #1 at model.py:12");
    detail::note_script_place(std::string(200, '/') + "model.py:345");
    EXPECT_THAT(last_call_text(record_), testing::EndsWith("//model.py:345"));
    EXPECT_EQ(script_place(record_).size(), 127u);
    detail::current_context = before;
}

TEST_F(call_record_test, a_call_made_within_another_leaves_its_place) {
    detail::rank_context* const before = std::exchange(detail::current_context, &context_);
    context_.ranks = 1;
    detail::note_script_place("outer.py:1");
    {
        const call_scope outer(context_, operation::barrier, std::source_location::current());
        detail::note_script_place("inner.py:1");  // as a handler may
        EXPECT_EQ(script_place(record_), "outer.py:1");
        const pause_in_call in_its_own_name(record_);
        detail::note_script_place("inner.py:1");
        EXPECT_EQ(script_place(record_), "inner.py:1");
    }
    EXPECT_EQ(script_place(record_), "outer.py:1");
    detail::current_context = before;
}

TEST_F(call_record_test, the_end_of_a_run_is_no_call_of_a_script) {
    detail::rank_context* const before = std::exchange(detail::current_context, &context_);
    context_.ranks = 1;
    detail::note_script_place("model.py:12");
    note_call(record_, operation::end_of_run, std::source_location::current());
    record_.site += std::uint64_t{1} << 40;
    EXPECT_EQ(wait_text(record_), "in the end of run");
    detail::current_context = before;
}

void some_function() {}
void other_function() {}

TEST(encode_place, tells_functions_of_programs_and_libraries_apart) {
    const auto encode = [](auto* function) {
        return encode_place(reinterpret_cast<const void*>(function));
    };
    EXPECT_EQ(encode(some_function), encode(some_function));
    EXPECT_NE(encode(some_function), encode(other_function));
    EXPECT_TRUE(is_in_program(encode(some_function)));
    Dl_info library{};
    const auto* const found = dlsym(RTLD_DEFAULT, "strtol");
    ASSERT_NE(dladdr(found, &library), 0);
    EXPECT_EQ(encode_place(found), reinterpret_cast<std::uint64_t>(found) -
                                       reinterpret_cast<std::uint64_t>(library.dli_fbase));
    const int on_the_stack = 0;
    EXPECT_EQ(encode_place(&on_the_stack), 0u);
}

TEST(end_of, begins_with_a_whole_character) {
    EXPECT_EQ(end_of("model.py", 8), "model.py");
    EXPECT_EQ(end_of("model.py", 3), ".py");
    EXPECT_EQ(end_of("\xC3\xA9\xC3\xA9.py", 5), "\xC3\xA9.py");
    EXPECT_EQ(end_of("\xC3\xA9\xC3\xA9.py", 4), ".py");
}

TEST(operation, every_one_has_a_name) {
    for (std::uint32_t what = 0; what <= static_cast<std::uint32_t>(operation::end_of_run);
         ++what) {
        EXPECT_NE(name_of(static_cast<operation>(what)), "an unknown call") << what;
    }
    EXPECT_FALSE(is_collective(operation::wait_signal));
    EXPECT_FALSE(is_collective(operation::none));
    EXPECT_TRUE(is_collective(operation::deallocate));
}

}  // namespace
}  // namespace selion::machine
