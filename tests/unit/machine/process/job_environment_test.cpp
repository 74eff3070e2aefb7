// SPDX-License-Identifier: Apache-2.0
#include "machine/process/job_environment.hpp"

#include "unit/environment.hpp"

namespace selion::machine {
namespace {

class job_environment_test : public own_environment {
protected:
    static void put(const job_environment& place) {
        for (const std::string& variable : place.to_variables()) {
            const std::size_t equals = variable.find('=');
            set(variable.substr(0, equals).c_str(), variable.substr(equals + 1));
        }
    }
};

TEST_F(job_environment_test, comes_back_as_it_was_told) {
    const numbered_files files{{"SELION_TIME", {"/a b/time\n=.jsonl", 1}},
                               {"SELION_TRACE", {"/", 12}}};
    put({7, 3, getppid(), {{true, 0}, {false, 5}, {true, -1}}, 9, files});
    const std::optional<job_environment> taken = job_environment::take();
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->memory_file, 7);
    EXPECT_EQ(taken->process, 3u);
    EXPECT_EQ(taken->parent, getppid());
    EXPECT_EQ(taken->handed_file, 9);
    EXPECT_EQ(taken->earlier, (std::vector<ended_run>{{true, 0}, {false, 5}, {true, -1}}));
    EXPECT_EQ(taken->files, files);
}

TEST_F(job_environment_test, many_earlier_runs_are_told_in_few_words) {
    std::vector<ended_run> many(100'000, {true, 0});
    many.push_back({true, 5});
    many.insert(many.end(), 50'000, {false, 255});
    const job_environment place{.memory_file = 7, .parent = getppid(), .earlier = many};
    for (const std::string& variable : place.to_variables()) EXPECT_LT(variable.size(), 100u);
    put(place);
    const std::optional<job_environment> taken = job_environment::take();
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->earlier, many);
}

TEST_F(job_environment_test, no_earlier_runs) {
    put({7, 0, getppid(), {}});
    ASSERT_TRUE(job_environment::take().has_value());
}

TEST_F(job_environment_test, is_taken_once) {
    put({.memory_file = 7,
         .process = 3,
         .parent = getppid(),
         .earlier = {},
         .files = {{"SELION_METERS", {"/m", 2}}, {"SELION_TRACE", {"/t", 1}}}});
    EXPECT_TRUE(job_environment::take().has_value());
    EXPECT_FALSE(job_environment::take().has_value());
    for (char** variable = environ; *variable != nullptr; ++variable) {
        EXPECT_FALSE(std::string_view(*variable).starts_with("SELION_JOB_")) << *variable;
    }
}

TEST_F(job_environment_test, what_was_meant_for_the_parent_is_not_taken_but_goes) {
    put({7, 3, getpid(), {}});
    EXPECT_FALSE(job_environment::take().has_value());
    put({7, 3, getppid(), {}});
    set("SELION_JOB_PLACE", "7 3 " + std::to_string(getpid()) + " -1");
    EXPECT_FALSE(job_environment::take().has_value());
    EXPECT_EQ(std::getenv("SELION_JOB_PLACE"), nullptr);
}

TEST_F(job_environment_test, knows_for_whom_it_is_meant) {
    EXPECT_FALSE(job_environment::is_for_this_process());
    put({7, 3, getpid(), {}});
    EXPECT_FALSE(job_environment::is_for_this_process());
    put({7, 3, getppid(), {}});
    EXPECT_TRUE(job_environment::is_for_this_process());
    EXPECT_TRUE(job_environment::take().has_value()) << "to look takes nothing away";
}

TEST_F(job_environment_test, its_own_variables_are_recognised) {
    for (const std::string& variable :
         job_environment{7, 3, 1, {}, -1, {{"SELION_TIME", {"/t", 1}}}}.to_variables()) {
        EXPECT_TRUE(job_environment::owns(variable)) << variable;
    }
    EXPECT_FALSE(job_environment::owns("SELION_MACHINE=threads:2"));
    EXPECT_FALSE(job_environment::owns("PATH=/bin"));
}

TEST_F(job_environment_test, absent_or_malformed_is_no_place) {
    EXPECT_FALSE(job_environment::take().has_value());
    set("SELION_JOB_PLACE", "7 3");
    set("SELION_JOB_EARLIER", "");
    EXPECT_FALSE(job_environment::take().has_value());
    set("SELION_JOB_PLACE", "seven 3 1");
    EXPECT_FALSE(job_environment::take().has_value());
}

}  // namespace
}  // namespace selion::machine
