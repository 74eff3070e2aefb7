// SPDX-License-Identifier: Apache-2.0
#include "global_array.hpp"

#include <nanobind/stl/string.h>

#include <cstring>
#include <functional>
#include <limits>
#include <span>

#include <selion/memory.hpp>
#include <selion/put_get.hpp>

#include "caller.hpp"
#include "numpy_fields.hpp"

namespace bindings {

namespace {

bytes_ptr allocate(const selion::world& all, std::size_t count, std::size_t item_bytes) {
    constexpr std::size_t line = 64;
    if (item_bytes != 0 && count > std::numeric_limits<std::size_t>::max() / item_bytes) {
        throw nb::value_error("The array has more bytes than can be counted.");
    }
    const std::size_t bytes = count * item_bytes;
    const nb::gil_scoped_release free;
    return selion::allocate<std::byte>(all, bytes == 0 ? 1 : bytes, line);
}

/// What a function of selion.arrays makes of it, or refuses.
nb::object checked(const char* check, nb::handle given) {
    return nb::module_::import_("selion.arrays").attr(check)(given);
}

void read_apart(const element_memory& target, bytes_ptr source) {
    keeping(target.keeps, [&] {
        const yield_unless_quick free(source, target.bytes);
        selion::get(std::span(target.data, target.bytes), source);
    });
}

}  // namespace

void raise_index(const std::string& sentence) { throw nb::index_error(sentence.c_str()); }

bool element_memory::overlaps(bytes_ptr place) const {
    const std::byte* const there = place.local();
    const std::less<const std::byte*> is_before;
    return there != nullptr && is_before(data, there + bytes) && is_before(there, data + bytes);
}

element_memory element_memory::copy() const {
    nb::object own = nb::steal(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(data),
                                                             static_cast<Py_ssize_t>(bytes)));
    if (!own.is_valid()) throw nb::python_error();
    auto* const start = reinterpret_cast<std::byte*>(PyByteArray_AsString(own.ptr()));
    return {std::move(own), start, bytes};
}

void read_into(const element_memory& target, bytes_ptr source) {
    if (!target.overlaps(source)) [[likely]]
        return read_apart(target, source);
    const element_memory apart = target.copy();
    read_apart(apart, source);
    std::memcpy(target.data, apart.data, apart.bytes);
}

global_array::global_array(const selion::world& all, nb::object shape, nb::object dtype)
    : all_(all),
      shape_(checked("shape_of", shape)),
      dtype_(checked("movable_dtype", dtype)),
      ranks_(all.size()) {
    enter_call("Allocating an array");
    expect_member(all);
    item_bytes_ = nb::cast<std::size_t>(dtype_.attr("itemsize"));
    scalar_type_ = dtype_.attr("type");
    kind_ = number_kind_of(nb::cast<std::string>(dtype_.attr("str")));
    count_ = 1;
    for (nb::handle extent : shape_) {
        const auto factor = nb::cast<std::size_t>(extent);
        if (factor != 0 && count_ > std::numeric_limits<std::size_t>::max() / factor) {
            throw nb::value_error("The shape has more elements than can be counted.");
        }
        count_ *= factor;
    }
    own_ = allocate(all_, count_, item_bytes_);
    local_ = view_of_local();
}

void global_array::free() {
    expect_alive();
    enter_call("Giving an array back");
    local_ = nb::none();
    const nb::gil_scoped_release free;
    selion::deallocate(all_, own_);
    own_ = nullptr;
}

void global_array::put(nb::handle values, std::int64_t rank, std::int64_t offset) const {
    expect_alive();
    if (kind_ != number_kind::none && put_number(values.ptr(), rank, offset)) return;
    element_memory source = source_of(values);
    const bytes_ptr target = place(rank, offset, source.bytes);
    if (source.overlaps(target)) [[unlikely]]
        source = source.copy();
    keeping(source.keeps, [&] {
        const yield_unless_quick free(target, source.bytes);
        selion::put(target, std::span<const std::byte>(source.data, source.bytes));
    });
}

bool global_array::put_number(PyObject* number, std::int64_t rank, std::int64_t offset) const {
    return with_number(kind_, [&]<class T>(T value) {
        const bool is_own = Py_TYPE(number) == reinterpret_cast<PyTypeObject*>(scalar_type_.ptr());
        if (is_own) {
            value = from_python<T>(number);
        } else if (!take_plain(number, value)) {
            return false;
        }
        const auto target = place(rank, offset, sizeof(T)).reinterpret<T>();
        const yield_unless_quick free(target, sizeof(T));
        selion::put(target, value);
        return true;
    });
}

nb::object global_array::get(std::int64_t rank, std::int64_t offset,
                             std::optional<std::int64_t> count, nb::handle out) const {
    expect_alive();
    nb::object result;
    const element_memory target = target_of(offset, count, out, result);
    const bytes_ptr source = place(rank, offset, target.bytes);
    expect_may_read(source);
    read_into(target, source);
    return result;
}

