// SPDX-License-Identifier: Apache-2.0
#include "selion/run.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "selion/selion.hpp"
#include "unit/environment.hpp"

namespace selion {
namespace {

using testing::HasSubstr;

class run_test : public own_environment {
protected:
    /// Runs on a machine in this process. @return the job's status; what it said lies in `said`.
    template <class Function>
    int run_on(const std::string& machine, Function&& function) {
        testing::internal::CaptureStderr();
        const int status =
            run(0, nullptr, run_options{.machine = machine}, std::forward<Function>(function));
        said = testing::internal::GetCapturedStderr();
        return status;
    }
    std::string said;
};

TEST_F(run_test, calls_the_function_once_on_every_rank) {
    for (const char* machine :
         {"threads:1", "threads:3@3", "threads:5@2", "threads:3,direct=off"}) {
        std::atomic<std::uint32_t> calls = 0;
        std::atomic<std::uint32_t> seen = 0;
        std::uint32_t size = 0;
        EXPECT_EQ(run_on(machine,
                         [&](world& all) {
                             ++calls;
                             seen |= 1u << all.rank();
                             if (all.rank() == 0) size = all.size();
                         }),
                  0);
        EXPECT_EQ(calls, size) << machine;
        EXPECT_EQ(seen, (1u << size) - 1) << machine;
        EXPECT_EQ(said, "") << machine;
    }
}

TEST_F(run_test, returns_a_status_that_a_rank_returned) {
    EXPECT_EQ(run_on("threads:3@3", [](world&) { return 0; }), 0);
    EXPECT_EQ(run_on("threads:3@3", [](world& all) { return all.rank() == 1 ? 7 : 0; }), 7);
    EXPECT_EQ(run_on("threads:4@1", [](world& all) { return all.rank() == 3 ? 9 : 0; }), 9);
    // The system keeps 8 bits: what is not 0 must not become it.
    EXPECT_EQ(run_on("threads:2@2", [](world& all) { return all.rank() == 1 ? 256 : 0; }), 1);
}

TEST_F(run_test, a_job_may_follow_one_that_could_not_start) {
    EXPECT_NE(run_on("processes:1000000", [](world&) { ADD_FAILURE(); }), 0);
    EXPECT_EQ(run_on("threads:2", [](world&) {}), 0);
}

TEST_F(run_test, a_future_that_outlives_its_job_is_empty) {
    for (const char* machine : {"threads:2@2", "threads:2@1"}) {
        std::vector<future<std::array<long, 32>>> kept(16);
        for (int job = 0; job < 3; ++job) {
            EXPECT_EQ(run_on(machine,
                             [&](world& all) {
                                 if (all.rank() != 0) return;
                                 for (auto& one : kept) {
                                     EXPECT_FALSE(one.is_valid());
                                     EXPECT_FALSE(one.is_ready());
                                     one = rpc(1, [] { return std::array<long, 32>{7}; });
                                     EXPECT_TRUE(one.is_valid());
                                 }
                                 for (auto& one : kept) one.wait();
                             }),
                      0);
            EXPECT_FALSE(kept.front().is_valid());
        }
    }
}

TEST_F(run_test, calls_that_nobody_waits_for_are_made_before_a_job_ends) {
    for (const char* machine : {"threads:3@3", "threads:4@2", "sim:crossbar,ranks=4",
                                "sim:crossbar,ranks=3,kill=1@1s", "sim:now-ultrasparc,ranks=4"}) {
        constexpr int calls = 50;
        static std::atomic<int> made;
        static std::atomic<int> passed_on;
        made = passed_on = 0;
        std::uint32_t size = 0;
        EXPECT_EQ(run_on(machine,
                         [&](const world& all) {
                             const std::uint32_t next = (all.rank() + 1) % all.size();
                             if (all.rank() == 0) size = all.size();
                             for (int i = 0; i < calls; ++i) {
                                 rpc_oneway(next, [] {
                                     ++made;
                                     rpc_oneway(0, [] { ++passed_on; });
                                 });
                             }
                         }),
                  0)
            << said;
        EXPECT_EQ(made, calls * static_cast<int>(size)) << machine;
        EXPECT_EQ(passed_on, made) << machine;
    }
}

/// They sleep by then: longer than their patience passes.
TEST_F(run_test, who_has_returned_waits_for_the_last_one) {
    for (const char* machine : {"threads:3@3", "threads:4@2"}) {
        const auto late = [](const world& all) {
            if (all.rank() + 1 != all.size()) return 0;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return 5;
        };
        EXPECT_EQ(run_on(machine, late), 5);
    }
}

TEST_F(run_test, jobs_follow_one_another_in_one_process) {
    for (int job = 1; job <= 20; ++job) {
        const char* machine = job % 2 == 0 ? "threads:3@3" : "threads:4@2";
        const int status = run_on(machine, [&](world& all) {
            const auto cell = allocate<int>(all, 1);  // nothing is left of earlier jobs
            const int before = get(cell);
            put(cell, job);
            deallocate(all, cell);
            return before + (all.all_reduce(1, plus) == static_cast<int>(all.size()) ? 0 : 1);
        });
        EXPECT_EQ(status, 0);
    }
}

TEST_F(run_test, a_job_may_run_within_a_rank_free_thread_only_one_after_another) {
    int outer = 0;
    EXPECT_EQ(run_on("threads:1", [&](world&) { outer = 1; }), 0);
    EXPECT_EQ(run_on("threads:2",
                     [&](world& all) {
                         if (all.rank() == 0) outer = 2;
                     }),
              0);
    EXPECT_EQ(outer, 2);
}

TEST_F(run_test, the_environment_wins_over_the_program) {
    set("SELION_MACHINE", "threads:2@1");
    std::string spec;
    EXPECT_EQ(run_on("threads:5",
                     [&](world& all) {
                         if (all.rank() == 0) spec = all.machine().spec;
                     }),
              0);
    EXPECT_EQ(spec, "threads:2@1");
}

TEST_F(run_test, threads_is_the_default_with_a_rank_for_each_core) {
    std::uint32_t ranks = 0;
    std::string kind;
    EXPECT_EQ(run_on("",
                     [&](world& all) {
                         if (all.rank() != 0) return;
                         ranks = all.size();
                         kind = all.machine().kind;
                     }),
              0);
    EXPECT_EQ(ranks, usable_cores());
    EXPECT_EQ(kind, "threads");
}

TEST_F(run_test, a_malformed_machine_is_status_2_and_a_sentence) {
    for (const char* spec :
         {"threads:0", "thread:4", "processes:2x", "threads:4@0", "threads:4,x"}) {
        set("SELION_MACHINE", spec);
        bool was_called = false;
        EXPECT_EQ(run_on("threads:1", [&](world&) { was_called = true; }), 2) << spec;
        EXPECT_FALSE(was_called);
        EXPECT_THAT(said, HasSubstr(std::string("selion: machine \"") + spec + '"'));
        EXPECT_EQ(std::ranges::count(said, '\n'), 1);
    }
}

TEST_F(run_test, a_malformed_knob_is_status_2_and_a_sentence) {
    set("SELION_THREAD_LEVEL", "some");
    EXPECT_EQ(run_on("threads:1", [](world&) {}), 2);
    EXPECT_THAT(said, HasSubstr("SELION_THREAD_LEVEL=some"));
    EXPECT_THAT(said, HasSubstr("single, serialized, multiple"));
}

TEST_F(run_test, an_unknown_variable_is_a_warning) {
    set("SELION_HAEP", "1G");
    EXPECT_EQ(run_on("threads:1", [](world&) {}), 0);
    EXPECT_THAT(said,
                HasSubstr("SELION_HAEP is not a variable of Selion; did you mean SELION_HEAP?"));
}

TEST_F(run_test, the_heap_is_as_large_as_asked_for) {
    set("SELION_HEAP", "4M");
    EXPECT_EQ(run_on("threads:2",
                     [](world& all) { return all.heap().reserved_bytes == 4u << 20 ? 0 : 1; }),
              0);
}

TEST_F(run_test, thread_level_is_the_programs_unless_the_environment_says_otherwise) {
    const auto level = [&](thread_level wanted) {
        thread_level got{};
        run(0, nullptr, {.machine = "threads:1", .thread_level = wanted},
            [&](world& all) { got = all.thread_level(); });
        return got;
    };
    EXPECT_EQ(level(thread_level::single), thread_level::single);
    EXPECT_EQ(level(thread_level::multiple), thread_level::multiple);
    set("SELION_THREAD_LEVEL", "serialized");
    EXPECT_EQ(level(thread_level::single), thread_level::serialized);
}

TEST_F(run_test, verbose_says_when_ranks_become_fibers) {
    set("SELION_VERBOSE", "1");
    EXPECT_EQ(run_on("threads:64", [](world&) {}), 0);
    EXPECT_THAT(said, HasSubstr("64 ranks run as fibers"));
    EXPECT_EQ(run_on("threads:1", [](world&) {}), 0);
    EXPECT_THAT(said, testing::Not(HasSubstr("fibers")));
}

TEST_F(run_test, what_is_passed_may_be_any_callable) {
    struct counter {
        std::atomic<int>& calls;
        int operator()(world&) const { return ++calls, 0; }
    };
    std::atomic<int> calls = 0;
    const counter constant{calls};
    EXPECT_EQ(run_on("threads:2", constant), 0);
    EXPECT_EQ(run_on("threads:2", std::function<void(world&)>([&](world&) { ++calls; })), 0);
    EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace selion
