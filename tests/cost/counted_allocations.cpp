// SPDX-License-Identifier: Apache-2.0
/// Replaces the global operators new and delete: the other forms of the standard call these.
#include "cost/counted_allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t allocations = 0;

}  // namespace

namespace cost {

std::uint64_t allocations_of_this_thread() { return allocations; }

}  // namespace cost

void* operator new(std::size_t bytes) {
    ++allocations;
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
    ++allocations;
    const auto multiple = static_cast<std::size_t>(alignment);
    const std::size_t whole = (bytes + multiple - 1) / multiple * multiple;
    if (void* memory = std::aligned_alloc(multiple, whole == 0 ? multiple : whole)) return memory;
    throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }

void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
