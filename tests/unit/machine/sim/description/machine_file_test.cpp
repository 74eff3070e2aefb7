// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/machine_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "machine/sim/description/shipped_machines.hpp"

namespace selion::machine::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view head = R"(
[machine]
name = "sample"
summary = "for tests"
source = "assumed because tests need numbers"
ranks = 4
)";

constexpr std::string_view wires = R"(
[network]
kind = "crossbar"
source = "assumed because tests need numbers"
latency_us = 2
)";

machine_model read(const std::string& text, const option_map& options = {}) {
    return read_machine(text, "sample.toml", options).value();
}

std::string join(std::string_view first, std::string_view second, std::string_view third = {}) {
    return fmt::format("{}{}{}", first, second, third);
}

/// A machine of `head` and `wires` and more.
std::string with(std::string_view more) { return join(head, wires, more); }

/// What is wrong with a file; empty if nothing is.
std::string trouble_of(const std::string& text, const option_map& options = {}) {
    const result<machine_model> made = read_machine(text, "sample.toml", options);
    return made ? "" : made.trouble().what();
}

machine_model load(std::string_view name, const option_map& options = {}) {
    return load_machine(name, options).value();
}

std::string trouble_of_machine(std::string_view name, const option_map& options) {
    const result<machine_model> made = load_machine(name, options);
    if (made) return "";
    EXPECT_EQ(made.trouble().code(), status::bad_argument);
    return made.trouble().what();
}

// --- units
// ----------------------------------------------------------------------------------------

TEST(machine_file, times_become_ticks_of_a_picosecond) {
    const machine_model model = read(with("gap_ns = 1.5\n"));
    EXPECT_EQ(model.crossbar.latency, 2'000'000);
    EXPECT_EQ(model.crossbar.gap, 1500);
    EXPECT_EQ(model.tick.numerator_ps, 1);
    EXPECT_EQ(model.tick.denominator, 1);
}