nb::object global_array::item(std::int64_t rank, std::int64_t offset) const {
    expect_alive();
    if (kind_ == number_kind::none) {
        return get(rank, offset, 1, nb::none()).attr("item")();
    }
    return nb::steal(with_number(kind_, [&]<class T>(T value) {
        const auto source = place(rank, offset, sizeof(T)).reinterpret<T>();
        expect_may_read(source);
        {
            const yield_unless_quick free(source, sizeof(T));
            value = selion::get(source);
        }
        return to_python(value);
    }));
}

void global_array::expect_alive() const {
    job_.expect();
    if (!own_) [[unlikely]]
        throw nb::value_error("The array has been given back with free().");
}

bytes_ptr global_array::place(std::int64_t rank, std::int64_t offset, std::size_t bytes) const {
    if (rank < 0 || rank >= ranks_) [[unlikely]]
        raise_rank(rank);
    const auto elements = static_cast<std::int64_t>(bytes == item_bytes_ ? 1 : bytes / item_bytes_);
    if (offset < 0 || offset > static_cast<std::int64_t>(count_) - elements) [[unlikely]]
        raise_range(offset, elements);
    return own_.on(rank) + offset * static_cast<std::int64_t>(item_bytes_);
}

element_memory global_array::source_of(nb::handle values) const {
    const bool is_text =
        (PyBytes_Check(values.ptr()) || PyByteArray_Check(values.ptr())) && holds_text();
    nb::object array = is_text ? nb::object() : as_array(values, buffer::use::read);
    if (array.is_valid()) expect_dtype(array);
    if (!array.is_valid() || !numpy_fields::of(array).is_contiguous()) {
        array = nb::module_::import_("selion.arrays").attr("conform")(values, dtype_);
    }
    const numpy_fields& fields = numpy_fields::of(array);
    std::byte* const data = fields.data;
    const std::size_t bytes = fields.size() * item_bytes_;
    return {std::move(array), data, bytes};
}

element_memory global_array::target_of(std::int64_t offset, std::optional<std::int64_t> count,
                                       nb::handle out, nb::object& result) const {
    if (out.is_none()) {
        result = new_array(offset, count);
        const numpy_fields& fields = numpy_fields::of(result);
        return {result, fields.data, fields.size() * item_bytes_};
    }
    nb::object array = need_out(out, dtype_);
    const numpy_fields& fields = numpy_fields::of(array);
    if (count && fields.size() != static_cast<std::uint64_t>(*count)) {
        raise_index("out has another number of elements than count, " + std::to_string(*count) +
                    ".");
    }
    result = nb::borrow(out);
    std::byte* const data = fields.data;
    const std::size_t bytes = fields.size() * item_bytes_;
    return {std::move(array), data, bytes};
}

nb::object global_array::view_of_local() const {
    const std::size_t bytes = count_ * item_bytes_;
    nb::object memory = nb::steal(PyMemoryView_FromMemory(
        reinterpret_cast<char*>(own_.local()), static_cast<Py_ssize_t>(bytes), PyBUF_WRITE));
    return nb::module_::import_("numpy").attr("ndarray")(shape_, dtype_, memory);
}

void global_array::expect_dtype(nb::handle array) const {
    const nb::handle other(numpy_fields::of(array).dtype);
    if (other.is(dtype_) || other.equal(dtype_)) return;
    const std::string sentence = "The array is of dtype " + nb::cast<std::string>(nb::str(other)) +
                                 "; the global array is of " +
                                 nb::cast<std::string>(nb::str(dtype_)) + ".";
    throw nb::type_error(sentence.c_str());
}

bool global_array::holds_text() const {
    const auto kind = nb::cast<std::string>(dtype_.attr("kind"));
    return kind == "S" || kind == "U";
}

nb::object global_array::new_array(std::int64_t offset, std::optional<std::int64_t> count) const {
    if (offset == 0 && !count) return bindings::new_array(shape_, dtype_);
    const auto all = static_cast<std::int64_t>(count_);
    if (offset < 0 || offset > all) raise_range(offset, count.value_or(0));
    const std::int64_t wanted = count.value_or(all - offset);
    if (wanted < 0 || wanted > all - offset) raise_range(offset, wanted);
    return bindings::new_array(nb::int_(wanted), dtype_);
}

void global_array::raise_rank(std::int64_t rank) const {
    raise_index("The rank is " + std::to_string(rank) + "; legal: 0 to " +
                std::to_string(ranks_ - 1) + ".");
}

void global_array::raise_range(std::int64_t offset, std::int64_t elements) const {
    raise_index("Offset " + std::to_string(offset) + " and " + std::to_string(elements) +
                " elements reach beyond the array; each rank's part has " + std::to_string(count_) +
                ".");
}

}  // namespace bindings
