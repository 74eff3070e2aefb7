// SPDX-License-Identifier: Apache-2.0
#include "reduce.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "broadcast.hpp"
#include "buffer.hpp"
#include "caller.hpp"
#include "mixed_number.hpp"
#include "numpy_fields.hpp"
#include "single_values.hpp"

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

/// Name of an operation, given by that or by a function that means it; None: another function.
nb::object name_of(nb::handle operation) {
    if (PyUnicode_Check(operation.ptr())) return nb::borrow(operation);
    return nb::module_::import_("selion.combining").attr("name_of")(operation);
}

/// @pre a name, and it lives as long as the text is used.
std::string_view text_of(nb::handle name) {
    Py_ssize_t bytes = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(name.ptr(), &bytes);
    if (text == nullptr) throw nb::python_error();
    return {text, static_cast<std::size_t>(bytes)};
}

/// Calls the function of that name in selion.combining.
template <class... Arguments>
nb::object by_function(const char* name, Arguments&&... arguments) {
    return nb::module_::import_("selion.combining").attr(name)(arguments...);
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
            without_gil({array}, [&] {
                if (how.what == "reduce") return all.reduce(values, operation, how.root);
                if (how.what == "scan") return all.scan(values, operation);
                if (how.what == "exscan") return all.exscan(values, operation, T{});
                all.all_reduce(values, operation);
            });
        });
    });
}

/// As `need_out`, where numbers are combined.
nb::object need_aligned_out(nb::handle out, nb::handle dtype) {
    nb::object array = need_out(out, dtype);
    if (numpy_fields::of(array).is_aligned()) return array;
    throw nb::value_error("out is not aligned to its elements.");
}

/// Copies an array to where it is combined. @param out None: into a new array.
nb::object combinable(nb::handle value, nb::handle out, std::string_view what) {
    if (out.is_none()) return value.attr("copy")(nb::str("C"));
    const numpy_fields& source = numpy_fields::of(value);
    nb::object array = need_aligned_out(out, nb::handle(source.dtype));
    const numpy_fields& target = numpy_fields::of(array);
    if (target.size() != source.size()) {
        const std::string sentence =
            "out of " + std::string(what) + " has another number of elements than the array.";
        throw nb::value_error(sentence.c_str());
    }
    if (source.is_contiguous()) {
        const std::size_t bytes = source.size() * item_bytes(array);
        if (target.data != source.data) std::memmove(target.data, source.data, bytes);
    } else {
        nb::module_::import_("numpy").attr("copyto")(array.attr("reshape")(value.attr("shape")),
                                                     value);
    }
    return array;
}

/// Whether a member gets no result: all but the root of a reduce.
bool gives_only(const selion::team& all, const combination& how) {
    return how.what == "reduce" && all.rank() != how.root;
}

/// @param out is filled, and may be the array itself; None: a new array is.
nb::object combined_array(const selion::team& all, nb::handle value, const combination& how,
                          nb::handle out) {
    if (gives_only(all, how)) {  // whose data stay as they are
        const numpy_fields& fields = numpy_fields::of(value);
        const bool is_whole = fields.is_contiguous() && fields.is_aligned();
        combine_array(all, is_whole ? nb::borrow(value) : combinable(value, nb::none(), how.what),
                      how);
        return nb::none();
    }
    nb::object array = combinable(value, out, how.what);
    combine_array(all, array, how);
    return out.is_none() ? array : nb::borrow(out);
}

nb::object combined_value(const selion::team& all, mixed_number value, const combination& how) {
    with_operation(how.operation, [&]<class Operation>(const Operation&) {
        const nb::gil_scoped_release free;
        const std::span one(&value, 1);
        constexpr mixed_operation<Operation> operation;
        if (how.what == "reduce") return all.reduce(one, operation, how.root);
        if (how.what == "scan") return all.scan(one, operation);
        if (how.what == "exscan") return all.exscan(one, operation, mixed_number());
        value = all.all_reduce(value, operation);
    });
    return gives_only(all, how) ? nb::none() : value.in_python();
}

nb::object combined(const selion::team& all, nb::handle given, const combination& how,
                    nb::handle out) {
    enter_call(all);
    if (PyFloat_CheckExact(given.ptr()) && out.is_none()) {
        return combined_value(all, mixed_number(PyFloat_AS_DOUBLE(given.ptr())), how);
    }
    const nb::object array = elements_of(given);
    if (array.is_valid()) return combined_array(all, array, how, out);
    const std::string what(how.what);
    if (!out.is_none()) {
        throw nb::type_error(("out of " + what + " is for arrays, not for single values.").c_str());
    }
    const nb::object value = plain(given);
    if (nb::isinstance<nb::float_>(value)) {
        return combined_value(all, mixed_number(nb::cast<double>(value)), how);
    }
    if (nb::isinstance<nb::int_>(value) && !nb::isinstance<nb::bool_>(value)) {
        return combined_value(all, mixed_number(as_int64(value)), how);
    }
    throw nb::type_error((what + " combines an int, a float or a NumPy array of numbers.").c_str());
}

