// SPDX-License-Identifier: Apache-2.0
#include "machine/spec.hpp"

#include <gmock/gmock.h>

#include <tuple>

namespace selion::machine {
namespace {

using testing::HasSubstr;

machine_spec split(const char* text) {
    const result<machine_spec> spec = split_spec(text);
    EXPECT_TRUE(spec.has_value()) << text;
    return spec.has_value() ? spec.value() : machine_spec{};
}

std::string split_trouble(const char* text) {
    const result<machine_spec> spec = split_spec(text);
    EXPECT_FALSE(spec.has_value()) << text;
    if (spec.has_value()) return {};
    EXPECT_EQ(spec.trouble().code(), status::bad_argument);
    EXPECT_THAT(spec.trouble().what(), HasSubstr('"' + std::string(text) + '"'));
    return spec.trouble().what();
}

TEST(split_spec, parts) {
    const machine_spec spec = split("sim:epiphany-iii,rows=8,seed=7");
    EXPECT_EQ(spec.text, "sim:epiphany-iii,rows=8,seed=7");
    EXPECT_EQ(spec.kind, "sim");
    EXPECT_EQ(spec.body, "epiphany-iii");
    EXPECT_EQ(spec.options.size(), 2u);
    EXPECT_EQ(spec.options.find("rows")->second, "8");
    EXPECT_EQ(spec.options.find("seed")->second, "7");
}

TEST(split_spec, parts_may_be_absent) {
    EXPECT_EQ(split("threads").kind, "threads");
    EXPECT_EQ(split("threads").body, "");
    EXPECT_EQ(split("threads,direct=off").body, "");
    EXPECT_EQ(split("threads,direct=off").options.size(), 1u);
    EXPECT_EQ(split("a:b,c=d=e").options.find("c")->second, "d=e");
}

TEST(split_spec, mistakes_are_named) {
    EXPECT_THAT(split_trouble(""), HasSubstr("no kind"));
    EXPECT_THAT(split_trouble(":4"), HasSubstr("no kind"));
    EXPECT_THAT(split_trouble("threads:"), HasSubstr("nothing follows the colon"));
    EXPECT_THAT(split_trouble("threads:,direct=off"), HasSubstr("nothing follows the colon"));
    EXPECT_THAT(split_trouble("threads:4,"), HasSubstr("key=value"));
    EXPECT_THAT(split_trouble("threads:4,direct"), HasSubstr("key=value"));
    EXPECT_THAT(split_trouble("threads:4,direct="), HasSubstr("key=value"));
    EXPECT_THAT(split_trouble("threads:4,=off"), HasSubstr("key=value"));
    EXPECT_THAT(split_trouble("threads:4,,direct=off"), HasSubstr("key=value"));
    EXPECT_THAT(split_trouble("threads:4,direct=off,direct=on"), HasSubstr("twice"));
}

using maker = result<node_shape> (*)(const machine_spec&, std::uint32_t);

/// Processes, ranks of each, carriers of each.
std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> counts(maker make, const char* text,
                                                               std::uint32_t cores) {
    const result<node_shape> shape = make(split(text), cores);
    EXPECT_TRUE(shape.has_value()) << text;
    if (!shape.has_value()) return {0, 0, 0};
    const node_shape& is = shape.value();
    return {is.processes, is.ranks_per_process, is.carriers_per_process};
}

std::string trouble(maker make, const std::string& text) {
    const result<node_shape> shape = make(split(text.c_str()), 2);
    EXPECT_FALSE(shape.has_value()) << text;
    if (shape.has_value()) return {};
    EXPECT_EQ(shape.trouble().code(), status::bad_argument);
    EXPECT_THAT(shape.trouble().what(), HasSubstr("machine \"" + text + '"'));
    EXPECT_THAT(shape.trouble().what(), HasSubstr("legal forms are"));
    return shape.trouble().what();
}

TEST(threads_shape, legal_forms) {
    using three = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
    EXPECT_EQ(counts(threads_shape, "threads", 6), three(1, 6, 6));
    EXPECT_EQ(counts(threads_shape, "threads:1", 6), three(1, 1, 1));
    EXPECT_EQ(counts(threads_shape, "threads:6", 6), three(1, 6, 6));
    EXPECT_EQ(counts(threads_shape, "threads:7", 6), three(1, 7, 6));
    EXPECT_EQ(counts(threads_shape, "threads:64@2", 6), three(1, 64, 2));
    EXPECT_EQ(counts(threads_shape, "threads:8@8", 6), three(1, 8, 8));
    EXPECT_EQ(counts(threads_shape, "threads:1048575@1", 6), three(1, 1048575, 1));
}

TEST(threads_shape, fibers_are_a_choice_only_where_the_spec_leaves_it) {
    const auto shape = [](const char* text) { return threads_shape(split(text), 2).value(); };
    EXPECT_FALSE(shape("threads:2").has_fibers());
    EXPECT_FALSE(shape("threads:2").fibers_by_default);
    EXPECT_TRUE(shape("threads:3").has_fibers());
    EXPECT_TRUE(shape("threads:3").fibers_by_default);
    EXPECT_TRUE(shape("threads:3@2").has_fibers());
    EXPECT_FALSE(shape("threads:3@2").fibers_by_default);
    EXPECT_FALSE(shape("threads:3@3").has_fibers());
}

TEST(threads_shape, mistakes_are_named_with_the_legal_forms) {
    EXPECT_THAT(trouble(threads_shape, "threads:0"), HasSubstr("\"0\" is not a number of ranks"));
    EXPECT_THAT(trouble(threads_shape, "threads:-1"), HasSubstr("\"-1\""));
    EXPECT_THAT(trouble(threads_shape, "threads:four"), HasSubstr("\"four\""));
    EXPECT_THAT(trouble(threads_shape, "threads:4x2"), HasSubstr("\"4x2\""));
    EXPECT_THAT(trouble(threads_shape, "threads:1048576"), HasSubstr("1 to 1048575"));
    EXPECT_THAT(trouble(threads_shape, "threads:4@0"),
                HasSubstr("\"0\" is not a number of threads"));
    EXPECT_THAT(trouble(threads_shape, "threads:4@"), HasSubstr("\"\" is not a number of threads"));
    EXPECT_THAT(trouble(threads_shape, "threads:@2"), HasSubstr("\"\" is not a number of ranks"));
    EXPECT_THAT(trouble(threads_shape, "threads:4@5"), HasSubstr("5 threads for 4 ranks"));
    EXPECT_THAT(trouble(threads_shape, "threads:4@2@1"), HasSubstr("\"2@1\""));
    EXPECT_THAT(trouble(threads_shape, "threads:99999999999999999999"),
                HasSubstr("is not a number"));
}

TEST(processes_shape, legal_forms) {
    using three = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
    EXPECT_EQ(counts(processes_shape, "processes", 6), three(6, 1, 1));
    EXPECT_EQ(counts(processes_shape, "processes:3", 6), three(3, 1, 1));
    EXPECT_EQ(counts(processes_shape, "processes:64", 6), three(64, 1, 1));
    EXPECT_EQ(counts(processes_shape, "processes:2x3", 6), three(2, 3, 3));
    EXPECT_EQ(counts(processes_shape, "processes:2x4", 6), three(2, 4, 3));
    EXPECT_EQ(counts(processes_shape, "processes:8x4", 6), three(8, 4, 1));
    EXPECT_EQ(counts(processes_shape, "processes:2x1", 6), three(2, 1, 1));
}

TEST(processes_shape, mistakes_are_named_with_the_legal_forms) {
    EXPECT_THAT(trouble(processes_shape, "processes:0"),
                HasSubstr("\"0\" is not a number of processes"));
    EXPECT_THAT(trouble(processes_shape, "processes:2x"),
                HasSubstr("\"\" is not a number of threads"));
    EXPECT_THAT(trouble(processes_shape, "processes:x2"),
                HasSubstr("\"\" is not a number of processes"));
    EXPECT_THAT(trouble(processes_shape, "processes:2x0"),
                HasSubstr("\"0\" is not a number of threads"));
    EXPECT_THAT(trouble(processes_shape, "processes:2x2x2"), HasSubstr("\"2x2\""));
    EXPECT_THAT(trouble(processes_shape, "processes:2@1"), HasSubstr("\"2@1\""));
    EXPECT_THAT(trouble(processes_shape, "processes:1024x1024"),
                HasSubstr("more than 1048575 ranks"));
}

TEST(spec_of, is_complete_and_means_the_same_shape) {
    for (const char* text :
         {"threads", "threads:1", "threads:5", "threads:64", "threads:8@3", "threads:4@4",
          "processes", "processes:3", "processes:2x4", "processes:1x2"}) {
        const machine_spec spec = split(text);
        const maker make = spec.kind == "threads" ? threads_shape : processes_shape;
        for (const std::uint32_t cores : {1u, 2u, 8u}) {
            const std::string whole = spec_of(spec.kind, make(spec, cores).value());
            EXPECT_EQ(counts(make, whole.c_str(), cores), counts(make, text, cores)) << whole;
            EXPECT_EQ(spec_of(spec.kind, make(split(whole.c_str()), cores).value()), whole);
        }
    }
    EXPECT_EQ(spec_of("threads", threads_shape(split("threads:64"), 2).value()), "threads:64@2");
}

}  // namespace
}  // namespace selion::machine
