// SPDX-License-Identifier: Apache-2.0
#include <selion/atomics.hpp>

#include <nanobind/stl/string.h>

#include <concepts>
#include <string>

#include "caller.hpp"
#include "global_array.hpp"

namespace bindings {

namespace {

[[noreturn]] void refuse(const global_array& array, const char* name, const char* legal) {
    const std::string sentence = std::string(name) + " works on arrays of dtype " + legal +
                                 "; this is of " + nb::cast<std::string>(nb::str(array.dtype())) +
                                 ".";
    throw nb::type_error(sentence.c_str());
}

/// Calls `update(pointer to the element)` for whatever number it is.
template <class Update>
nb::object with_element(const global_array& array, const char* name, std::int64_t rank,
                        std::int64_t offset, const Update& update) {
    array.expect_alive();
    if (array.kind() == number_kind::none) {
        refuse(array, name, "int32, int64, uint32, uint64, float32 and float64");
    }
    return with_number(array.kind(), [&]<class T>(T) {
        return update(array.place(rank, offset, sizeof(T)).template reinterpret<T>());
    });
}

/// The same for integers only.
template <class Update>
nb::object with_integer(const global_array& array, const char* name, std::int64_t rank,
                        std::int64_t offset, const Update& update) {
    if (array.kind() == number_kind::f4 || array.kind() == number_kind::f8) {
        refuse(array, name, "int32, int64, uint32 and uint64");
    }
    return with_element(array, name, rank, offset, [&]<class T>(selion::global_ptr<T> element) {
        if constexpr (std::integral<T>) return update(element);
        return nb::object();  // not reached
    });
}

/// Runs an atomic without the GIL where it may wait. @return what it has found, for Python.
template <class T, class Operation>
nb::object found_by(selion::global_ptr<T> element, const Operation& operation) {
    T before;
    expect_may_read(element);
    {
        const yield_unless_quick free(element, sizeof(T));
        before = operation();
    }
    return nb::steal(to_python(before));
}

/// Methods that take one operand and return the value before.
template <class Operation>
auto fetching(const char* name, Operation operation) {
    return [name, operation](const global_array& array, std::int64_t rank, std::int64_t offset,
                             nb::handle operand) {
        return with_element(array, name, rank, offset, [&]<class T>(selion::global_ptr<T> element) {
            const T value = from_python<T>(operand);
            return found_by(element, [&] { return operation(element, value); });
        });
    };
}
template <class Operation>
auto fetching_bits(const char* name, Operation operation) {
    return [name, operation](const global_array& array, std::int64_t rank, std::int64_t offset,
                             nb::handle operand) {
        return with_integer(array, name, rank, offset, [&]<class T>(selion::global_ptr<T> element) {
            const T value = from_python<T>(operand);
            return found_by(element, [&] { return operation(element, value); });
        });
    };
}
/// Methods that take one operand and return nothing.
template <class Operation>
auto giving(const char* name, Operation operation) {
    return [name, operation](const global_array& array, std::int64_t rank, std::int64_t offset,
                             nb::handle operand) {
        with_element(array, name, rank, offset, [&]<class T>(selion::global_ptr<T> element) {
            const T value = from_python<T>(operand);
            const yield_unless_quick free(element, sizeof(T));
            operation(element, value);
            return nb::object();
        });
    };
}

nb::object compare_swap(const global_array& array, std::int64_t rank, std::int64_t offset,
                        nb::handle expected, nb::handle desired) {
    return with_integer(
        array, "compare_swap", rank, offset, [&]<class T>(selion::global_ptr<T> element) {
            const T from = from_python<T>(expected);
            const T to = from_python<T>(desired);
            return found_by(element, [&] { return selion::compare_swap(element, from, to); });
        });
}

nb::object atomic_get(const global_array& array, std::int64_t rank, std::int64_t offset) {
    return with_element(array, "atomic_get", rank, offset,
                        []<class T>(selion::global_ptr<T> element) {
                            return found_by(element, [&] { return selion::atomic_get(element); });
                        });
}

constexpr auto place_and = [](auto& array, const char* name, const auto& method,
                              const char* operand) {
    array.def(name, method, nb::arg("rank"), nb::arg("offset"), nb::arg(operand));
};

}  // namespace

void add_atomics(documented<global_array>& array) {
    place_and(array, "fetch_add",
              fetching("fetch_add", [](auto at, auto by) { return selion::fetch_add(at, by); }),
              "amount");
    place_and(array, "add", giving("add", [](auto at, auto by) { selion::atomic_add(at, by); }),
              "amount");
    place_and(array, "fetch_min",
              fetching("fetch_min", [](auto at, auto by) { return selion::fetch_min(at, by); }),
              "value");
    place_and(array, "fetch_max",
              fetching("fetch_max", [](auto at, auto by) { return selion::fetch_max(at, by); }),
              "value");
    place_and(array, "swap",
              fetching("swap", [](auto at, auto by) { return selion::swap(at, by); }), "value");
    place_and(
        array, "fetch_and",
        fetching_bits("fetch_and", [](auto at, auto by) { return selion::fetch_and(at, by); }),
        "bits");
    place_and(array, "fetch_or",
              fetching_bits("fetch_or", [](auto at, auto by) { return selion::fetch_or(at, by); }),
              "bits");
    place_and(
        array, "fetch_xor",
        fetching_bits("fetch_xor", [](auto at, auto by) { return selion::fetch_xor(at, by); }),
        "bits");
    place_and(array, "atomic_put",
              giving("atomic_put", [](auto at, auto by) { selion::atomic_put(at, by); }), "value");
    array
        .def("compare_swap", &compare_swap, nb::arg("rank"), nb::arg("offset"), nb::arg("expected"),
             nb::arg("desired"))
        .def("atomic_get", &atomic_get, nb::arg("rank"), nb::arg("offset"));
}

}  // namespace bindings
