// SPDX-License-Identifier: Apache-2.0
/// Options that say the same twice, what files may call theirs, and values out of bounds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "machine/sim/description/machine_file.hpp"

namespace selion::machine::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view twin_head = R"(
[machine]
name = "twins"
source = "given: x"
ranks = 2
)";

/// Two regimes of puts, and an option that names a key.
constexpr std::string_view twins = R"(
[network]
kind = "crossbar"
source = "given: x"
latency_us = 2
[[operations.put]]
up_to_bytes = { value = 100, source = "given: x" }
[[operations.put]]
[options]
lag = "network.latency_us"
)";

std::string trouble_in(const std::string& text, const option_map& options = {}) {
    const result<machine_model> made = read_machine(text, "twins.toml", options);
    return made ? "" : made.trouble().what();
}

std::string twins_and(std::string_view more) {
    return fmt::format("{}{}{}", twin_head, twins, more);
}

TEST(machine_options, what_is_set_twice_is_a_mistake) {
    const std::vector<option_map> pairs{
        {{"network.latency_us", "5"}, {"network.latency_ns", "6"}},
        {{"lag", "6"}, {"network.latency_us", "5"}},
        {{"lag", "6"}, {"network.latency_ms", "5"}},
        {{"operations.put.2.origin_us", "5"}, {"operations.put.2.origin_ns", "6"}},
        {{"facts.x_us", "5"}, {"facts.x_ns", "6"}},
    };
    const std::string text = twins_and("[facts]\nx_us = { value = 1, source = \"given: x\" }\n");
    for (const option_map& both : pairs) {
        EXPECT_THAT(trouble_in(text, both),
                    AllOf(HasSubstr("both set"), HasSubstr(both.begin()->first),
                          HasSubstr("give one of them")));
    }
}

TEST(machine_options, one_constant_in_two_quantities_is_two) {
    const machine_model model = read_machine(twins_and(""), "twins.toml",
                                             {{"operations.put.origin_us", "1"},
                                              {"operations.put.origin_ns_per_byte", "2"}})
                                    .value();
    EXPECT_EQ(model.put.of(1).origin, 1'000'000);
    EXPECT_EQ(model.put.of(1).origin_per_byte.of(10), 20'000);
}

constexpr std::string_view words = R"(
[options.wire]
default = "copper"
[options.wire.copper]
[options.wire.glass]
source = "given: x"
network.latency_us = 5
[options.switch]
default = "old"
[options.switch.old]
[options.switch.new]
source = "given: x"
network.latency_ns = 9
[options.calls]
default = "cheap"
[options.calls.cheap]
[options.calls.dear]
source = "given: x"
operations.put.2.origin_us = 50
operations.put.origin_us = 7
)";

TEST(machine_options, words_that_set_the_same_do_not_go_together) {
    EXPECT_THAT(trouble_in(twins_and(words), {{"wire", "glass"}}), IsEmpty());
    EXPECT_THAT(trouble_in(twins_and(words), {{"switch", "new"}}), IsEmpty());
    EXPECT_THAT(
        trouble_in(twins_and(words), {{"switch", "new"}, {"wire", "glass"}}),
        HasSubstr("option switch=new: wire=glass and switch=new both set network.latency;"));
    const std::string by_default = R"(
[options.wire]
default = "glass"
[options.wire.glass]
network.latency_us = { value = 5, source = "given: x" }
[options.switch]
default = "new"
[options.switch.new]
network.latency_us = { value = 6, source = "given: x" }
)";
    EXPECT_THAT(trouble_in(twins_and(by_default)),
                HasSubstr("line 21: wire=glass and switch=new both set network.latency;"));
    // A key goes before a word.
    EXPECT_THAT(trouble_in(twins_and(words), {{"lag", "3"}, {"wire", "glass"}}), IsEmpty());
}

TEST(machine_options, one_regime_of_a_word_differs_from_all_of_them) {
    const machine_model model =
        read_machine(twins_and(words), "twins.toml", {{"calls", "dear"}}).value();
    EXPECT_EQ(model.put.of(1).origin, 7'000'000);
    EXPECT_EQ(model.put.of(101).origin, 50'000'000);
    const machine_model asked = read_machine(twins_and(words), "twins.toml",
                                             {{"calls", "dear"}, {"operations.put.origin_us", "1"}})
                                    .value();
    EXPECT_EQ(asked.put.of(101).origin, 1'000'000);
}

TEST(machine_options, one_regime_differs_from_all_of_them) {
    const machine_model model =
        read_machine(twins_and(""), "twins.toml",
                     {{"operations.put.2.origin_us", "100"}, {"operations.put.origin_us", "1"}})
            .value();
    EXPECT_EQ(model.put.of(1).origin, 1'000'000);
    EXPECT_EQ(model.put.of(101).origin, 100'000'000);
}

TEST(machine_options, of_files_have_names_of_their_own) {
    for (const std::string_view name : {"\"\"", "\"a.b\"", "\"a b\"", "\"a=b\""}) {
        EXPECT_THAT(trouble_in(twins_and(fmt::format("{} = \"network.gap_us\"\n", name))),
                    HasSubstr("of letters, digits, _ and - alone"));
    }
    EXPECT_THAT(trouble_in(twins_and("ranks = \"network.gap_us\"\n")),
                AllOf(HasSubstr("option ranks needs another name"), HasSubstr("machine.ranks")));
    EXPECT_THAT(trouble_in(twins_and("ranks = \"machine.ranks\"\n")), IsEmpty());
    EXPECT_THAT(trouble_in(twins_and("gap = \"\"\n")), HasSubstr("a key with its table"));
}

TEST(machine_file, texts_can_be_printed) {
    EXPECT_THAT(trouble_in("[machine]\nname = \"x\\u001b[2J\"\n"),
                AllOf(HasSubstr("line 2"), HasSubstr("cannot be printed")));
    EXPECT_THAT(trouble_in("[machine]\nname = \"x\"\nsource = \"given: \\u0007\"\n"),
                HasSubstr("cannot be printed"));
}

TEST(machine_file, a_tick_is_at_least_a_picosecond) {
    const auto trouble_of_clock = [](std::string_view keys) {
        return trouble_in(twins_and(fmt::format("[clock]\nsource = \"given: x\"\n{}", keys)));
    };
    const std::string half = "tick = \"half_cycle\"\n";
    EXPECT_THAT(trouble_of_clock("frequency_hz = 1e12\n"), IsEmpty());
    EXPECT_THAT(trouble_of_clock(half + "frequency_hz = 5e11\n"), IsEmpty());
    EXPECT_THAT(trouble_of_clock("frequency_hz = 1e19\n"),
                AllOf(HasSubstr("twins.toml, line 18"), HasSubstr("at most 1e+12 Hz")));
    EXPECT_THAT(trouble_of_clock(half + "frequency_ghz = 501\n"),
                AllOf(HasSubstr("frequency_ghz = 501"), HasSubstr("at most 5e+11 Hz")));
}

}  // namespace
}  // namespace selion::machine::sim