TEST(machine_file, ticks_of_half_a_cycle_are_exact) {
    const machine_model model = read(with(R"(
gap_cycles = 1.5
packet_gap_half_cycles = 7
[clock]
source = "given: a data sheet"
frequency_mhz = 600
tick = "half_cycle"
)"));
    EXPECT_EQ(model.tick.numerator_ps, 2500);
    EXPECT_EQ(model.tick.denominator, 3);
    EXPECT_EQ(model.crossbar.gap, 3);
    EXPECT_EQ(model.crossbar.packet_gap, 7);
    EXPECT_EQ(model.crossbar.latency, 2400);  // 2 us of 5/6 ns each
}

TEST(machine_file, ticks_are_rounded_to_the_nearest) {
    const machine_model model = read(with("gap_ps = 2.5\npacket_gap_ps = 2.4\n"));
    EXPECT_EQ(model.crossbar.gap, 3);
    EXPECT_EQ(model.crossbar.packet_gap, 2);
}

TEST(machine_file, speeds_become_times_of_a_byte) {
    constexpr std::uint64_t bytes = 1'000'000;
    const auto time_of = [](const std::string& key) {
        return static_cast<double>(read(with(key)).crossbar.per_byte.of(bytes)) * 1e-6;
    };
    EXPECT_NEAR(time_of("port_mb_per_s = 38"), bytes / 38.0, 0.1);  // both in us
    EXPECT_NEAR(time_of("port_mib_per_s = 38"), bytes / 38.0 / 1.048576, 0.1);
    EXPECT_NEAR(time_of("port_gb_per_s = 2"), bytes / 2000.0, 0.01);
    EXPECT_NEAR(time_of("port_ns_per_byte = 2.5"), bytes * 2.5e-3, 0.01);
}

TEST(machine_file, work_is_counted_each) {
    const machine_model model = read(with(R"(
[clock]
frequency_mhz = { value = 500, source = "given: a data sheet" }
[processor]
source = "given: a data sheet"
flop_million_per_s = 320
int_op_cycles = 0.5
load_ns = 3
)"));
    EXPECT_EQ(model.processor.flop.of(1000), 3'125'000);
    EXPECT_EQ(model.processor.int_op.of(1000), 1'000'000);
    EXPECT_EQ(model.processor.load.of(1000), 3'000'000);
}

// --- tables
// ---------------------------------------------------------------------------------------

TEST(machine_file, regimes_grow) {
    const machine_model model = read(with(R"(
[[operations.put]]
source = "assumed because tests need numbers"
up_to_kib = 1
origin_us = 1
[[operations.put]]
source = "assumed because tests need numbers"
origin_us = 2
origin_ns_per_byte = 0.5
[operations.get]
source = "assumed because tests need numbers"
reply_us = 3
)"));
    EXPECT_EQ(model.put.of(1024).origin, 1'000'000);
    EXPECT_EQ(model.put.of(1025).origin, 2'000'000);
    EXPECT_EQ(model.put.of(1025).origin_per_byte.of(1000), 500'000);
    EXPECT_EQ(model.get.of(1 << 20).reply, 3'000'000);
    EXPECT_TRUE(model.atomic.regimes.empty());
}

TEST(machine_file, free_tables_are_exposed_by_name) {
    const machine_model model = read(with(R"(
[coherence]
source = "given: section 3.1"
read_hit_ns = 350
moved_us_per_byte = 0.2
entries = 12
block_kib = 8
[facts]
read_hits = { value = 1, source = "given: x" }
)"));
    EXPECT_EQ(model.extras.at("coherence.read_hit").time, 350'000);
    EXPECT_EQ(model.extras.at("coherence.moved").per_byte.of(10), 2'000'000);
    EXPECT_EQ(model.extras.at("coherence.entries").number, 12);
    EXPECT_EQ(model.extras.at("coherence.block").number, 8192);
    EXPECT_EQ(model.extras.at("facts.read_hits").number, 1);
}

TEST(machine_file, what_floors_above_look_up_has_its_unit_and_its_name) {
    const auto trouble_of_key = [](std::string_view table, std::string_view key) {
        return trouble_of(with(fmt::format("[{}]\nsource = \"given: x\"\n{} = 3\n", table, key)));
    };
    EXPECT_THAT(trouble_of_key("coherence", "read_hit"),
                HasSubstr("line 14: read_hit has no unit; read_hit_UNIT takes ps, ns"));
    EXPECT_THAT(trouble_of_key("coherence", "read_hit_bytes"),
                HasSubstr("read_hit_bytes has no unit that is known; read_hit_UNIT takes ps"));
    EXPECT_THAT(trouble_of_key("coherence", "moved_us"),
                HasSubstr("moved_us has no unit that is known; moved_UNIT takes ns_per_byte"));
    EXPECT_THAT(trouble_of_key("coherence", "raed_hit_ns"),
                HasSubstr("[coherence] has no key raed_hit_ns (did you mean read_hit_ns?)"));
    EXPECT_THAT(trouble_of_key("offload", "synchronize_us"),
                AllOf(HasSubstr("(did you mean synchronise_us?)"), HasSubstr("read_result_TIME")));
    EXPECT_THAT(trouble_of_key("offload", "call_us_per_byte"), HasSubstr("call_UNIT takes ps"));
    EXPECT_EQ(trouble_of_key("offload", "call_with_arguments_us"), "");
    EXPECT_EQ(trouble_of_key("offload", "interrupt_us"), "");
    EXPECT_THAT(trouble_of(with(""), {{"coherence.read_hit", "350"}}), HasSubstr("has no unit"));
}

TEST(machine_file, sources_are_kept_for_each_constant) {
    const machine_model model =
        read(with("gap_ns = { value = 5, source = \"fitted on figure 3\" }\n"));
    const auto source_of = [&](std::string_view key) -> std::string {
        for (const constant_note& note : model.constants) {
            if (note.key == key) return note.source;
        }
        return "absent";
    };
    EXPECT_EQ(source_of("network.gap_ns"), "fitted on figure 3");
    EXPECT_EQ(source_of("network.latency_us"), "assumed because tests need numbers");
}

// --- mistakes
// -------------------------------------------------------------------------------------

struct mistake {
    std::string text;
    std::string line;   ///< where it is
    std::string wrong;  ///< what the sentence says
    std::string cure;
};

void expect_sentences(const std::vector<mistake>& mistakes) {
    for (const mistake& each : mistakes) {
        const std::string sentence = trouble_of(with(each.text));
        EXPECT_THAT(sentence, AllOf(StartsWith("sample.toml"), HasSubstr(each.line + ": "),
                                    HasSubstr(each.wrong), HasSubstr(each.cure)))
            << each.text;
        EXPECT_EQ(sentence.find('\n'), std::string::npos) << each.text;
    }
}

TEST(machine_file, each_mistake_is_one_sentence_with_its_place) {
    expect_sentences({
        {"gap = 5\n", "line 12", "gap has no unit; gap_UNIT takes", "ps, ns, us"},
        {"gap_lightyears = 5\n", "line 12",
         "gap_lightyears has no unit that is known; gap_UNIT takes", "ps, ns, us"},
        {"gpa_ns = 5\n", "line 12", "has no key gpa_ns (did you mean gap_ns?)", "gap_TIME"},
        {"gap_ns = -5\n", "line 12", "gap_ns = -5", "0 or more"},
        {"gap_ns = inf\n", "line 12", "gap_ns = inf", "finite"},
        {"gap_s = 1e30\n", "line 12", "gap_s", "too long; a time is at most 1e+06 s"},
        {"port_mb_per_s = 1e-20\n", "line 12", "port_mb_per_s",
         "too long; a byte or an operation takes at most 8 s"},
        {"gap_ns = \"five\"\n", "line 12", "gap_ns must be a number", "not five (a word)"},
        {"gap_ns = true\n", "line 12", "gap_ns must be a number", "not true (a truth value)"},
        {"gap_ns = [1, 2]\n", "line 12", "gap_ns must be a number", "a list"},
        {"gap_ns = [1, 2.5]\n", "line 12", "gap_ns is a list", "of whole numbers"},
        {"packet_bytes = -1\n", "line 12", "packet_bytes = -1 must be 0 or more", "finite"},
        {"[memory]\nsource = \"given: x\"\neach_rank_kib = -1\n", "line 14",
         "each_rank_kib = -1 must be greater than 0", "finite"},
        {"[reception]\nkind = 3\n", "line 13", "kind must be a word, not 3 (a whole number)", ""},
        {"[reception]\nbig_lock = 1\n", "line 13", "big_lock must be true or false, not 1", ""},
        {"gap_ns = 1\ngap_us = 1\n", "line 13", "gap is given twice", "[network]"},
        {"gap_cycles = 1\n", "line 12", "gap_cycles counts cycles", "no frequency"},
        {"port_mb_per_s = 0\n", "line 12", "port_mb_per_s", "greater than 0"},
        {"packet_bytes = 1.5\n", "line 12", "packet_bytes = 1.5", "a whole number"},
        {"gap_ns = { value = 1, unit = 3 }\n", "line 12", "has a \"unit\"", "value and a source"},
        {"gap_ns = { source = \"given: x\" }\n", "line 12", "gap_ns has no value", ""},
        {"gap_ns = { value = 1, source = \"hearsay\" }\n", "line 12", "a source is a text that",
         "\"assumed because\""},
        {"[network.gap]\nns = 1\n", "line 12", "gap has no value", ""},
        {"[nodes]\nkind = \"large\"\n", "line 12", "no table [nodes] (did you mean node?)",
         "operations.put"},
        {"[operations.putt]\n", "line 12", "no table [operations.putt]", "operations.put"},
        {"[operations]\nput = 3\n", "line 13", "operations.put must be a table", ""},
        {"[processor]\nflop_ns = 1\n", "line 13", "flop_ns has no source", "given: ..."},
        {"[processor]\nsource = \"given: x\"\npoll_ns = 0\n", "line 14", "poll", "at least a tick"},
        {"[reception]\nkind = \"divination\"\n", "line 13", "kind = divination",
         "hardware, polling, interrupt"},
        {"[clock]\ntick = \"cycle\"\n", "line 12", "needs a frequency", ""},
        {"[node\n", "line 12", "this is not TOML", ""},
        {"[[operations.put]]\n[[operations.put]]\n", "line 12", "[[operations.put]]", "up_to_SIZE"},
        {"[[operations.put]]\nsource = \"given: x\"\nup_to_bytes = 100\n[[operations.put]]\nsource "
         "= "
         "\"given: x\"\nup_to_bytes = 50\n",
         "line 17", "[[operations.put]]", "up_to_SIZE"},
    });
}

TEST(machine_file, each_mistake_of_an_option_is_one_sentence_with_its_place) {
    expect_sentences({
        {"[options.speed]\ndefault = \"slow\"\n", "line 12", "option speed needs a default", ""},
        {"[options]\nfast = \"network.latency\"\n", "line 13", "latency has no unit",
         "latency_UNIT takes ps, ns"},
        {"[processor]\nthreads = 2\n", "line 13",
         "[processor] has no key threads ([machine] has it)", "flop_EACH"},
        {"packet_gpa_ns = 2\n", "line 12", "no key packet_gpa_ns (did you mean packet_gap_ns?)",
         ""},
        {"slot_ns = 2\n", "line 12", "[network] of kind crossbar has no key slot_ns ([network] of",
         "kind mesh has it)"},
        {"[options.w]\ndefault = \"a\"\n[options.w.a]\nsource = \"given: x\"\nnetwork.gap_us = 1\n"
         "network.gap_ns = 1\n",
         "line 17", "network.gap is given twice in [options.w.a]", ""},
        {"[options]\nseed = \"network.latency_us\"\n", "line 13", "option seed needs another name",
         "every run"},
        {"[options]\nfast = \"latency_us\"\n", "line 13", "a key with its table", ""},
        {"[options]\nlag = 5\n", "line 13", "option lag must be another name for a key",
         "a table of words, [options.lag]"},
        {"[options.w]\nsource = \"given: x\"\ndefault = \"a\"\n[options.w.a]\n", "line 13",
         "has a \"source\"; it can have a default and a table for each word", "sources stand"},
        {"[options.w]\ndefault = \"a\"\n[options.w.a]\n[options.w.b]\nnetwork.gap_ns = 1\n",
         "line 16", "network.gap_ns has no source", ""},
        {"[options.w]\ndefault = \"a\"\n[options.w.a.network]\nsource = \"hearsay\"\n", "line 15",
         "a source is a text", ""},
    });
}

TEST(machine_file, what_must_be_there) {
    EXPECT_THAT(trouble_of(""), HasSubstr("sample.toml: [machine] with a name is missing"));
    EXPECT_THAT(trouble_of("\n[machine]\n"), HasSubstr("line 2: [machine] needs a name"));
    EXPECT_THAT(trouble_of("x = 1\n"), HasSubstr("x must be a table"));
    EXPECT_THAT(trouble_of(join(head, "[network]\n")), HasSubstr("has no kind"));
    EXPECT_THAT(trouble_of(join(head, "[network]\nkind = \"torus\"\n")), HasSubstr("needs sides"));
    // Also where options name keys of the network.
    const std::string options = "[options]\nlag = \"network.latency_us\"\n";
    EXPECT_THAT(trouble_of(join(head, "[network]\n" + options)), HasSubstr("has no kind"));
    EXPECT_THAT(trouble_of(join(head, "[network]\nkind = \"crosbar\"\n" + options)),
                HasSubstr("crosbar must be one of"));
}

TEST(machine_file, numbers_that_start_at_one_say_so) {
    const std::string text =
        join("[machine]\nname = \"x\"\nsource = \"given: x\"\n", "ranks = -2\n");
    EXPECT_THAT(trouble_of(text), HasSubstr("ranks = -2 must be greater than 0"));
    EXPECT_THAT(trouble_of(join("[machine]\nname = \"x\"\n[network]\nkind = 3\n", "")),
                HasSubstr("line 4: kind must be a word, not 3"));
    EXPECT_THAT(trouble_of(join("[machine]\nname = \"x\"\n[network]\nkind = \"torus\"\n",
                                "source = \"given: x\"\nsides = []\n")),
                HasSubstr("line 6: sides is empty"));
}

TEST(machine_file, what_a_spec_hides_has_a_source_all_the_same) {
    const std::string text =
        join("[machine]\nname = \"x\"\n[network]\nkind = \"crossbar\"\n", "latency_us = 3\n");
    EXPECT_THAT(trouble_of(text, {{"network.latency_us", "5"}}),
                HasSubstr("line 5: latency_us has no source"));
}

TEST(machine_file, only_ordinary_files_are_read) {
    EXPECT_THAT(trouble_of_machine("/", {}), StartsWith("/: is a folder"));
    EXPECT_THAT(trouble_of_machine("/dev/zero", {}), StartsWith("/dev/zero: is a device"));
    const std::filesystem::path path =
        std::filesystem::path(testing::TempDir()) / fmt::format("pipe-{}.toml", getpid());
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(trouble_of_machine(path.string(), {}),
                StartsWith(fmt::format("{}: is a pipe (FIFO)", path.string())));
    std::filesystem::remove(path);
}

TEST(machine_file, names_and_paths) {
    EXPECT_THAT(trouble_of_machine("crosbar", {}),
                AllOf(HasSubstr("did you mean crossbar?"), HasSubstr("a file of your own")));
    EXPECT_THAT(trouble_of_machine("./absent.toml", {}),
                StartsWith("./absent.toml: cannot be opened: No such file"));

    const std::filesystem::path path =
        std::filesystem::path(testing::TempDir()) / fmt::format("machine-{}.toml", getpid());
    std::ofstream(path) << with("");
    EXPECT_EQ(load(path.string()).name, "sample");
    std::ofstream(path) << std::string((1 << 20) + 1, '#');
    EXPECT_THAT(trouble_of_machine(path.string(), {}), HasSubstr("is larger than"));
    std::filesystem::remove(path);
}

// --- options
// --------------------------------------------------------------------------------------

constexpr std::string_view choices = R"(
[options]
lag = "network.latency_us"
[options.grade]
default = "plain"
[options.grade.plain]
source = "given: table 1"
network.gap_ns = 10
[options.grade.fine]
network.gap_ns = { value = 5, source = "given: table 2" }
network.latency_us = { value = 1, source = "given: table 2" }
)";

TEST(machine_options, choices_fall_on_their_default) {
    EXPECT_EQ(read(with(choices)).crossbar.gap, 10'000);
    const machine_model fine = read(with(choices), {{"grade", "fine"}});
    EXPECT_EQ(fine.crossbar.gap, 5'000);
    EXPECT_EQ(fine.crossbar.latency, 1'000'000);
    EXPECT_THAT(trouble_of(with(choices), {{"grade", "rough"}}),
                AllOf(StartsWith("sample.toml, option grade=rough: "), HasSubstr("plain, fine")));
}

TEST(machine_options, a_table_of_a_choice_has_a_source_of_its_own) {
    const machine_model model = read(with(R"(
[options.wire]
default = "glass"
[options.wire.glass]
source = "given: the shop"
processor.flop_ns = 3
[options.wire.glass.network]
source = "given: the card"
port_mb_per_s = 112
)"));
    const auto source_of = [&](std::string_view key) {
        return std::ranges::find(model.constants, key, &constant_note::key)->source;
    };
    EXPECT_EQ(source_of("network.port_mb_per_s"), "given: the card");
    EXPECT_EQ(source_of("processor.flop_ns"), "given: the shop");
}

TEST(machine_options, short_keys_and_dotted_keys_change_the_same) {
    EXPECT_EQ(read(with(choices), {{"lag", "7"}}).crossbar.latency, 7'000'000);
    const machine_model model = read(with(choices), {{"network.latency_ns", "7"}});
    EXPECT_EQ(model.crossbar.latency, 7'000);
    EXPECT_EQ(model.constants.back().source, "assumed because the spec says network.latency_ns=7");
}

TEST(machine_options, a_table_that_the_file_leaves_out_can_be_set) {
    const machine_model model =
        read(with(""), {{"reception.kind", "polling"}, {"processor.poll_ns", "5"}});
    EXPECT_EQ(model.reception.kind, reception_kind::polling);
    EXPECT_EQ(model.processor.poll, 5000);
}

constexpr std::string_view costs = R"(
[processor]
source = "given: x"
flop_ns = 1
load_ns = 2
[[operations.put]]
source = "given: x"
up_to_bytes = 100
origin_us = 3
target_us = 4
[[operations.put]]
source = "given: x"
origin_us = 5
)";

TEST(machine_options, a_table_that_stands_for_another_begins_as_its_copy) {
    const machine_model model = read(with(costs), {{"master.flop_ns", "7"},
                                                   {"processor.load_ns", "8"},
                                                   {"operations.put_signal.target_us", "9"},
                                                   {"operations.put.2.origin_us", "6"}});
    ASSERT_TRUE(model.master);
    EXPECT_EQ(model.master->flop.of(1), 7000);
    EXPECT_EQ(model.master->load.of(1), 8000);
    EXPECT_EQ(model.processor.flop.of(1), 1000);
    EXPECT_EQ(model.put_signal.of(100).origin, 3'000'000);
    EXPECT_EQ(model.put_signal.of(100).target, 9'000'000);
    EXPECT_EQ(model.put_signal.of(101).origin, 6'000'000);
    EXPECT_EQ(model.put.of(100).target, 4'000'000);
    EXPECT_EQ(model.signal.of(0).target, 0);
}

TEST(machine_options, a_table_of_which_one_key_is_not_enough_is_not_made) {
    EXPECT_THAT(trouble_of(with(""), {{"node.cores_per_socket", "4"}}),
                AllOf(StartsWith("sample.toml, option node.cores_per_socket=4: sample.toml has no "
                                 "[node]"),
                      HasSubstr("would be free")));
    EXPECT_THAT(trouble_of(std::string(head), {{"network.kind", "crossbar"}}),
                HasSubstr("has no [network]"));
}

TEST(machine_options, regimes_are_set_together_or_one_by_one) {
    const std::string text = with(R"(
[[operations.put]]
up_to_bytes = { value = 100, source = "given: x" }
[[operations.put]]
)");
    const machine_model both = read(text, {{"operations.put.origin_ns", "3"}});
    EXPECT_EQ(both.put.of(1).origin, 3000);
    EXPECT_EQ(both.put.of(101).origin, 3000);
    const machine_model second = read(text, {{"operations.put.2.origin_ns", "3"}});
    EXPECT_EQ(second.put.of(1).origin, 0);
    EXPECT_EQ(second.put.of(101).origin, 3000);
}

TEST(machine_options, mistakes_name_the_legal_ones) {
    EXPECT_THAT(trouble_of(with(choices), {{"grad", "fine"}}),
                AllOf(HasSubstr("option grad=fine: there is no such option (did you mean grade?)"),
                      HasSubstr("legal are lag, grade, ranks")));
    EXPECT_THAT(trouble_of(with(""), {{"network.latency", "1"}}),
                HasSubstr("option network.latency=1: latency has no unit; latency_UNIT takes ps"));
    EXPECT_THAT(trouble_of(with(""), {{"network.latencyy_us", "1"}}),
                AllOf(HasSubstr("(did you mean latency_us?)"), HasSubstr("latency_TIME")));
    EXPECT_THAT(trouble_of(with(""), {{"nettwork.latency_us", "1"}}),
                HasSubstr("no table [nettwork] (did you mean network?)"));
    EXPECT_THAT(trouble_of(with(""), {{"network.latency_us", "fast"}}), HasSubstr("not a number"));
    EXPECT_THAT(trouble_of(with(""), {{"network.latency_us", "-1"}}), HasSubstr("0 or more"));
    EXPECT_THAT(trouble_of(with(""), {{"network.latency_us", "1us"}}), HasSubstr("not a number"));
    EXPECT_THAT(trouble_of(with(""), {{"reception.big_lock", "maybe"}}), HasSubstr("on and off"));
    EXPECT_THAT(trouble_of(with(""), {{"ranks", "0"}}), HasSubstr("at least 1"));
    EXPECT_THAT(trouble_of(with(""), {{"operations.put.2.origin_ns", "3"}}),
                HasSubstr("no table [operations.put.2]"));
}

}  // namespace
}  // namespace selion::machine::sim
