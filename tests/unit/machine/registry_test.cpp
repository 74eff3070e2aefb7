// SPDX-License-Identifier: Apache-2.0
#include "machine/registry.hpp"

#include <gmock/gmock.h>

#include "unit/environment.hpp"

namespace selion::machine {
namespace {

using testing::HasSubstr;

class make_machine_test : public own_environment {
protected:
    static std::string trouble(const char* spec) {
        const result<std::unique_ptr<machine>> made = make_machine(spec);
        EXPECT_FALSE(made.has_value()) << spec;
        if (made.has_value()) return {};
        EXPECT_EQ(made.trouble().code(), status::bad_argument);
        return made.trouble().what();
    }
    static machine_description description(const char* spec) {
        const result<std::unique_ptr<machine>> made = make_machine(spec);
        EXPECT_TRUE(made.has_value()) << spec;
        return made.has_value() ? made.value()->description() : machine_description{};
    }
};

TEST_F(make_machine_test, describes_what_it_makes) {
    const machine_description fibers = description("threads:6@3");
    EXPECT_EQ(fibers.spec, "threads:6@3");
    EXPECT_EQ(fibers.kind, "threads");
    EXPECT_EQ(fibers.ranks, 6u);
    EXPECT_EQ(fibers.processes, 1u);
    EXPECT_EQ(fibers.carriers, 3u);
    EXPECT_TRUE(fibers.capabilities.shares_memory);
    EXPECT_FALSE(fibers.capabilities.isolates_ranks);
    EXPECT_EQ(fibers.capabilities.max_ranks, max_mapped_ranks);

    const machine_description hybrid = description("processes:3x2");
    EXPECT_EQ(hybrid.ranks, 6u);
    EXPECT_EQ(hybrid.processes, 3u);
    EXPECT_FALSE(hybrid.capabilities.isolates_ranks);
    EXPECT_TRUE(description("processes:3").capabilities.isolates_ranks);
}

TEST_F(make_machine_test, options_are_part_of_the_spec) {
    const machine_description apart = description("processes:2,direct=off");
    EXPECT_EQ(apart.spec, "processes:2,direct=off");
    EXPECT_FALSE(apart.capabilities.shares_memory);
    EXPECT_EQ(description("processes:2,direct=on").spec, "processes:2");
}

TEST_F(make_machine_test, an_unknown_kind_is_named_with_the_legal_forms) {
    const std::string sentence = trouble("thread:4");
    EXPECT_THAT(sentence, HasSubstr("\"thread:4\""));
    EXPECT_THAT(sentence, HasSubstr("there is no kind \"thread\""));
    EXPECT_THAT(sentence, HasSubstr("did you mean threads?"));
    for (const machine_kind& kind : kinds()) {
        for (const std::string& form : kind.describe().forms) {
            EXPECT_THAT(sentence, HasSubstr(form));
        }
    }
    EXPECT_THAT(trouble("abacus"), testing::Not(HasSubstr("did you mean")));
}

TEST_F(make_machine_test, a_file_without_its_kind_is_recognised) {
    EXPECT_THAT(
        trouble("./lab.toml,ranks=2"),
        HasSubstr("there is no kind \"./lab.toml\" (did you mean sim:./lab.toml,ranks=2?)"));
    EXPECT_THAT(trouble("lab.toml"), HasSubstr("did you mean sim:lab.toml?"));
    EXPECT_THAT(trouble("machines/lab"), HasSubstr("did you mean sim:machines/lab?"));
}

TEST_F(make_machine_test, unknown_options_and_values_are_named) {
    EXPECT_THAT(trouble("threads:2,colour=red"), HasSubstr("no option \"colour\""));
    EXPECT_THAT(trouble("threads:2,direct=maybe"), HasSubstr("direct=maybe"));
    EXPECT_THAT(trouble("threads:2,direct"), HasSubstr("key=value"));
}

TEST_F(make_machine_test, malformed_knobs_are_refused_before_anything_starts) {
    set("SELION_STACK", "1K");
    EXPECT_THAT(trouble("threads:2"), HasSubstr("SELION_STACK"));
    set("SELION_STACK", "a lot");
    EXPECT_THAT(trouble("threads:2"), HasSubstr("SELION_STACK=a lot"));
    set("SELION_STACK", "");
    set("SELION_HEAP", "0");
    EXPECT_THAT(trouble("threads:2"), HasSubstr("SELION_HEAP=0"));
    set("SELION_HEAP", "");
    set("SELION_HANG_ACTION", "panic");
    EXPECT_THAT(trouble("threads:2"), HasSubstr("report, abort"));
    set("SELION_HANG_ACTION", "");
    set("SELION_SPIN", "long");
    EXPECT_THAT(trouble("threads:2"), HasSubstr("SELION_SPIN=long"));
}

TEST_F(make_machine_test, every_kind_describes_itself) {
    EXPECT_GE(kinds().size(), 2u);
    for (const machine_kind& kind : kinds()) {
        const machine_kind_info info = kind.describe();
        EXPECT_FALSE(info.name.empty());
        EXPECT_FALSE(info.summary.empty());
        EXPECT_FALSE(info.facts.empty());
        EXPECT_EQ(info.available, info.reason.empty()) << info.name;
        for (const std::string& form : info.forms) {
            EXPECT_TRUE(form.starts_with(info.name)) << form;
        }
    }
}

}  // namespace
}  // namespace selion::machine
