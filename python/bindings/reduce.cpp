// SPDX-License-Identifier: Apache-2.0
#include "reduce.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "buffer.hpp"
#include "caller.hpp"

namespace bindings {

namespace nb = nanobind;

namespace {

/// Calls `then` with the operation of that name.
template <class Then>
void with_operation(std::string_view name, Then then) {
    if (name == "plus") return then(selion::plus);
    if (name == "times") return then(selion::times);
    if (name == "minimum") return then(selion::minimum);
    if (name == "maximum") return then(selion::maximum);
    const std::string sentence =
        "The operation is '" + std::string(name) + "'; legal: plus, times, minimum, maximum.";
    throw nb::value_error(sentence.c_str());
}

/// NumPy's code of a number type, "f8", in the machine's byte order.
template <class T>
constexpr const char* code_of() {
    constexpr const char* floating[] = {"f4", "f8"};
    constexpr const char* with_sign[] = {"i1", "i2", "i4", "i8"};
    constexpr const char* without_sign[] = {"u1", "u2", "u4", "u8"};
    constexpr int log2 = sizeof(T) == 8 ? 3 : sizeof(T) == 4 ? 2 : sizeof(T) == 2 ? 1 : 0;
    if constexpr (std::is_floating_point_v<T>) {
        return floating[log2 - 2];
    } else {
        return std::is_signed_v<T> ? with_sign[log2] : without_sign[log2];
    }
}

/// Which collective combines, and how.
struct combination {
    std::string_view what;
    std::string_view operation;
    std::uint32_t root = 0;
};

/// Calls `then` with the numbers of an array.
template <class... Types, class Then>
bool with_numbers_of_one(const buffer& data, std::string_view code, const Then& then) {
    const auto call_as = [&]<class T>(T) {
        then(std::span<T>(reinterpret_cast<T*>(data.data()), data.bytes() / sizeof(T)));
        return true;
    };
    return ((code == code_of<Types>() ? call_as(Types{}) : false) || ...);
}

/// The same for all types of numbers. @param what combines them, for the sentence that refuses.
template <class Then>
void with_numbers(nb::handle array, std::string_view what, const Then& then) {
    const nb::str code(array.attr("dtype").attr("str"));
    const std::string_view ordered = code.c_str();  // "<f8": byte order, kind, bytes
    const buffer data(array, buffer::use::write);
    const bool is_done =
        ordered[0] != '>' &&
        with_numbers_of_one<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                            std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
            data, ordered.substr(1), then);
    if (!is_done) {
        const std::string sentence = std::string(what) + " cannot combine arrays of dtype " +
                                     std::string(ordered) +
                                     "; legal: float32, float64, and integers of 8 to 64 bits.";
        throw nb::type_error(sentence.c_str());
    }
}

/// In place.
void combine_array(const selion::team& all, nb::handle array, const combination& how) {
    with_numbers(array, how.what, [&]<class T>(std::span<T> values) {
        with_operation(how.operation, [&](const auto& operation) {
            const nb::gil_scoped_release free;
            if (how.what == "reduce") return all.reduce(values, operation, how.root);
            if (how.what == "scan") return all.scan(values, operation);
            if (how.what == "exscan") return all.exscan(values, operation, T{});
            all.all_reduce(values, operation);
        });
    });
}

nb::object reduce_array(const selion::team& all, nb::handle value, std::string_view operation) {
    nb::object result = value.attr("copy")(nb::str("C"));
    combine_array(all, result, {"all_reduce", operation});
    return result;
}

template <class T>
nb::object reduce_value(const selion::team& all, T value, std::string_view operation) {
    with_operation(operation, [&](const auto& combine) {
        const nb::gil_scoped_release free;
        value = all.all_reduce(value, combine);
    });
    return nb::cast(value);
}

/// NumPy's numbers as Python's.
nb::object plain(nb::handle value) {
    return nb::hasattr(value, "dtype") ? value.attr("item")() : nb::borrow(value);
}

std::int64_t as_int64(nb::handle value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0) {
        PyErr_SetString(PyExc_OverflowError, "Integers that ranks exchange must fit 64 bits.");
        throw nb::python_error();
    }
    return number;
}

/// What the root announces before the data of a broadcast.
struct announcement {
    enum class kind : std::uint64_t { none, truth, integer, floating, bytes, array, unknown } what;
    std::uint64_t bits;  ///< the value itself, or how many bytes follow
};

bool holds_references(nb::handle array) {
    return nb::cast<bool>(array.attr("dtype").attr("hasobject"));
}

announcement announce(nb::handle given) {
    using kind = announcement::kind;
    if (is_array(given) && holds_references(given)) return {kind::unknown, 0};
    if (is_array(given)) return {kind::array, buffer(given, buffer::use::read).bytes()};
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
    if (!is_array(value)) {
        throw nb::type_error(
            "The root broadcasts an array: pass one of the same dtype and shape on "
            "every rank, to be filled.");
    }
    if (holds_references(value)) {
        throw nb::type_error("broadcast cannot fill an array that holds references.");
    }
    const bool is_root = all.rank() == root;
    const buffer data(value, is_root ? buffer::use::read : buffer::use::write);
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

nb::object all_reduce(const selion::team& all, nb::handle given, std::string_view operation) {
    expect_caller(all);
    if (is_array(given)) return reduce_array(all, given, operation);
    const nb::object value = plain(given);
    if (nb::isinstance<nb::float_>(value)) {
        return reduce_value(all, nb::cast<double>(value), operation);
    }
    if (nb::isinstance<nb::int_>(value) && !nb::isinstance<nb::bool_>(value)) {
        return reduce_value(all, as_int64(value), operation);
    }
    throw nb::type_error("all_reduce combines an int, a float or a NumPy array of numbers.");
}

void combine(const selion::team& all, std::string_view what, nb::handle array,
             std::string_view operation, std::uint32_t root) {
    expect_caller(all);
    combine_array(all, array, {what, operation, root});
}

selion::future<> start_to_combine(const selion::team& all, std::string_view what, nb::handle array,
                                  std::string_view name, std::uint32_t root) {
    selion::future<> started;
    with_numbers(array, what, [&]<class T>(std::span<T> values) {
        with_operation(name, [&](const auto& operation) {
            const selion::split_phase_collectives starting = all.split_phase();
            const nb::gil_scoped_release free;
            if (what == "reduce") {
                started = starting.reduce(values, operation, root);
            } else if (what == "scan") {
                started = starting.scan(values, operation);
            } else if (what == "exscan") {
                started = starting.exscan(values, operation, T{});
            } else {
                started = starting.all_reduce(values, operation);
            }
        });
    });
    return started;
}

nb::object broadcast(const selion::team& all, nb::handle value, std::int64_t root) {
    expect_caller(all);
    if (root < 0 || root >= static_cast<std::int64_t>(all.size())) {
        const std::string sentence = "The root is " + std::to_string(root) + "; legal: 0 to " +
                                     std::to_string(all.size() - 1) + ".";
        throw nb::value_error(sentence.c_str());
    }
    using kind = announcement::kind;
    const auto from = static_cast<std::uint32_t>(root);
    announcement head = all.rank() == from ? announce(value) : announcement{};
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
