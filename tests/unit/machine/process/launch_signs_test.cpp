// SPDX-License-Identifier: Apache-2.0
#include "machine/process/launch_signs.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "machine/registry.hpp"
#include "selion/error.hpp"
#include "unit/environment.hpp"

namespace selion::machine {
namespace {

/// A process that no launcher has started, unless a test says so.
class launch_signs_of : public own_environment {
protected:
    launch_signs_of() {
        for (const char* name : {"PMIX_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE",
                                 "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PMI_SIZE"}) {
            unsetenv(name);
        }
    }
};

TEST_F(launch_signs_of, a_program_by_itself) {
    const launch_signs signs = read_launch_signs();
    EXPECT_FALSE(signs.has_server);
    EXPECT_EQ(signs.tasks, 0u);
    EXPECT_EQ(choose_spec(""), "threads");
    EXPECT_EQ(choose_spec("processes:4"), "processes:4");
}

TEST_F(launch_signs_of, tasks_without_a_server_are_refused) {
    set("PMI_SIZE", "4");
    EXPECT_EQ(read_launch_signs().tasks, 4u);
    try {
        static_cast<void>(choose_spec("threads"));
        ADD_FAILURE() << "four jobs of one rank would run";
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), status::system_failure);
        EXPECT_NE(std::string(refused.what()).find("PMI_SIZE says that 4"), std::string::npos);
    }
    unsetenv("PMI_SIZE");
}

TEST_F(launch_signs_of, one_task_is_a_program_by_itself) {
    set("SLURM_STEP_NUM_TASKS", "1");
    set("SLURM_NTASKS", "64");  // of an allocation, whose script is one process
    EXPECT_EQ(choose_spec(""), "threads");
    set("OMPI_COMM_WORLD_SIZE", "many");
    EXPECT_EQ(choose_spec(""), "threads");
    for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"}) {
        unsetenv(name);
    }
}

}  // namespace
}  // namespace selion::machine
