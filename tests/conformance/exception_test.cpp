// SPDX-License-Identifier: Apache-2.0
/// Exceptions within a rank's function are that rank's own affair, also while it waits inside a
/// handler or a destructor and others that share its thread throw and catch their own.
#include <exception>
#include <stdexcept>
#include <string>

#include "conformance/memory_parts.hpp"

namespace {

std::string text_of(std::uint32_t rank, std::uint32_t round) {
    return "rank " + std::to_string(rank) + " round " + std::to_string(round);
}

SPMD_TEST(exceptions, are_caught_where_they_are_thrown) {
    for (std::uint32_t round = 0; round < test.rounds(2000, 10); ++round) {
        bool was_caught = false;
        try {
            world.barrier();
            throw std::runtime_error(text_of(world.rank(), round));
        } catch (const std::runtime_error& trouble) {
            was_caught = trouble.what() == text_of(world.rank(), round);
        }
        test.that(was_caught, "each rank catches its own exception");
    }
}

SPMD_TEST(exceptions, handlers_may_wait_and_keep_their_exception) {
    for (std::uint32_t round = 0; round < test.rounds(2000, 10); ++round) {
        const std::string own = text_of(world.rank(), round);
        try {
            throw std::runtime_error(own);
        } catch (...) {
            world.barrier();  // every rank is in its handler now
            try {
                std::rethrow_exception(std::current_exception());
            } catch (const std::runtime_error& trouble) {
                test.equal(std::string(trouble.what()), own);
            }
            world.barrier();
            try {
                throw;  // the innermost one that is being handled: still our own
            } catch (const std::runtime_error& trouble) {
                test.equal(std::string(trouble.what()), own);
            }
        }
        test.that(std::current_exception() == nullptr, "nothing is being handled any more");
    }
}

SPMD_TEST(exceptions, handlers_nest_across_waits) {
    const std::string outer = text_of(world.rank(), 1);
    const std::string inner = text_of(world.rank(), 2);
    for (std::uint32_t round = 0; round < test.rounds(600, 5); ++round) {
        try {
            throw std::runtime_error(outer);
        } catch (const std::exception& first) {
            if (world.rank() % 2 == 0) world.barrier();
            try {
                throw std::logic_error(inner);
            } catch (const std::exception& second) {
                if (world.rank() % 2 == 1) world.barrier();
                world.barrier();
                test.equal(std::string(second.what()), inner);
            }
            world.sync();
            test.equal(std::string(first.what()), outer);
        }
    }
}

/// Waits while an exception passes through.
class waits_at_the_end {
public:
    waits_at_the_end(spmd::test_run& test, selion::world& world) : test_(test), world_(world) {}
    ~waits_at_the_end() {
        const int own = std::uncaught_exceptions();
        world_.barrier();
        test_.equal(std::uncaught_exceptions(), own);
        test_.equal(own, world_.rank() % 2 == 0 ? 1 : 0);
        world_.barrier();
    }
    waits_at_the_end(const waits_at_the_end&) = delete;
    waits_at_the_end& operator=(const waits_at_the_end&) = delete;

private:
    spmd::test_run& test_;
    selion::world& world_;
};

SPMD_TEST(exceptions, destructors_may_wait_while_one_passes) {
    for (std::uint32_t round = 0; round < test.rounds(1000, 5); ++round) {
        try {
            const waits_at_the_end last(test, world);
            if (world.rank() % 2 == 0) throw std::runtime_error("passes by");
        } catch (const std::runtime_error&) {
            test.equal(world.rank() % 2, 0u);
        }
        test.equal(std::uncaught_exceptions(), 0);
    }
}

SPMD_TEST(exceptions, signals_may_be_awaited_in_handlers) {
    spmd::symmetric_array<selion::signal> bell(world, 1);
    for (std::uint64_t round = 1; round <= test.rounds(1000, 8); ++round) {
        try {
            throw round;
        } catch (const std::uint64_t& caught) {
            selion::notify(bell.at(test.neighbour()), selion::signal_set(round));
            selion::wait_until(bell.own(), round);
            test.equal(caught, round);
            world.sync();
        }
    }
}

}  // namespace
