// SPDX-License-Identifier: Apache-2.0
#include "broadcast.hpp"

#include <nanobind/stl/string.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "buffer.hpp"
#include "caller.hpp"
#include "dtype_mark.hpp"
#include "numpy_fields.hpp"
#include "single_values.hpp"

namespace bindings {

namespace nb = nanobind;

namespace {

/// What the root announces before the data of a broadcast.
struct announcement {
    enum class kind : std::uint32_t {
        none,
        truth,
        integer,
        floating,
        bytes,
        array,
        object,  ///< pickled
        refused,
    } what;
    std::uint32_t dtype;  ///< of an array: see `mark_of`
    std::uint64_t bits;   ///< the value itself, or how many bytes follow
};

bool holds_references(nb::handle array) {
    const nb::handle dtype(numpy_fields::of(array).dtype);
    return plain_number_of(dtype) == nullptr && nb::cast<bool>(dtype.attr("hasobject"));
}

announcement announce(nb::handle given) {
    using kind = announcement::kind;
    if (is_array(given)) {
        if (holds_references(given)) return {kind::object, 0, 0};
        return {kind::array, mark_of(given), numpy_fields::of(given).size() * item_bytes(given)};
    }
    const nb::object value = plain(given);
    if (value.is_none()) return {kind::none, 0, 0};
    if (nb::isinstance<nb::bool_>(value)) return {kind::truth, 0, value.is(Py_True) ? 1u : 0u};
    if (nb::isinstance<nb::int_>(value)) {
        return {kind::integer, 0, static_cast<std::uint64_t>(as_int64(value))};
    }
    if (nb::isinstance<nb::float_>(value)) {
        return {kind::floating, 0, std::bit_cast<std::uint64_t>(nb::cast<double>(value))};
    }
    if (nb::isinstance<nb::bytes>(value)) {
        return {kind::bytes, 0, nb::borrow<nb::bytes>(value).size()};
    }
    return {kind::object, 0, 0};
}

/// What a member has passed, as an array; null where it is none, as all single values are.
/// @error BufferError, TypeError, ValueError, before others could wait for this member: for memory
/// that the root cannot send, or that cannot be filled.
nb::object array_of(nb::handle value, bool is_root) {
    PyObject* const object = value.ptr();
    const bool is_plain = value.is_none() || PyLong_Check(object) || PyFloat_Check(object) ||
                          PyBytes_Check(object) || PyUnicode_Check(object);
    if (is_plain) return {};
    nb::object array = as_array(value, is_root ? buffer::use::read : buffer::use::write);
    if (!array.is_valid()) return array;
    const numpy_fields& fields = numpy_fields::of(array);
    if (is_root) {
        if (fields.is_contiguous()) return array;
        return nb::module_::import_("numpy").attr("ascontiguousarray")(array);
    }
    if (!fields.is_contiguous()) {
        throw nb::value_error("broadcast cannot fill an array that is not C-contiguous.");
    }
    if (!fields.is_writeable()) {
        throw nb::value_error("broadcast cannot fill an array that must not be written.");
    }
    return array;
}

/// @param memory the object whose memory `data` is.
void broadcast_bytes(const selion::team& all, nb::handle memory, std::span<std::byte> data,
                     std::uint32_t root) {
    without_gil({memory}, [&] { all.broadcast(data, root); });
}

/// A string of bytes from the root.
nb::object taken_bytes(const selion::team& all, std::uint64_t bytes, std::uint32_t root) {
    nb::object result =
        nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
    if (!result.is_valid()) throw nb::python_error();
    auto* data = reinterpret_cast<std::byte*>(PyBytes_AS_STRING(result.ptr()));
    broadcast_bytes(all, result, {data, bytes}, root);
    return result;
}

/// Why an array of this member cannot take what the root sends; empty: it can.
std::string why_unfit(nb::handle array, const announcement& head) {
    const std::size_t bytes = numpy_fields::of(array).size() * item_bytes(array);
    if (bytes != head.bits) {
        return "The root broadcasts an array of " + std::to_string(head.bits) +
               " bytes, but this rank's has " + std::to_string(bytes) + ".";
    }
    const std::uint32_t mark = mark_of(array);
    if (mark == head.dtype || mark == 0 || head.dtype == 0) return {};
    return "The root broadcasts an array of another dtype than this rank's, " +
           nb::cast<std::string>(nb::str(nb::handle(numpy_fields::of(array).dtype))) + ".";
}

/// Takes the data all the same, so that others need not wait for this member.
void throw_away(const selion::team& all, const announcement& head, std::uint32_t root) {
    static_cast<void>(taken_bytes(all, head.bits, root));
}

nb::object broadcast_array(const selion::team& all, nb::handle value, nb::handle array,
                           const announcement& head, std::uint32_t root) {
    if (!array.is_valid()) {
        throw_away(all, head, root);
        throw nb::type_error(
            "The root broadcasts an array: pass one of the same dtype and shape on "
            "every rank, to be filled.");
    }
    if (holds_references(array)) {
        throw_away(all, head, root);
        throw nb::type_error("broadcast cannot fill an array that holds references.");
    }
    const std::string trouble = all.rank() == root ? std::string() : why_unfit(array, head);
    if (!trouble.empty()) {
        throw_away(all, head, root);
        throw nb::value_error(trouble.c_str());
    }
    broadcast_bytes(all, array, {numpy_fields::of(array).data, head.bits}, root);
    return nb::borrow(value);
}

/// @param pickled at the root what it sends.
nb::object broadcast_object(const selion::team& all, nb::handle value, nb::handle pickled,
                            std::uint64_t bytes, std::uint32_t root) {
    if (all.rank() == root) {
        const buffer data(pickled, buffer::use::read);
        broadcast_bytes(all, pickled, {data.data(), data.bytes()}, root);
        return nb::borrow(value);
    }
    const nb::object taken = taken_bytes(all, bytes, root);
    return nb::module_::import_("selion.pickling").attr("loads")(taken);
}

nb::object broadcast_string(const selion::team& all, nb::handle value, std::uint64_t bytes,
                            std::uint32_t root) {
    if (all.rank() != root) return taken_bytes(all, bytes, root);
    const buffer data(value, buffer::use::read);
    broadcast_bytes(all, value, {data.data(), data.bytes()}, root);
    return nb::borrow(value);
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
    const bool is_root = all.rank() == from;
    nb::object array, pickled;
    std::optional<nb::python_error> refusal;
    try {
        array = array_of(value, is_root);
        if (is_root) head = announce(array.is_valid() ? nb::handle(array) : value);
        if (head.what == kind::object) {
            pickled = nb::module_::import_("selion.pickling").attr("dumps")(value);
            head.bits = nb::len(pickled);
        }
    } catch (nb::python_error& mistake) {
        if (!is_root) throw;
        refusal.emplace(std::move(mistake));  // others wait for what comes
    }
    if (refusal) head = {kind::refused, 0, 0};
    {
        const nb::gil_scoped_release free;
        head = all.broadcast(head, from);
    }
    if (refusal) throw std::move(*refusal);
    switch (head.what) {
        case kind::none: return nb::none();
        case kind::truth: return nb::bool_(head.bits != 0);
        case kind::integer: return nb::cast(static_cast<std::int64_t>(head.bits));
        case kind::floating: return nb::cast(std::bit_cast<double>(head.bits));
        case kind::bytes: return broadcast_string(all, value, head.bits, from);
        case kind::array: return broadcast_array(all, value, array, head, from);
        case kind::object: return broadcast_object(all, value, pickled, head.bits, from);
        case kind::refused: break;
    }
    const std::string sentence =
        "The root, member " + std::to_string(from) + ", has nothing that can be broadcast.";
    throw nb::value_error(sentence.c_str());
}

}  // namespace bindings
