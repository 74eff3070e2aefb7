// SPDX-License-Identifier: Apache-2.0
#include "conformance/spmd.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <vector>

namespace spmd {
namespace {

constexpr std::uint32_t no_more_tests = ~std::uint32_t{0};
/// A broken operation fails a thousand checks of each rank; a few tell the story.
constexpr std::uint64_t most_printed = 3;

/// Under processes every process has its own copy, filled alike before main.
std::vector<test_case>& all_cases() {
    static std::vector<test_case> cases;
    return cases;
}

/// The world of rank 0 while GoogleTest runs on it.
selion::world* leader = nullptr;

/// What all ranks together made of a test.
struct verdict {
    std::uint64_t failures;
    std::uint32_t failed_ranks;
    std::uint32_t first_failed_rank;
    std::uint32_t skips;
};

verdict both(const verdict& a, const verdict& b) {
    return {a.failures + b.failures, a.failed_ranks + b.failed_ranks,
            std::min(a.first_failed_rank, b.first_failed_rank), a.skips + b.skips};
}

using text_line = std::array<char, 400>;

/// First failure of the first rank that has one, for rank 0 to print.
std::string share_failure(test_run& test, selion::world& world, std::uint32_t rank) {
    text_line text{};
    test.first_failure().copy(text.data(), text.size() - 1);
    return world.broadcast(text, rank).data();
}

struct outcome {
    verdict all;
    std::uint64_t own_failures;
    std::string first_failure;
    std::string skipped_because;
};

outcome run_case(const test_case& which, selion::world& world) {
    test_run test(world, which.name);
    const std::uint64_t used_bytes = world.heap().used_bytes;
    which.body(test, world);
    const std::uint64_t left_bytes = world.heap().used_bytes;
    if (left_bytes != used_bytes) {
        test.fail("the test began with " + std::to_string(used_bytes) +
                  " bytes of the heap in use and leaves " + std::to_string(left_bytes));
    }
    const bool has_failed = test.failures() != 0;
    const bool was_skipped = !test.skipped_because().empty();
    const verdict own{test.failures(), has_failed ? 1u : 0u,
                      has_failed ? std::uint32_t{world.rank()} : world.size(),
                      was_skipped ? 1u : 0u};
    const verdict all = world.all_reduce(own, both);
    std::string text;
    if (all.failures != 0) text = share_failure(test, world, all.first_failed_rank);
    return {all, test.failures(), text, test.skipped_because()};
}

/// A rank's own failures count even if the collectives that add them up are broken.
bool leader_has_failed = false;

class led_test : public testing::Test {
public:
    explicit led_test(std::uint32_t number) : number_(number) {}

    void TestBody() override {
        selion::world& world = *leader;
        static_cast<void>(world.broadcast(number_, 0));
        const outcome result = run_case(all_cases()[number_], world);
        leader_has_failed |= result.own_failures != 0;
        if (result.all.failures != 0 || result.own_failures != 0) {
            ADD_FAILURE() << result.all.failures << " checks failed on " << result.all.failed_ranks
                          << " of " << world.size()
                          << " ranks; the first: " << result.first_failure;
        } else if (result.all.skips == world.size()) {
            GTEST_SKIP() << result.skipped_because;
        } else if (result.all.skips != 0) {
            ADD_FAILURE() << result.all.skips << " of " << world.size()
                          << " ranks skipped the test";
        }
    }

private:
    std::uint32_t number_;
};

int lead(selion::world& world) {
    leader = &world;
    const int status = RUN_ALL_TESTS();
    leader = nullptr;
    static_cast<void>(world.broadcast(no_more_tests, 0));
    return leader_has_failed ? 1 : status;
}

int follow(selion::world& world) {
    bool has_failed = false;
    while (true) {
        const std::uint32_t number = world.broadcast(no_more_tests, 0);
        if (number == no_more_tests) return has_failed ? 1 : 0;
        const outcome result = run_case(all_cases().at(number), world);
        has_failed |= result.own_failures != 0 || result.all.failures != 0;
    }
}

void print_line(const std::string& line) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

test_run::test_run(selion::world& world, std::string_view name)
    : world_(world),
      common_random_(std::hash<std::string_view>()(name)),
      own_random_(std::hash<std::string_view>()(name) + 1 + world.rank()) {}

void test_run::fail(const std::string& text, std::source_location site) {
    const std::uint64_t earlier = failures_.fetch_add(1);
    if (earlier >= most_printed) return;
    const std::string line = "rank " + std::to_string(world_.rank()) + " of " +
                             std::to_string(world_.size()) + ": " + site.file_name() + ":" +
                             std::to_string(site.line()) + ": " + text;
    print_line(line + '\n');
    const std::lock_guard lock(mutex_);
    if (first_failure_.empty()) first_failure_ = line;
}

std::uint32_t test_run::rounds(std::uint32_t whole, std::uint32_t least) const {
    const selion::machine_description& machine = world_.machine();
    // In virtual time equal rounds have equal orders: many of them find nothing new. Over a network
    // each takes a thousand times as long.
    const std::uint32_t shared_by = machine.kind == "fabric"         ? 64
                                    : machine.capabilities.real_time ? 1
                                                                     : 8;
    return std::max(whole / shared_by / world_.size(), least);
}

registration::registration(const test_case& which) { all_cases().push_back(which); }

int run_all(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    // An exception must end the job: the other ranks are in the middle of the test.
    GTEST_FLAG_SET(catch_exceptions, false);
    for (std::uint32_t number = 0; number < all_cases().size(); ++number) {
        const test_case& which = all_cases()[number];
        testing::RegisterTest(which.suite, which.name, nullptr, nullptr, which.file, which.line,
                              [number]() -> testing::Test* { return new led_test(number); });
    }
    const selion::run_options options{.thread_level = selion::thread_level::multiple};
    return selion::run(argc, argv, options, [](selion::world& world) {
        return world.rank() == 0 ? lead(world) : follow(world);
    });
}

}  // namespace spmd
