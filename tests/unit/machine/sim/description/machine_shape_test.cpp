// SPDX-License-Identifier: Apache-2.0
/// How many ranks there are and where: what a file says of it, and what a spec makes of that.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "machine/sim/description/machine_file.hpp"

namespace selion::machine::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

machine_model shaped(const std::string& text, const option_map& options = {}) {
    return read_machine(text, "shape.toml", options).value();
}

/// What is wrong with a file; empty if nothing is.
std::string misfit_of(const std::string& text, const option_map& options = {}) {
    const result<machine_model> made = read_machine(text, "shape.toml", options);
    return made ? "" : made.trouble().what();
}

const std::string alone = "[machine]\nname = \"x\"\nsource = \"given: x\"\nranks = 2\n";
const std::string wires_between = "[network]\nkind = \"crossbar\"\n";
const std::string any_crossbar = alone + wires_between;

TEST(machine_shape, a_crossbar_has_any_number_of_ranks_unless_it_says_so) {
    EXPECT_EQ(shaped(any_crossbar, {{"ranks", "1000"}}).ranks, 1000u);
    EXPECT_THAT(misfit_of(any_crossbar, {{"ranks", "1000"}, {"machine.most_ranks", "10"}}),
                AllOf(HasSubstr("has room for 10 ranks"), HasSubstr("machine.most_ranks=1000")));
}

TEST(machine_shape, a_mesh_has_a_rank_on_each_core) {
    const std::string mesh = R"(
[machine]
name = "mesh"
[network]
kind = "mesh"
source = "given: x"
rows = 2
columns = 3
entry_ns = 1
hop_ns = 1
)";
    EXPECT_THAT(misfit_of(mesh, {{"network.hop_ns", "0"}}), HasSubstr("hop must be at least a"));
    EXPECT_EQ(shaped(mesh).ranks, 6u);
    EXPECT_EQ(shaped(mesh, {{"rows", "5"}}).ranks, 15u);
    EXPECT_EQ(shaped(mesh, {{"ranks", "2"}}).ranks, 2u);
    EXPECT_EQ(shaped(mesh, {{"ranks", "2"}}).mesh.rows, 2u);
    EXPECT_THAT(misfit_of(mesh, {{"ranks", "7"}}),
                AllOf(HasSubstr("mesh has room for 6 ranks (2 rows of 3 cores), and 7 are asked "
                                "for"),
                      HasSubstr("rows=3,columns=3")));
    EXPECT_THAT(misfit_of(mesh, {{"rows", "40000"}}), HasSubstr("at most 32767 rows"));
}

TEST(machine_options, links_of_a_mesh_move_transactions_or_messages) {
    const std::string mesh = R"(
[machine]
name = "mesh"
[network]
kind = "mesh"
entry_ns = { value = 1, source = "given: x" }
hop_ns = { value = 1, source = "given: x" }
)";
    const auto granularity_of = [&](const std::string& more, const option_map& options) {
        return shaped(mesh + more, options).mesh.granularity;
    };
    const std::string coarse = "granularity = \"messages\"\n";
    EXPECT_EQ(granularity_of("", {}), mesh_granularity::transactions);
    EXPECT_EQ(granularity_of(coarse, {}), mesh_granularity::messages);
    EXPECT_EQ(granularity_of("", {{"granularity", "messages"}}), mesh_granularity::messages);
    EXPECT_EQ(granularity_of(coarse, {{"granularity", "transactions"}}),
              mesh_granularity::transactions);
    EXPECT_THAT(misfit_of(mesh, {{"granularity", "words"}}),
                AllOf(HasSubstr("option granularity=words"),
                      HasSubstr("must be one of transactions, messages")));
    EXPECT_THAT(misfit_of(any_crossbar, {{"granularity", "messages"}}),
                HasSubstr("there is no such option"));
}

constexpr std::string_view big_node = R"(
[machine]
name = "node"
[node]
source = "given: x"
sockets = 2
cores_per_socket = 4
threads_per_core = 2
)";

TEST(machine_shape, a_node_is_one_process_unless_asked) {
    const machine_model whole = shaped(std::string(big_node));
    EXPECT_EQ(whole.ranks, 16u);
    EXPECT_EQ(whole.processes_per_node, 1u);
    EXPECT_EQ(whole.threads_per_process, 16u);
    EXPECT_EQ(shaped(std::string(big_node), {{"threads", "3"}, {"processes", "1"}}).ranks, 3u);
    EXPECT_THAT(misfit_of(std::string(big_node), {{"processes", "4"}}),
                HasSubstr("need a [network] between them"));
    EXPECT_THAT(misfit_of(std::string(big_node), {{"nodes", "2"}}), HasSubstr("no such option"));
    EXPECT_THAT(misfit_of(std::string(big_node), {{"machine.nodes", "2"}}),
                HasSubstr("several nodes need a [network]"));
}

