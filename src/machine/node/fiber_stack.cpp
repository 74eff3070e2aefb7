// SPDX-License-Identifier: Apache-2.0
#include "machine/node/fiber_stack.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "base/units.hpp"
#include "machine/fiber/sanitizer_fiber.hpp"
#include "machine/host/host.hpp"
#include "selion/error.hpp"

namespace selion::machine::node {
namespace {

std::size_t guard_bytes() { return std::max(stack_guard_bytes(), page_bytes()); }

}  // namespace

boost::context::stack_context fiber_stack::allocate() {
    const std::size_t page = page_bytes();
    const std::size_t usable = (bytes_ + page - 1) / page * page;
    const std::size_t guard = guard_bytes();
    void* low = mmap(nullptr, guard + usable, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (low == MAP_FAILED ||
        mprotect(static_cast<std::byte*>(low) + guard, usable, PROT_READ | PROT_WRITE) != 0) {
        const std::string limits = mapping_limits();
        throw error(status::out_of_memory,
                    fmt::format("cannot map a fiber's stack of {}; set SELION_STACK to a smaller "
                                "size, use fewer ranks, or raise {}",
                                base::bytes_text(usable),
                                limits.empty() ? "`sysctl vm.max_map_count`" : limits));
    }
    boost::context::stack_context stack;
    stack.size = usable;
    stack.sp = static_cast<std::byte*>(low) + guard + usable;
    return stack;
}

void fiber_stack::deallocate(boost::context::stack_context& stack) noexcept {
    std::byte* const low = static_cast<std::byte*>(stack.sp) - stack.size;
    forget_frames(low, stack.size);
    munmap(low - guard_bytes(), guard_bytes() + stack.size);
}

}  // namespace selion::machine::node
