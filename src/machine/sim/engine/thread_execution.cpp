// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <semaphore>
#include <system_error>
#include <utility>

#include "machine/process/crash_handler.hpp"
#include "machine/process/rank_thread.hpp"
#include "machine/sim/engine/execution.hpp"

namespace selion::machine::sim {
namespace {

/// A thread and what it sleeps on while others run. The semaphore hands everything over: what one
/// rank wrote before it stopped is visible to the next.
class thread_of_rank final : public stack_of_rank {
public:
    std::binary_semaphore turn_{0};
    rank_thread thread_;  // its end comes first
};

class thread_execution final : public execution {
public:
    explicit thread_execution(rank_trouble on_trouble) : on_trouble_(std::move(on_trouble)) {}

    std::unique_ptr<stack_of_rank> adopt_caller() override {
        return std::make_unique<thread_of_rank>();
    }

    std::unique_ptr<stack_of_rank> make(std::uint32_t rank,
                                        std::function<stack_of_rank&()> body) override {
        auto made = std::make_unique<thread_of_rank>();
        try {
            made->thread_ = rank_thread([self = made.get(), body = std::move(body)] {
                const signal_stack stack_for_signals;
                self->turn_.acquire();
                static_cast<thread_of_rank&>(body()).turn_.release();
            });
        } catch (const std::system_error& trouble) {
            on_trouble_(rank, fmt::format("cannot start the thread of rank {} ({}); use "
                                          "context=fibers or fewer ranks",
                                          rank, trouble.code().message()));
        }
        return made;
    }

    void change(stack_of_rank& from, stack_of_rank& to) override {
        static_cast<thread_of_rank&>(to).turn_.release();
        static_cast<thread_of_rank&>(from).turn_.acquire();
    }

private:
    rank_trouble on_trouble_;
};

}  // namespace

std::unique_ptr<execution> make_thread_execution(rank_trouble on_trouble) {
    return std::make_unique<thread_execution>(std::move(on_trouble));
}

}  // namespace selion::machine::sim