/// An array that can be dealt out to the members, contiguous; null: it is none.
nb::object dealt_array(const selion::team& all, nb::handle values) {
    nb::object array = elements_of(values);
    if (!array.is_valid()) return array;
    const numpy_fields& fields = numpy_fields::of(array);
    if (fields.dimensions == 0 || fields.extents[0] % Py_ssize_t{all.size()} != 0) {
        const std::string sentence =
            "reduce_scatter needs one number for each of the " + std::to_string(all.size()) +
            " members, or an array whose first extent is a multiple of that.";
        throw nb::value_error(sentence.c_str());
    }
    if (fields.is_contiguous() && fields.is_aligned()) return array;
    return array.attr("copy")(nb::str("C"));
}

/// A member's part of such an array: a new one.
nb::object new_part(const selion::team& all, nb::handle dealt) {
    const numpy_fields& fields = numpy_fields::of(dealt);
    nb::list shape;
    shape.append(fields.extents[0] / Py_ssize_t{all.size()});
    for (int d = 1; d < fields.dimensions; ++d) shape.append(fields.extents[d]);
    return new_array(nb::tuple(shape), nb::handle(fields.dtype));
}

/// @param own the memory of `out`, which may be this member's part of `dealt`, and apart otherwise.
void expect_part(const selion::team& all, std::span<const std::byte> dealt,
                 std::span<const std::byte> own) {
    if (own.size() * all.size() != dealt.size()) {
        throw nb::value_error("out of reduce_scatter has another number of elements than a part.");
    }
    expect_apart(own, dealt, all.rank(), "reduce_scatter");
}

}  // namespace

nb::object all_reduce(nb::handle self, nb::handle value, nb::handle operation, nb::handle out) {
    const nb::object name = name_of(operation);
    if (name.is_none()) return by_function("all_reduce", self, value, operation, out);
    return combined(nb::cast<const selion::team&>(self), value, {"all_reduce", text_of(name)}, out);
}

nb::object reduce(nb::handle self, nb::handle value, nb::handle operation, std::int64_t root,
                  nb::handle out) {
    const nb::object name = name_of(operation);
    if (name.is_none()) return by_function("reduce", self, value, operation, root, out);
    const auto& all = nb::cast<const selion::team&>(self);
    expect_caller(all);
    expect_root(all, root);
    return combined(all, value, {"reduce", text_of(name), static_cast<std::uint32_t>(root)}, out);
}

nb::object scan(nb::handle self, nb::handle value, nb::handle operation, nb::handle out) {
    const nb::object name = name_of(operation);
    if (name.is_none()) return by_function("scan", self, value, operation, out);
    return combined(nb::cast<const selion::team&>(self), value, {"scan", text_of(name)}, out);
}

nb::object exscan(nb::handle self, nb::handle value, nb::handle operation, nb::handle first,
                  nb::handle out) {
    const nb::object name = name_of(operation);
    if (name.is_none()) return by_function("exscan", self, value, operation, first, out);
    const auto& all = nb::cast<const selion::team&>(self);
    nb::object result = combined(all, value, {"exscan", text_of(name)}, out);
    return all.rank() == 0 ? nb::borrow(first) : result;
}

nb::object reduce_scatter(nb::handle self, nb::handle values, nb::handle operation,
                          nb::handle out) {
    const nb::object name = name_of(operation);
    if (name.is_none()) return by_function("reduce_scatter", self, values, operation, out);
    const auto& all = nb::cast<const selion::team&>(self);
    enter_call(all);
    const nb::object dealt = dealt_array(all, values);
    if (!dealt.is_valid()) {
        if (!out.is_none()) {
            throw nb::type_error("out of reduce_scatter is for arrays, not for single values.");
        }
        return nb::module_::import_("selion.collectives")
            .attr("reduce_scatter")(self, values, operation);
    }
    const nb::handle dtype(numpy_fields::of(dealt).dtype);
    const nb::object part = out.is_none() ? new_part(all, dealt) : need_aligned_out(out, dtype);
    const auto bytes_of = [](nb::handle array) {
        const numpy_fields& fields = numpy_fields::of(array);
        return std::span(fields.data, fields.size() * item_bytes(array));
    };
    expect_part(all, bytes_of(dealt), bytes_of(part));
    with_numbers(dealt, "reduce_scatter", [&]<class T>(std::span<T> given) {
        with_operation(text_of(name), [&](const auto& how) {
            const std::span own(reinterpret_cast<T*>(numpy_fields::of(part).data),
                                given.size() / all.size());
            without_gil({dealt, part}, [&] { all.reduce_scatter(given, own, how); });
        });
    });
    return out.is_none() ? part : nb::borrow(out);
}

selion::future<> start_to_combine(const selion::team& all, std::string_view what, nb::handle array,
                                  std::string_view name, std::uint32_t root, bool is_single) {
    selion::future<> started;
    const auto start = [&]<class T>(std::span<T> values, const auto& operation) {
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
    };
    if (is_single) {
        const std::span one(reinterpret_cast<mixed_number*>(numpy_fields::of(array).data), 1);
        with_operation(name, [&]<class Operation>(const Operation&) {
            start(one, mixed_operation<Operation>());
        });
        return started;
    }
    with_numbers(array, what, [&]<class T>(std::span<T> values) {
        with_operation(name, [&](const auto& operation) { start(values, operation); });
    });
    return started;
}

}  // namespace bindings
