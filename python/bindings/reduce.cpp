// SPDX-License-Identifier: Apache-2.0
#include "reduce.hpp"

#include <nanobind/stl/string.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "buffer.hpp"
#include "caller.hpp"
#include "numpy_fields.hpp"

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
bool with_numbers_of_one(std::span<std::byte> data, std::string_view code, const Then& then) {
    const auto call_as = [&]<class T>(T) {
        then(std::span<T>(reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)));
        return true;
    };
    return ((code == code_of<Types>() ? call_as(Types{}) : false) || ...);
}

/// The same for all types of numbers, in contiguous memory. @param what combines them, for the
/// sentence that refuses.
template <class Then>
void with_numbers(nb::handle array, std::string_view what, const Then& then) {
    const numpy_fields& fields = numpy_fields::of(array);
    const nb::handle dtype(fields.dtype);
    const plain_number* const plain = plain_number_of(dtype);
    // "<f8": byte order, kind, bytes
    const std::string ordered = plain != nullptr ? std::string("<") + plain->code
                                                 : nb::cast<std::string>(dtype.attr("str"));
    const bool is_done =
        ordered[0] != '>' &&
        with_numbers_of_one<double, std::int64_t, float, std::int8_t, std::int16_t, std::int32_t,
                            std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
            {fields.data, fields.size() * item_bytes(array)}, std::string_view(ordered).substr(1),
            then);
    if (!is_done) {
        const std::string sentence = std::string(what) + " cannot combine arrays of dtype " +
                                     ordered +
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

/// @param out is filled, and may be the array itself; None: a new array is.
nb::object reduce_array(const selion::team& all, nb::handle value, std::string_view operation,
                        nb::handle out) {
    if (out.is_none()) {
        nb::object result = value.attr("copy")(nb::str("C"));
        combine_array(all, result, {"all_reduce", operation});
        return result;
    }
    const numpy_fields& source = numpy_fields::of(value);
    const nb::object array = need_out(out, nb::handle(source.dtype));
    const numpy_fields& target = numpy_fields::of(array);
    if (target.size() != source.size()) {
        throw nb::value_error("out of all_reduce has another number of elements than the array.");
    }
    if (target.data != source.data) {
        nb::module_::import_("numpy").attr("copyto")(array.attr("reshape")(value.attr("shape")),
                                                     value);
    }
    combine_array(all, array, {"all_reduce", operation});
    return nb::borrow(out);
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

nb::object all_reduce(const selion::team& all, nb::handle given, std::string_view operation,
                      nb::handle out) {
    expect_caller(all);
    if (PyFloat_CheckExact(given.ptr()) && out.is_none()) {
        return reduce_value(all, PyFloat_AS_DOUBLE(given.ptr()), operation);
    }
    const nb::object array = as_array(given, buffer::use::read);
    if (array.is_valid()) return reduce_array(all, array, operation, out);
    if (!out.is_none()) {
        throw nb::type_error("out of all_reduce is for arrays, not for single values.");
    }
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
