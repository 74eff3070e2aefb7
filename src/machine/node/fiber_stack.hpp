// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>

namespace selion::machine::node {

/// Stack allocator for fibers: pages appear when touched; below the stack lies memory that
/// nobody may touch, so an overflow is a fault at a known place.
class fiber_stack {
public:
    explicit fiber_stack(std::size_t bytes) : bytes_(bytes) {}

    /// @error out_of_memory as an `error` that names SELION_STACK.
    boost::context::stack_context allocate();
    void deallocate(boost::context::stack_context& stack) noexcept;

private:
    std::size_t bytes_;
};

}  // namespace selion::machine::node
