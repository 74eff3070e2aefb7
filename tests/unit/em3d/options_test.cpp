// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "options.hpp"
#include "report.hpp"

namespace em3d {
namespace {

std::string complaint(const std::vector<const char*>& arguments) {
    try {
        parse_options(arguments);
    } catch (const bad_option& wrong) {
        return wrong.what();
    }
    return "accepted";
}

TEST(em3d_options, read_both_forms_of_values) {
    const std::vector<const char*> arguments = {"--random",
                                                "--graph-processors",
                                                "3",
                                                "--nodes=7",
                                                "--degree",
                                                "5",
                                                "--remote=0.5",
                                                "--dist-span",
                                                "2",
                                                "--seed",
                                                "18446744073709551615",
                                                "--iterations=9",
                                                "--verify",
                                                "--json"};
    const options chosen = parse_options(arguments);
    EXPECT_FALSE(chosen.mesh_file);
    EXPECT_EQ(chosen.graph.graph_processors, 3U);
    EXPECT_EQ(chosen.graph.nodes, 7U);
    EXPECT_EQ(chosen.graph.degree, 5U);
    EXPECT_EQ(chosen.graph.remote, 0.5);
    EXPECT_EQ(chosen.graph.dist_span, 2U);
    EXPECT_EQ(chosen.graph.seed, 18446744073709551615U);
    EXPECT_EQ(chosen.iterations, 9U);
    EXPECT_TRUE(chosen.is_verified);
    EXPECT_TRUE(chosen.is_json);
    EXPECT_EQ(*parse_options(std::vector{"--mesh", "a.ply", "--seed", "2"}).mesh_file, "a.ply");
    EXPECT_EQ(*parse_options(std::vector{"--mesh", "a", "--field", "f"}).field_file, "f");
    EXPECT_TRUE(parse_options(std::vector{"--help"}).is_help);
}

TEST(em3d_options, name_the_wrong_value_and_the_legal_ones) {
    EXPECT_EQ(complaint({}), "choose one graph: --mesh FILE or --random");
    EXPECT_EQ(complaint({"--mesh", "a", "--random"}), "choose one graph: --mesh FILE or --random");
    EXPECT_EQ(complaint({"--mesh"}), "--mesh needs a value");
    EXPECT_EQ(complaint({"--mesh", "a", "--nodes", "5"}),
              "--nodes belongs to --random, not to --mesh");
    EXPECT_EQ(complaint({"--random", "--field", "f"}),
              "--field belongs to --mesh, not to --random");
    EXPECT_EQ(complaint({"--mesh", "a", "--field="}), "--field needs the name of a file");
    EXPECT_EQ(complaint({"--mesh", ""}), "--mesh needs the name of a file");
    EXPECT_EQ(complaint({"--mesh", "a", "--mesh=b"}), "--mesh is given twice; give it once");
    EXPECT_EQ(complaint({"--random", "--verify", "--verify"}),
              "--verify is given twice; give it once");
    EXPECT_EQ(complaint({"--rank", "5"}), "there is no option '--rank'; --help lists them");
    EXPECT_EQ(complaint({"mesh.ply"}), "there is no option 'mesh.ply'; --help lists them");
    EXPECT_EQ(complaint({"--random=1"}), "--random takes no value");
    EXPECT_EQ(complaint({"--random", "--nodes", "0"}),
              "--nodes must be a whole number from 1 to 1000000000, not '0'");
    EXPECT_EQ(complaint({"--random", "--nodes", "-5"}),
              "--nodes must be a whole number from 1 to 1000000000, not '-5'");
    EXPECT_EQ(complaint({"--random", "--degree", "1.5"}),
              "--degree must be a whole number from 1 to 1000000, not '1.5'");
    for (const char* remote : {"1.5", "-0.1", "nan", "inf", "a", ""}) {
        EXPECT_EQ(complaint({"--random", "--remote", remote}),
                  "--remote must be a number from 0 to 1, not '" + std::string(remote) + "'");
    }
    EXPECT_EQ(complaint({"--random", "--iterations", "0"}),
              "--iterations must be a whole number from 1 to 100000000, not '0'");
    EXPECT_EQ(complaint({"--random", "--nodes", "1000000", "--graph-processors", "1001"}),
              "--graph-processors times --nodes is 1001000000; at most 1000000000 nodes can be "
              "numbered");
    EXPECT_EQ(complaint({"--random", "--dist-span", "8"}),
              "--dist-span 8 goes all round 8 graph processors: it must be smaller, or --remote 0");
    EXPECT_EQ(complaint({"--random", "--graph-processors", "1", "--remote", "0"}), "accepted");
}

report sample() {
    report run;
    run.graph = "a \"b\"\n.ply";
    run.machine = "threads:2";
    run.ranks = 2;
    run.dependencies = 8;
    run.cut = 2;
    run.remote_reads = 6;
    run.iteration_ns = {3000, 1000, 2000};
    run.checksum = 0xab;
    return run;
}

TEST(em3d_report, json_is_one_row) {
    report run = sample();
    run.difference = "";
    EXPECT_EQ(as_json(run),
              "{\"program\": \"em3d\", \"graph\": \"a \\\"b\\\"\\u000a.ply\", \"machine\": "
              "\"threads:2\", \"ranks\": 2, \"electric_nodes\": 0, \"magnetic_nodes\": 0, "
              "\"dependencies\": 8, \"edges_cut\": 2, \"iterations\": 3, \"iteration_us\": 2.000, "
              "\"iteration_p5_us\": 1.000, \"iteration_p95_us\": 3.000, "
              "\"remote_reads_per_iteration\": 2, \"checksum\": \"0x00000000000000ab\", "
              "\"verified\": true}\n");
}

TEST(em3d_report, a_difference_is_loud) {
    report run = sample();
    EXPECT_EQ(as_text(run).find("verified"), std::string::npos);
    run.difference = "1 nodes differ";
    EXPECT_NE(as_text(run).find("DIFFERENT: 1 nodes differ"), std::string::npos);
    EXPECT_NE(as_json(run).find("\"verified\": false"), std::string::npos);
}

}  // namespace
}  // namespace em3d
