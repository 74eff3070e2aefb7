// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include <selion/reduction.hpp>

/// Single numbers that ranks combine. One rank may give an int and another a float, as the sum of
/// an empty list is the int 0: they combine as Python's numbers do.
namespace bindings {

/// An int or a float of Python's, as it travels.
struct mixed_number {
    enum class kind : std::uint64_t { integer, floating };

    std::uint64_t bits = 0;
    kind type = kind::integer;

    mixed_number() = default;
    explicit mixed_number(std::int64_t value) : bits(static_cast<std::uint64_t>(value)) {}
    explicit mixed_number(double value)
        : bits(std::bit_cast<std::uint64_t>(value)), type(kind::floating) {}

    bool is_floating() const { return type == kind::floating; }
    std::int64_t integer() const { return static_cast<std::int64_t>(bits); }
    double floating() const {
        return is_floating() ? std::bit_cast<double>(bits) : static_cast<double>(integer());
    }
    nanobind::object in_python() const {
        return is_floating() ? nanobind::cast(floating()) : nanobind::cast(integer());
    }
};
static_assert(sizeof(mixed_number) == 16);

/// The operation of that type on such numbers: a float if one of the two is. Integers wrap.
template <class Operation>
struct mixed_operation {
    mixed_number operator()(const mixed_number& a, const mixed_number& b) const {
        constexpr bool may_wrap = std::is_same_v<Operation, selion::plus_operation> ||
                                  std::is_same_v<Operation, selion::times_operation>;
        const Operation operation{};
        if (a.is_floating() || b.is_floating()) {
            return mixed_number(operation(a.floating(), b.floating()));
        }
        if constexpr (may_wrap) {
            return mixed_number(static_cast<std::int64_t>(operation(a.bits, b.bits)));
        } else {
            return mixed_number(operation(a.integer(), b.integer()));
        }
    }
};

}  // namespace bindings