TEST(machine_shape, processes_and_threads_of_a_node) {
    const std::string text = std::string(big_node) + wires_between;
    const machine_model eight = shaped(text, {{"processes", "8"}});
    EXPECT_EQ(eight.ranks, 16u);
    EXPECT_EQ(eight.threads_per_process, 2u);
    const machine_model four = shaped(text, {{"threads", "4"}});
    EXPECT_EQ(four.processes_per_node, 4u);
    const machine_model small = shaped(text, {{"processes", "2"}, {"threads", "3"}});
    EXPECT_EQ(small.ranks, 6u);
    EXPECT_THAT(misfit_of(text, {{"processes", "4"}, {"threads", "5"}}),
                HasSubstr("4 processes of 5 threads are more than the 16 hardware threads"));
    EXPECT_EQ(shaped(text, {{"nodes", "3"}}).ranks, 48u);
}

TEST(machine_shape, a_torus_keeps_its_dimensions) {
    const std::string torus = R"(
[machine]
name = "torus"
[network]
kind = "torus"
source = "given: x"
sides = [2, 3, 4]
)";
    EXPECT_EQ(shaped(torus).ranks, 24u);
    const machine_model larger = shaped(torus, {{"nodes", "512"}});
    EXPECT_THAT(larger.torus.sides, testing::ElementsAre(8, 8, 8));
    EXPECT_EQ(larger.ranks, 512u);
    EXPECT_THAT(shaped(torus, {{"nodes", "7"}}).torus.sides, testing::ElementsAre(1, 1, 7));
    EXPECT_THAT(shaped(torus, {{"network.sides", "4x4x2"}}).torus.sides,
                testing::ElementsAre(4, 4, 2));
    EXPECT_THAT(misfit_of(torus, {{"network.sides", "4by4"}}), HasSubstr("8x8x16"));
    EXPECT_THAT(misfit_of(torus, {{"network.sides", "4000x4000x4000"}}), HasSubstr("more than"));
}

TEST(machine_shape, a_bus_has_a_host_and_boards) {
    const std::string bus = R"(
[machine]
name = "bus"
[network]
kind = "bus"
source = "given: x"
boards = 4
most_boards = 16
)";
    EXPECT_EQ(shaped(bus).ranks, 5u);
    EXPECT_EQ(shaped(bus, {{"boards", "16"}}).ranks, 17u);
    EXPECT_EQ(shaped(bus, {{"ranks", "3"}}).ranks, 3u);
    EXPECT_THAT(misfit_of(bus, {{"ranks", "18"}}), HasSubstr("a host and 16 boards"));
}

/// What a sentence tells to add, a test adds.
TEST(machine_shape, what_makes_a_machine_larger_is_legal) {
    const std::string node = R"(
[machine]
name = "one-node"
[node]
source = "given: x"
sockets = 2
cores_per_socket = 4
threads_per_core = 2
)";
    EXPECT_THAT(misfit_of(node, {{"ranks", "17"}}),
                HasSubstr("for more add node.cores_per_socket=5"));
    EXPECT_THAT(misfit_of(node, {{"ranks", "17"}, {"node.cores_per_socket", "5"}}), IsEmpty());
    EXPECT_THAT(misfit_of(node, {{"ranks", "5"}, {"threads", "3"}, {"processes", "1"}}),
                HasSubstr("for more add threads=5"));
    EXPECT_THAT(misfit_of(node, {{"ranks", "1000"}}), HasSubstr("for more add a [network]"));
    const std::string nodes = node + "[network]\nkind = \"crossbar\"\n";
    EXPECT_THAT(misfit_of(nodes, {{"ranks", "17"}}), HasSubstr("for more add nodes=2"));
    EXPECT_THAT(misfit_of(nodes, {{"ranks", "17"}, {"nodes", "2"}}), IsEmpty());
    EXPECT_THAT(misfit_of(alone), HasSubstr("for more add a [network]"));
}

TEST(machine_shape, boards_need_slots_or_boxes) {
    const std::string bus = R"(
[machine]
name = "slots"
[network]
kind = "bus"
source = "given: x"
boards = 7
boards_per_expander = 2
slots = 4
)";
    EXPECT_THAT(misfit_of(bus), IsEmpty());
    EXPECT_THAT(misfit_of(bus, {{"network.slots", "3"}}),
                AllOf(HasSubstr("room for 6 boards"), HasSubstr("7 are asked for")));
    EXPECT_THAT(misfit_of(bus, {{"network.boards_per_expander", "0"}}),
                AllOf(HasSubstr("network.slots = 4 there is room for 4 boards"),
                      HasSubstr("7 are asked for")));
    EXPECT_THAT(misfit_of(bus, {{"network.boards_per_expander", "0"}, {"boards", "4"}}), IsEmpty());
}

