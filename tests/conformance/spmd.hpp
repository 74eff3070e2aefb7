// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <source_location>
#include <string>
#include <string_view>

#include "selion/selion.hpp"

/// Tests that every rank of a job executes together. GoogleTest runs on rank 0 and sees each of
/// them as one test; for each, rank 0 tells the others its number, all run the body, and the
/// failures of all ranks count. A check that fails is printed by its rank at once, and the body
/// goes on, so that the others are not left waiting.
namespace spmd {

/// One rank's part of one test.
class test_run {
public:
    test_run(selion::world& world, std::string_view name);

    /// Checks. Threads that have joined the rank may call them too.
    void that(bool holds, std::string_view claim,
              std::source_location site = std::source_location::current()) {
        if (!holds) fail("not so: " + std::string(claim), site);
    }
    template <class A, class B>
    void equal(const A& actual, const B& expected,
               std::source_location site = std::source_location::current()) {
        if (!(actual == expected)) fail_values(actual, "is not", expected, site);
    }
    template <class A, class B>
    void at_least(const A& actual, const B& bound,
                  std::source_location site = std::source_location::current()) {
        if (!(actual >= bound)) fail_values(actual, "is less than", bound, site);
    }
    template <class T>
    void same_bits(const T& actual, const T& expected,
                   std::source_location site = std::source_location::current()) {
        if (std::memcmp(&actual, &expected, sizeof(T)) != 0) {
            fail_values(actual, "is not bit for bit", expected, site);
        }
    }
    void fail(const std::string& text, std::source_location site = std::source_location::current());

    /// Says that this machine or job cannot run the test. All ranks must decide alike; the body
    /// returns after it.
    void skip(std::string_view why) { skipped_because_ = why; }

    /// Equal on all ranks.
    std::mt19937_64& common_random() { return common_random_; }
    /// Another sequence on every rank.
    std::mt19937_64& own_random() { return own_random_; }

    /// How often to repeat what costs all ranks together a time that grows with their number:
    /// `whole` repetitions shared out, at least `least`.
    std::uint32_t rounds(std::uint32_t whole, std::uint32_t least = 4) const;

    selion::rank_id neighbour(std::uint32_t distance = 1) const {
        return (world_.rank() + distance) % world_.size();
    }
    selion::rank_id neighbour_before(std::uint32_t distance = 1) const {
        return (world_.rank() + world_.size() - distance % world_.size()) % world_.size();
    }

    std::uint64_t failures() const { return failures_; }
    const std::string& first_failure() const { return first_failure_; }
    const std::string& skipped_because() const { return skipped_because_; }

private:
    template <class A, class B>
    void fail_values(const A& actual, std::string_view relation, const B& expected,
                     std::source_location site) {
        fail(testing::PrintToString(actual) + ' ' + std::string(relation) + ' ' +
                 testing::PrintToString(expected),
             site);
    }

    selion::world& world_;
    std::atomic<std::uint64_t> failures_ = 0;
    std::mutex mutex_;
    std::string first_failure_;
    std::string skipped_because_;
    std::mt19937_64 common_random_;
    std::mt19937_64 own_random_;
};

struct test_case {
    const char* suite;
    const char* name;
    void (*body)(test_run&, selion::world&);
    const char* file;
    int line;
};

/// Makes a test known before main starts.
struct registration {
    explicit registration(const test_case& which);
};

/// Runs all registered tests on all ranks of the job that the environment asks for.
/// @return what main returns.
int run_all(int argc, char** argv);

}  // namespace spmd

/// Defines the body of a test; `test` and `world` are its parameters.
#define SPMD_TEST(suite, name)                                              \
    static void suite##_##name(spmd::test_run& test, selion::world& world); \
    static const spmd::registration suite##_##name##_registration(          \
        {#suite, #name, suite##_##name, __FILE__, __LINE__});               \
    static void suite##_##name([[maybe_unused]] spmd::test_run& test,       \
                               [[maybe_unused]] selion::world& world)
