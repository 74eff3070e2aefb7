// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <boost/context/fiber.hpp>
#include <utility>

#include "base/units.hpp"
#include "machine/fiber/exception_state.hpp"
#include "machine/fiber/sanitizer_fiber.hpp"
#include "machine/sim/engine/execution.hpp"
#include "machine/sim/engine/stack_region.hpp"

namespace selion::machine::sim {
namespace {

class fiber_of_rank final : public stack_of_rank {
public:
    ~fiber_of_rank() override {
        if (is_made_) sanitizer_.destroy();
    }
    boost::context::fiber fiber_;
    exception_state exceptions_;
    sanitizer_fiber sanitizer_;
    std::uint32_t number_ = 0;
    bool is_made_ = false;
    bool is_guarded_ = true;
};

/// The region frees all stacks at once.
struct no_deallocation {
    boost::context::stack_context allocate() { return {}; }
    void deallocate(boost::context::stack_context&) noexcept {}
};

class fiber_execution final : public execution {
public:
    fiber_execution(std::uint32_t ranks, std::size_t stack_bytes, rank_trouble on_trouble)
        : stacks_(ranks, stack_bytes), on_trouble_(std::move(on_trouble)) {}

    std::unique_ptr<stack_of_rank> adopt_caller() override {
        auto caller = std::make_unique<fiber_of_rank>();
        caller->sanitizer_.adopt_thread();
        return caller;
    }

    std::unique_ptr<stack_of_rank> make(std::uint32_t rank,
                                        std::function<stack_of_rank&()> body) override {
        auto made = std::make_unique<fiber_of_rank>();
        const std::span<std::byte> memory = stacks_.stack(rank);
        made->sanitizer_.set_stack(memory.data(), memory.size());
        made->is_made_ = true;
        made->number_ = rank;
        made->is_guarded_ = rank < stacks_.guarded();
        boost::context::stack_context stack;
        stack.size = memory.size();
        stack.sp = memory.data() + memory.size();
        made->fiber_ = boost::context::fiber(
            std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
            no_deallocation(),
            [this, self = made.get(), body = std::move(body)](boost::context::fiber&& from) {
                return enter(*self, body, std::move(from));
            });
        return made;
    }

    void change(stack_of_rank& from, stack_of_rank& to) override {
        auto& self = static_cast<fiber_of_rank&>(from);
        auto& next = static_cast<fiber_of_rank&>(to);
        look_at_stack(self);
        self.exceptions_ = std::exchange(thread_exceptions(), next.exceptions_);
        previous_ = &self;
        self.sanitizer_.leave_for(next.sanitizer_, false);
        settle(self, std::move(next.fiber_).resume());
    }

private:
    boost::context::fiber enter(fiber_of_rank& self, const std::function<stack_of_rank&()>& body,
                                boost::context::fiber&& from) {
        settle(self, std::move(from));
        auto& next = static_cast<fiber_of_rank&>(body());
        look_at_stack(self);
        previous_ = nullptr;
        thread_exceptions() = next.exceptions_;
        self.sanitizer_.leave_for(next.sanitizer_, true);
        return std::move(next.fiber_);
    }

    /// Before its neighbour runs, whose stack may be spoilt.
    void look_at_stack(const fiber_of_rank& left) const {
        if (left.is_guarded_ || !stacks_.is_overrun(left.number_)) [[likely]]
            return;
        on_trouble_(left.number_,
                    fmt::format("rank {} has used more than its stack of {}, and what lies below "
                                "that is another rank's; set SELION_STACK to a larger size",
                                left.number_, base::bytes_text(stacks_.stack_bytes())));
    }

    /// First thing after every switch, on the stack that was switched to.
    void settle(fiber_of_rank& self, boost::context::fiber&& from) {
        self.sanitizer_.arrive(previous_ != nullptr ? &previous_->sanitizer_ : nullptr);
        if (previous_ != nullptr) previous_->fiber_ = std::move(from);
    }

    stack_region stacks_;
    rank_trouble on_trouble_;
    fiber_of_rank* previous_ = nullptr;  ///< who was left; null when it has ended
};

}  // namespace

std::unique_ptr<execution> make_fiber_execution(std::uint32_t ranks, std::size_t stack_bytes,
                                                rank_trouble on_trouble) {
    return std::make_unique<fiber_execution>(ranks, stack_bytes, std::move(on_trouble));
}

}  // namespace selion::machine::sim
