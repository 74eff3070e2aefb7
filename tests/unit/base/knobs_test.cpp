// SPDX-License-Identifier: Apache-2.0
#include "base/knobs.hpp"

#include <gmock/gmock.h>

#include <array>
#include <utility>

#include "selion/error.hpp"
#include "selion/machines.hpp"
#include "unit/environment.hpp"

namespace selion::base {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class knobs_test : public own_environment {};

template <class Call>
std::string refusal_of(Call call) {
    try {
        static_cast<void>(call());
    } catch (const error& trouble) {
        EXPECT_EQ(trouble.code(), status::bad_argument);
        return trouble.what();
    }
    return "not refused";
}

TEST_F(knobs_test, unset_and_empty_are_the_default) {
    EXPECT_EQ(knob_text(knob::heap), std::nullopt);
    set("SELION_HEAP", "");
    EXPECT_EQ(knob_text(knob::heap), std::nullopt);
    EXPECT_EQ(knob_seconds(knob::hang_timeout), 60.0);
    EXPECT_EQ(knob_bytes(knob::stack), 1u << 20);
    EXPECT_EQ(knob_whole(knob::joined_threads), 64u);
    EXPECT_FALSE(knob_is_on(knob::verbose));
    EXPECT_TRUE(knob_is_on(knob::crash_report));
}

TEST_F(knobs_test, switches) {
    for (const char* off : {"0", "off", "no", "false"}) {
        set("SELION_CRASH_REPORT", off);
        EXPECT_FALSE(knob_is_on(knob::crash_report)) << off;
    }
    for (const char* on : {"1", "on", "yes", "true"}) {
        set("SELION_VERBOSE", on);
        EXPECT_TRUE(knob_is_on(knob::verbose)) << on;
    }
    set("SELION_TRACE", "some/file.json");
    EXPECT_TRUE(knob_is_on(knob::trace));
}

TEST_F(knobs_test, words_stand_in_upper_or_lower_case) {
    for (const char* off : {"OFF", "Off", "NO", "False"}) {
        set("SELION_CRASH_REPORT", off);
        EXPECT_FALSE(knob_is_on(knob::crash_report)) << off;
        EXPECT_TRUE(is_switch_word(off)) << off;
        expect_legal_knobs();
    }
    set("SELION_MEMBARRIER", "Auto");
    set("SELION_HANG_ACTION", "ABORT");
    set("SELION_THREAD_LEVEL", "Multiple");
    set("SELION_RANK_DEATH", "Report");
    expect_legal_knobs();
    EXPECT_EQ(knob_choice(knob::hang_action, std::array<std::string_view, 2>{"report", "abort"}),
              1u);
    EXPECT_TRUE(knob_is_on(knob::membarrier));
}

TEST_F(knobs_test, a_choice_with_on_and_off_takes_all_words_of_a_switch) {
    constexpr std::array<std::string_view, 3> words{"auto", "on", "off"};
    for (const auto& [text, choice] :
         {std::pair{"ON", 1u}, std::pair{"1", 1u}, std::pair{"true", 1u}, std::pair{"YES", 1u},
          std::pair{"0", 2u}, std::pair{"No", 2u}, std::pair{"AUTO", 0u}}) {
        set("SELION_BIND", text);
        EXPECT_EQ(knob_choice(knob::bind, words), choice) << text;
        expect_legal_knobs();
    }
    set("SELION_HANG_ACTION", "on");
    EXPECT_THAT(refusal_of([] { return expect_legal_knobs(), 0; }), HasSubstr("report, abort"));
}

TEST_F(knobs_test, no_folder_is_meant_by_on) {
    for (const char* legal : {"off", "0", "some/folder"}) {
        set("SELION_CACHE_TRACE", legal);
        expect_legal_knobs();
    }
    set("SELION_CACHE_TRACE", "On");
    EXPECT_THAT(refusal_of([] { return expect_legal_knobs(), 0; }), HasSubstr("a folder, or off"));
}

TEST_F(knobs_test, choices) {
    constexpr std::array<std::string_view, 3> words{"auto", "on", "off"};
    EXPECT_EQ(knob_choice(knob::bind, words), 0u);
    set("SELION_BIND", "off");
    EXPECT_EQ(knob_choice(knob::bind, words), 2u);
    set("SELION_BIND", "maybe");
    const std::string sentence = refusal_of([&] { return knob_choice(knob::bind, words); });
    EXPECT_THAT(sentence, HasSubstr("SELION_BIND=maybe"));
    EXPECT_THAT(sentence, HasSubstr("auto, on, off"));
}

TEST_F(knobs_test, malformed_values_are_named_with_what_is_legal) {
    for (const char* text : {"12Q", "0", "-5", "much", "1 G"}) {
        set("SELION_HEAP", text);
        const std::string sentence = refusal_of([] { return knob_bytes(knob::heap); });
        EXPECT_THAT(sentence, HasSubstr("SELION_HEAP=" + std::string(text)));
        EXPECT_THAT(sentence, HasSubstr("512M"));
    }
    for (const char* text : {"-1", "soon", "1m"}) {
        set("SELION_HANG_TIMEOUT", text);
        const std::string sentence = refusal_of([] { return knob_seconds(knob::hang_timeout); });
        EXPECT_THAT(sentence, HasSubstr("SELION_HANG_TIMEOUT=" + std::string(text)));
        EXPECT_THAT(sentence, HasSubstr("seconds"));
    }
    for (const char* text : {"-1", "1.5", "few"}) {
        set("SELION_JOINED_THREADS", text);
        const std::string sentence = refusal_of([] { return knob_whole(knob::joined_threads); });
        EXPECT_THAT(sentence, HasSubstr("SELION_JOINED_THREADS=" + std::string(text)));
        EXPECT_THAT(sentence, HasSubstr("whole number"));
    }
}

TEST_F(knobs_test, unknown_names_are_warned_of_with_the_nearest) {
    EXPECT_THAT(unknown_knob_warnings(), IsEmpty());
    set("SELION_MACHIN", "threads");
    EXPECT_THAT(unknown_knob_warnings(),
                ElementsAre(testing::AllOf(HasSubstr("SELION_MACHIN "),
                                           HasSubstr("did you mean SELION_MACHINE?"))));
}

TEST_F(knobs_test, a_name_far_from_all_others_is_warned_of_alone) {
    set("SELION_qqqqqqqqqqqqqqqqqqqqqqqqqqqq", "1");
    EXPECT_THAT(unknown_knob_warnings(),
                ElementsAre(testing::AllOf(HasSubstr("SELION_qqqq"),
                                           testing::Not(HasSubstr("did you mean")))));
}

TEST_F(knobs_test, names_that_only_begin_like_reserved_ones_are_warned_of) {
    for (const char* name : {"SELION_BINDING", "SELION_HOSTSS", "SELION_STUDIESX"}) {
        set(name, "1");
        EXPECT_THAT(unknown_knob_warnings(), ElementsAre(HasSubstr(name)));
        unsetenv(name);
    }
}

TEST_F(knobs_test, a_time_longer_than_any_job_is_no_time_in_the_past) {
    set("SELION_HANG_TIMEOUT", "99999999999");
    EXPECT_EQ(knob_nanoseconds(knob::hang_timeout), 9'000'000'000'000'000'000);
    set("SELION_HANG_TIMEOUT", "0.5");
    EXPECT_EQ(knob_nanoseconds(knob::hang_timeout), 500'000'000);
}

TEST_F(knobs_test, known_and_reserved_names_are_not_warned_of) {
    for (const knob_entry& entry : knob_table()) set(entry.name.data(), "1");
    set("SELION_JOB_PLACE", "1");
    set("SELION_TEST_SEED", "1");
    for (const char* name : {"SELION_ROOT", "SELION_HOME", "SELION_DIR", "SELION_VERSION"}) {
        set(name, "/opt/selion");  // by a site's modules
    }
    EXPECT_THAT(unknown_knob_warnings(), IsEmpty());
}

TEST_F(knobs_test, all_are_checked_together) {
    expect_legal_knobs();
    constexpr std::array<std::string_view, 8> not_checked{
        "SELION_CACHE_TRACE",     "SELION_FABRIC_INTERFACE",
        "SELION_FABRIC_PROVIDER", "SELION_MACHINE",
        "SELION_METERS",          "SELION_TIME",
        "SELION_TRACE",           "SELION_TUNING"};
    for (const knob_entry& entry : knob_table()) {
        const bool is_checked = std::ranges::find(not_checked, entry.name) == not_checked.end();
        set(entry.name.data(), "nonsense");
        const std::string sentence = refusal_of([] { return expect_legal_knobs(), 0; });
        if (is_checked) {
            EXPECT_THAT(sentence, HasSubstr(std::string(entry.name) + "=nonsense"));
        } else {
            EXPECT_EQ(sentence, "not refused") << entry.name;
        }
        set(entry.name.data(), "");
    }
}

TEST_F(knobs_test, the_limits_of_sizes_are_legal) {
    for (const auto& [name, legal, beyond] :
         {std::array{"SELION_HEAP", "1M", "1023K"}, std::array{"SELION_HEAP", "1T", "1025G"},
          std::array{"SELION_STACK", "64K", "63K"}, std::array{"SELION_MESSAGE_MEMORY", "64K", "1"},
          std::array{"SELION_CACHE_BLOCK", "8", "4"},
          std::array{"SELION_CACHE_BLOCK", "64K", "128K"},
          std::array{"SELION_CACHE_BLOCK", "4096", "4095"}}) {
        set(name, legal);
        expect_legal_knobs();
        set(name, beyond);
        EXPECT_THAT(refusal_of([] { return expect_legal_knobs(), 0; }), HasSubstr(name));
        set(name, "");
    }
}

TEST_F(knobs_test, the_public_list_shows_what_is_set) {
    set("SELION_HEAP", "3M");
    bool is_found = false;
    for (const knob_info& one : selion::knobs()) {
        EXPECT_EQ(one.current, one.name == "SELION_HEAP" ? "3M" : "") << one.name;
        is_found |= one.name == "SELION_HEAP";
    }
    EXPECT_TRUE(is_found);
    EXPECT_EQ(selion::knobs().size(), knob_table().size());
}

}  // namespace
}  // namespace selion::base