/// A machine of one network, lines 1 to 3, and the network's keys from line 5 on.
std::string network_of(std::string_view kind, std::string_view keys = {}) {
    return fmt::format(
        "[machine]\nname = \"x\"\nsource = \"given: x\"\n[network]\nsource = \"given: "
        "x\"\nkind = \"{}\"\n{}",
        kind, keys);
}

TEST(machine_shape, networks_need_few_keys) {
    const machine_model bus = shaped(network_of("bus"));
    EXPECT_EQ(bus.ranks, 2u);
    EXPECT_EQ(bus.most_ranks, 2u);
    EXPECT_THAT(misfit_of(network_of("bus"), {{"boards", "3"}}), IsEmpty());
    EXPECT_THAT(misfit_of(network_of("bus"), {{"ranks", "3"}}),
                AllOf(HasSubstr("a host and 1 board)"), HasSubstr("add network.most_boards=2")));
    EXPECT_THAT(misfit_of(network_of("bus"), {{"ranks", "3"}, {"network.most_boards", "2"}}),
                IsEmpty());
    EXPECT_EQ(shaped(network_of("mesh", "entry_ns = 1\nhop_ns = 1\n")).ranks, 1u);
    EXPECT_EQ(shaped(network_of("torus", "sides = [3]\n")).ranks, 3u);
    EXPECT_EQ(shaped(network_of("crossbar"), {{"ranks", "5"}}).ranks, 5u);
    EXPECT_THAT(misfit_of(network_of("crossbar")),
                HasSubstr("shape.toml, line 1: [machine] needs ranks"));
}

TEST(machine_shape, a_node_is_for_networks_whose_ranks_can_share_memory) {
    const std::string cores = "[node]\nsource = \"given: x\"\ncores_per_socket = 2\n";
    EXPECT_THAT(misfit_of(network_of("mesh", "entry_ns = 1\nhop_ns = 1\n" + cores)),
                AllOf(HasSubstr("line 9: [node] goes with"), HasSubstr("ranks of a mesh")));
    EXPECT_THAT(misfit_of(network_of("bus", cores)), HasSubstr("ranks of a bus"));
    EXPECT_THAT(misfit_of(network_of("torus", "sides = [2]\n" + cores)), IsEmpty());
    EXPECT_THAT(misfit_of(network_of("crossbar", cores)), IsEmpty());
}

TEST(machine_shape, nodes_and_sides_of_a_torus_agree) {
    const std::string torus = network_of("torus", "sides = [4, 4]\n");
    const auto with_nodes = [&](std::uint32_t nodes) {
        return fmt::format(
            "{}[memory]\n[options.size]\ndefault = \"usual\"\n[options.size.usual]\n"
            "[options.size.small]\nmachine.nodes = {{ value = {}, source = \"given: "
            "x\" }}\n",
            torus, nodes);
    };
    std::string both = torus;
    both.insert(both.find("[network]"), "nodes = 8\n");
    EXPECT_THAT(misfit_of(both), HasSubstr("line 4: nodes = 8 and sides 4x4, which make 16"));
    both.replace(both.find("= 8"), 3, "= 16");
    EXPECT_EQ(shaped(both).ranks, 16u);
    EXPECT_EQ(shaped(both, {{"network.sides", "2x3"}}).ranks, 6u);
    EXPECT_EQ(shaped(both, {{"nodes", "6"}}).ranks, 6u);
    EXPECT_THAT(misfit_of(torus, {{"nodes", "16"}, {"network.sides", "4x4"}}),
                HasSubstr("option nodes=16: nodes = 16 and sides 4x4"));
    const machine_model small = shaped(with_nodes(8), {{"size", "small"}});
    EXPECT_THAT(small.torus.sides, testing::ElementsAre(2, 4));
    EXPECT_EQ(shaped(with_nodes(8), {{"size", "small"}, {"nodes", "5"}}).ranks, 5u);
    const auto shown = std::ranges::find(small.constants, "network.sides", &constant_note::key);
    EXPECT_EQ(shown->value, "[2, 4]");
    EXPECT_EQ(shown->source,
              "assumed because 8 nodes are spread over 2 dimensions as evenly as they can be");
}

