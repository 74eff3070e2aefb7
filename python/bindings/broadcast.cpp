// SPDX-License-Identifier: Apache-2.0
#include "broadcast.hpp"

#include <nanobind/stl/string.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "buffer.hpp"
#include "caller.hpp"
#include "numpy_fields.hpp"
#include "single_values.hpp"

namespace bindings {

namespace nb = nanobind;

namespace {

/// What the root announces before the data of a broadcast.
struct announcement {
    enum class kind : std::uint64_t { none, truth, integer, floating, bytes, array, unknown } what;
    std::uint64_t bits;  ///< the value itself, or how many bytes follow
};

bool holds_references(nb::handle array) {
    const nb::handle dtype(numpy_fields::of(array).dtype);
    return plain_number_of(dtype) == nullptr && nb::cast<bool>(dtype.attr("hasobject"));
}

announcement announce(nb::handle given) {
    using kind = announcement::kind;
    if (is_array(given) && holds_references(given)) return {kind::unknown, 0};
    if (is_array(given)) {
        return {kind::array, numpy_fields::of(given).size() * item_bytes(given)};
    }
    const nb::object value = plain(given);
    if (value.is_none()) return {kind::none, 0};
    if (nb::isinstance<nb::bool_>(value)) return {kind::truth, value.is(Py_True) ? 1u : 0u};
    if (nb::isinstance<nb::int_>(value)) {
        return {kind::integer, static_cast<std::uint64_t>(as_int64(value))};
    }
    if (nb::isinstance<nb::float_>(value)) {
        return {kind::floating, std::bit_cast<std::uint64_t>(nb::cast<double>(value))};
    }
    if (nb::isinstance<nb::bytes>(value)) {
        return {kind::bytes, nb::borrow<nb::bytes>(value).size()};
    }
    return {kind::unknown, 0};
}

void broadcast_bytes(const selion::team& all, std::span<std::byte> data, std::uint32_t root) {
    const nb::gil_scoped_release free;
    all.broadcast(data, root);
}

nb::object broadcast_array(const selion::team& all, nb::handle value, std::uint64_t bytes,
                           std::uint32_t root) {
    const auto use = all.rank() == root ? buffer::use::read : buffer::use::write;
    const bool is_plain = nb::isinstance<nb::bytes>(value);
    const nb::object found = is_plain ? nb::object() : as_array(value, use);
    const nb::handle array = found.is_valid() ? nb::handle(found) : value;
    if (!is_array(array)) {
        throw nb::type_error(
            "The root broadcasts an array: pass one of the same dtype and shape on "
            "every rank, to be filled.");
    }
    if (holds_references(array)) {
        throw nb::type_error("broadcast cannot fill an array that holds references.");
    }
    const buffer data(array, use);
    if (data.bytes() != bytes) {
        const std::string sentence = "The root broadcasts an array of " + std::to_string(bytes) +
                                     " bytes, but this rank's has " + std::to_string(data.bytes()) +
                                     ".";
        throw nb::value_error(sentence.c_str());
    }
    broadcast_bytes(all, {data.data(), data.bytes()}, root);
    return nb::borrow(value);
}

nb::object broadcast_string(const selion::team& all, nb::handle value, std::uint64_t bytes,
                            std::uint32_t root) {
    if (all.rank() == root) {
        const buffer data(value, buffer::use::read);
        broadcast_bytes(all, {data.data(), data.bytes()}, root);
        return nb::borrow(value);
    }
    nb::object result =
        nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
    auto* data = reinterpret_cast<std::byte*>(PyBytes_AS_STRING(result.ptr()));
    broadcast_bytes(all, {data, bytes}, root);
    return result;
}

}  // namespace

void expect_root(const selion::team& all, std::int64_t root) {
    if (root >= 0 && root < std::int64_t{all.size()}) return;
    const std::string sentence = "The root is " + std::to_string(root) + "; legal: 0 to " +
                                 std::to_string(all.size() - 1) + ".";
    throw nb::value_error(sentence.c_str());
}

nb::object broadcast(const selion::team& all, nb::handle value, std::int64_t root) {
    enter_call(all);
    expect_root(all, root);
    using kind = announcement::kind;
    const auto from = static_cast<std::uint32_t>(root);
    announcement head{};
    if (all.rank() == from) {
        const bool is_plain = value.is_none() || nb::isinstance<nb::bytes>(value);
        const nb::object array = is_plain ? nb::object() : as_array(value, buffer::use::read);
        head = announce(array.is_valid() ? nb::handle(array) : value);
    }
    {
        const nb::gil_scoped_release free;
        head = all.broadcast(head, from);
    }
    switch (head.what) {
        case kind::none: return nb::none();
        case kind::truth: return nb::bool_(head.bits != 0);
        case kind::integer: return nb::cast(static_cast<std::int64_t>(head.bits));
        case kind::floating: return nb::cast(std::bit_cast<double>(head.bits));
        case kind::bytes: return broadcast_string(all, value, head.bits, from);
        case kind::array: return broadcast_array(all, value, head.bits, from);
        case kind::unknown: break;
    }
    throw nb::type_error(
        "broadcast sends None, a bool, int, float, bytes or a NumPy array "
        "without references; pickle.dumps makes bytes of other objects.");
}

}  // namespace bindings
