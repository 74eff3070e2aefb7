// SPDX-License-Identifier: Apache-2.0
/// How many ranks there are and where: what a file says of it, and what a spec makes of that.
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
}

}  // namespace
}  // namespace selion::machine::sim
