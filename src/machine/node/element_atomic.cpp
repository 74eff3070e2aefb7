// SPDX-License-Identifier: Apache-2.0
#include "machine/node/element_atomic.hpp"

#include <atomic>

#include "selion/atomics.hpp"

namespace selion::machine::node {
namespace {

/// Every operation as a loop of compare-and-swap: this is the slow way, and short beats quick.
template <class T>
T apply(std::byte* address, const detail::atomic_request& request) {
    const std::atomic_ref<T> element(*reinterpret_cast<T*>(address));
    const T operand = detail::from_bits<T>(request.operand);
    // acquire, acq_rel: as the inline operations [element.atomic]
    T before = element.load(std::memory_order_acquire);
    while (true) {
        if (request.operation == detail::atomic_operation::load) return before;
        const bool differs = detail::to_bits(before) != request.compare;
        if (request.operation == detail::atomic_operation::compare_swap && differs) return before;
        const T after = detail::combine_atomically(request.operation, before, operand);
        if (element.compare_exchange_weak(before, after,
                                          std::memory_order_acq_rel,     // [element.atomic]
                                          std::memory_order_acquire)) {  // [element.atomic]
            return before;
        }
    }
}

}  // namespace

std::uint64_t change_element(std::byte* address, const detail::atomic_request& request) {
    using enum detail::element_kind;
    const bool is_narrow = request.width == sizeof(std::uint32_t);
    switch (request.kind) {
        case unsigned_integer: break;
        case signed_integer:
            return is_narrow ? detail::to_bits(apply<std::int32_t>(address, request))
                             : detail::to_bits(apply<std::int64_t>(address, request));
        case floating:
            return is_narrow ? detail::to_bits(apply<float>(address, request))
                             : detail::to_bits(apply<double>(address, request));
    }
    return is_narrow ? apply<std::uint32_t>(address, request)
                     : apply<std::uint64_t>(address, request);
}

}  // namespace selion::machine::node