TEST(machine_shape, keys_without_effect_are_mistakes) {
    const auto with_most = [](std::string text) {
        return text.insert(text.find("[network]"), "most_ranks = 9\n");
    };
    const std::string torus = network_of("torus", "sides = [2]\n");
    EXPECT_THAT(misfit_of(with_most(torus)), HasSubstr("line 4: most_ranks is for a crossbar"));
    EXPECT_THAT(misfit_of(with_most(network_of("bus"))), HasSubstr("line 4: most_ranks is for"));
    EXPECT_THAT(misfit_of(with_most(network_of("crossbar", "[node]\n"))), HasSubstr("most_ranks"));
    EXPECT_THAT(misfit_of(with_most(network_of("crossbar")), {{"ranks", "9"}}), IsEmpty());

    const std::string bus = network_of("bus", "expander_us = 3\n");
    EXPECT_THAT(misfit_of(bus), HasSubstr("line 7: expander is for boards in boxes"));
    EXPECT_THAT(misfit_of(network_of("bus"), {{"network.expander_mb_per_s", "3"}}),
                HasSubstr("option network.expander_mb_per_s=3: expander is for"));
    EXPECT_THAT(misfit_of(bus, {{"network.boards_per_expander", "4"}}), IsEmpty());
    const std::string boxes = bus + "boards_per_expander = 2\n";
    EXPECT_THAT(misfit_of(boxes, {{"network.boards_per_expander", "0"}}), IsEmpty());
}

TEST(machine_shape, mistakes_name_the_line_that_makes_them) {
    const std::string node = R"([machine]
name = "x"
source = "given: x"
processes = 2
threads = 3
[node]
source = "given: x"
sockets = 1
cores_per_socket = 4
cores_per_cache = 4
line_bytes = 64
)";
    const std::vector<std::pair<option_map, std::string>> mistakes{
        {{},
         "line 4: 2 processes of 3 threads are more than the 4 hardware threads of a node of x "
         "(1 socket, 4 cores each, 1 thread each)"},
        {{{"threads", "2"}}, "line 4: 2 processes on a node need a [network]"},
        {{{"node.line_bytes", "100"}}, "option node.line_bytes=100: a line of 100 bytes"},
        {{{"node.sockets", "20"}}, "option node.sockets=20: a node of 80 cores is too large"},
        {{{"processes", "1"}, {"ranks", "4"}},
         "option ranks=4: x has room for 3 ranks (1 node of 1 "
         "process with 3 threads)"},
    };
    for (const auto& [options, sentence] : mistakes) {
        EXPECT_THAT(misfit_of(node, options), HasSubstr("shape.toml, " + sentence));
    }
    EXPECT_THAT(misfit_of(network_of("torus")), HasSubstr("line 4: [network] of kind torus needs"));
    EXPECT_THAT(misfit_of(network_of("torus", "sides = [4000, 4000]\n")),
                HasSubstr("line 7: sides 4000x4000 make more than"));
    EXPECT_THAT(misfit_of(network_of("mesh", "entry_ns = 1\n")),
                HasSubstr("line 4: [network] hop must be at least a tick"));
    EXPECT_THAT(
        misfit_of(network_of("mesh", "entry_ns = 1\nhop_ns = 1\nrows = 2\ncolumns = 40000\n")),
        HasSubstr("line 10: a mesh has at most 32767 rows and columns"));
}

TEST(machine_explain, a_grid_is_no_torus_and_counts_agree_with_their_nouns) {
    const auto said_of = [](std::string_view kind, std::string_view keys,
                            const option_map& options) {
        return explain(shaped(network_of(kind, keys), options));
    };
    EXPECT_THAT(said_of("torus", "sides = [2, 2]\ngap_ns = 7\n", {}),
                AllOf(HasSubstr("4 ranks on a torus of 2 x 2 nodes."),
                      HasSubstr("7 ns lie between two messages of a node.")));
    EXPECT_THAT(said_of("torus", "sides = [2, 2]\nwraps_around = false\n", {}),
                HasSubstr("on a grid of 2 x 2 nodes."));
    const std::string mesh = "entry_ns = 1\nhop_ns = 1\ncolumns = 3\n";
    EXPECT_THAT(said_of("mesh", mesh, {}), AllOf(HasSubstr("one on each core of a mesh of 1 x 3,"),
                                                 testing::Not(HasSubstr("rings"))));
    EXPECT_THAT(said_of("mesh", mesh + "wraps_around = true\n", {}), HasSubstr("rings"));
    EXPECT_THAT(said_of("crossbar", "packet_kib = 2\npacket_gap_ns = 30\n", {{"ranks", "2"}}),
                HasSubstr("packets of 2 KiB; each after the first takes a port 30 ns."));
    EXPECT_THAT(said_of("crossbar", "", {{"ranks", "2"}}), testing::Not(HasSubstr("packets")));
    EXPECT_THAT(
        said_of("bus", "boards = 3\nslots = 2\nboards_per_expander = 2\nexpander_us = 5\n", {}),
        AllOf(HasSubstr("Where 2 slots of the host are too few, boards sit in boxes of 2,"),
              HasSubstr("takes 5 us more")));
}

}  // namespace
}  // namespace selion::machine::sim
