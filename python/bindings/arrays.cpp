// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include <selion/atomics.hpp>
#include <selion/memory.hpp>
#include <selion/put_get.hpp>
#include <selion/world.hpp>

#include "buffer.hpp"
#include "caller.hpp"
#include "module.hpp"

namespace bindings {

namespace {

using bytes_ptr = selion::global_ptr<std::byte>;

// Below this a copy within mapped memory takes less time than giving the GIL away and taking it.
constexpr std::size_t short_bytes = std::size_t{64} << 10;

[[noreturn]] void raise_index(const std::string& sentence) {
    throw nb::index_error(sentence.c_str());
}

class global_array {
public:
    global_array(const selion::world& all, nb::object shape, nb::object dtype)
        : all_(all), shape_(std::move(shape)), dtype_(std::move(dtype)) {
        item_bytes_ = nb::cast<std::size_t>(dtype_.attr("itemsize"));
        count_ = 1;
        for (nb::handle extent : shape_) {
            const auto factor = nb::cast<std::size_t>(extent);
            if (factor != 0 && count_ > std::numeric_limits<std::size_t>::max() / factor) {
                throw nb::value_error("The shape has more elements than can be counted.");
            }
            count_ *= factor;
        }
        {
            const nb::gil_scoped_release free;
            own_ = allocate();
        }
        local_ = view_of_local();
    }

    nb::object shape() const { return shape_; }
    nb::object dtype() const { return dtype_; }
    std::size_t size() const { return count_; }

    nb::object local() const {
        expect_alive();
        return local_;
    }

    void put(nb::handle values, std::int64_t rank, std::int64_t offset) const {
        expect_alive();
        nb::object kept = conform(values);
        const buffer source(kept, buffer::use::read);
        const bytes_ptr target = place(rank, offset, source.bytes());
        const std::span<const std::byte> span(source.data(), source.bytes());
        if (is_quick(target, span.size())) return selion::put(target, span);
        const nb::gil_scoped_release free;
        selion::put(target, span);
    }

    nb::object get(std::int64_t rank, std::int64_t offset, std::optional<std::int64_t> count,
                   nb::object out) const {
        expect_alive();
        const bool is_whole = out.is_none() && offset == 0 && !count;
        nb::object result = out.is_none() ? make_result(offset, count, is_whole) : std::move(out);
        expect_dtype(result);
        const buffer target(result, buffer::use::write);
        if (count && target.bytes() != static_cast<std::uint64_t>(*count) * item_bytes_) {
            raise_index("out has another number of elements than count, " + std::to_string(*count) +
                        ".");
        }
        const bytes_ptr source = place(rank, offset, target.bytes());
        const std::span<std::byte> span(target.data(), target.bytes());
        if (is_quick(source, span.size())) {
            selion::get(span, source);
        } else {
            const nb::gil_scoped_release free;
            selion::get(span, source);
        }
        return result;
    }

    std::int64_t fetch_add(std::int64_t rank, std::int64_t offset, std::int64_t amount) const {
        expect_alive();
        const bytes_ptr target = place(rank, offset, item_bytes_);
        const std::string kind = nb::cast<std::string>(dtype_.attr("str"));
        if (kind != "<i8" && kind != "<i4") {
            throw nb::type_error("fetch_add works on arrays of dtype int32 and int64.");
        }
        const yield_to_simulated_ranks free;
        if (kind == "<i8") return selion::fetch_add(target.reinterpret<std::int64_t>(), amount);
        return selion::fetch_add(target.reinterpret<std::int32_t>(),
                                 static_cast<std::int32_t>(amount));
    }

    void free() {
        expect_alive();
        local_ = nb::none();
        const nb::gil_scoped_release free;
        selion::deallocate(all_, own_);
        own_ = nullptr;
    }

private:
    bytes_ptr allocate() const {
        constexpr std::size_t line = 64;
        if (count_ != 0 && item_bytes_ > std::numeric_limits<std::size_t>::max() / count_) {
            throw nb::value_error("The array has more bytes than can be counted.");
        }
        const std::size_t bytes = count_ * item_bytes_;
        return selion::allocate<std::byte>(all_, bytes == 0 ? 1 : bytes, line);
    }

    nb::object view_of_local() const {
        const std::size_t bytes = count_ * item_bytes_;
        nb::object memory = nb::steal(PyMemoryView_FromMemory(
            reinterpret_cast<char*>(own_.local()), static_cast<Py_ssize_t>(bytes), PyBUF_WRITE));
        nb::object numpy = nb::module_::import_("numpy");
        return numpy.attr("ndarray")(shape_, dtype_, memory);
    }

    void expect_alive() const {
        expect_rank();
        if (!own_) throw nb::value_error("The array has been given back with free().");
    }

    void expect_dtype(nb::handle array) const {
        nb::object other = array.attr("dtype");
        if (other.is(dtype_) || other.equal(dtype_)) return;
        const std::string sentence =
            "The array is of dtype " + nb::cast<std::string>(nb::str(other)) +
            "; the global array is of " + nb::cast<std::string>(nb::str(dtype_)) + ".";
        throw nb::type_error(sentence.c_str());
    }

    /// An object whose memory holds `values` in this array's dtype: itself where it fits.
    nb::object conform(nb::handle values) const {
        if (is_array(values)) {
            expect_dtype(values);
            if (nb::cast<bool>(values.attr("flags").attr("c_contiguous")))
                return nb::borrow(values);
        }
        return nb::module_::import_("selion.arrays").attr("conform")(values, dtype_);
    }

    nb::object make_result(std::int64_t offset, std::optional<std::int64_t> count,
                           bool is_whole) const {
        nb::object numpy = nb::module_::import_("numpy");
        if (is_whole) return numpy.attr("empty")(shape_, dtype_);
        const std::int64_t rest = static_cast<std::int64_t>(count_) - offset;
        const std::int64_t wanted = count.value_or(rest);
        if (offset < 0 || wanted < 0 || wanted > rest) raise_range(offset, wanted);
        return numpy.attr("empty")(wanted, dtype_);
    }

    bytes_ptr place(std::int64_t rank, std::int64_t offset, std::size_t bytes) const {
        if (rank < 0 || rank >= static_cast<std::int64_t>(all_.size())) {
            raise_index("The rank is " + std::to_string(rank) + "; legal: 0 to " +
                        std::to_string(all_.size() - 1) + ".");
        }
        const auto elements = static_cast<std::int64_t>(item_bytes_ == 0 ? 0 : bytes / item_bytes_);
        if (offset < 0 || offset > static_cast<std::int64_t>(count_) - elements) {
            raise_range(offset, elements);
        }
        return own_.on(rank) + offset * static_cast<std::int64_t>(item_bytes_);
    }

    [[noreturn]] void raise_range(std::int64_t offset, std::int64_t elements) const {
        raise_index("Offset " + std::to_string(offset) + " and " + std::to_string(elements) +
                    " elements reach beyond the array; each rank's part has " +
                    std::to_string(count_) + ".");
    }

    static bool is_quick(bytes_ptr pointer, std::size_t bytes) {
        return bytes < short_bytes && pointer.local() != nullptr &&
               !selion::detail::current_context->spends_time;
    }

    const selion::world& all_;
    nb::object shape_;
    nb::object dtype_;
    nb::object local_;
    bytes_ptr own_;
    std::size_t item_bytes_ = 0;
    std::size_t count_ = 0;
};

}  // namespace

void add_arrays(nb::module_& module) {
    nb::class_<global_array>(module, "GlobalArray",
                             "An array of which every rank owns a part of the same shape.")
        .def(nb::init<const selion::world&, nb::object, nb::object>(), nb::keep_alive<1, 2>(),
             nb::arg("world"), nb::arg("shape"), nb::arg("dtype"))
        .def_prop_ro("shape", &global_array::shape, "Shape of each rank's part.")
        .def_prop_ro("dtype", &global_array::dtype, "NumPy's type of the elements.")
        .def_prop_ro("size", &global_array::size, "Elements of each rank's part.")
        .def_prop_ro("local", &global_array::local, "This rank's part, as it lies in memory.")
        .def("put", &global_array::put, nb::arg("values"), nb::arg("rank"), nb::arg("offset") = 0,
             "Writes values into a rank's part.")
        .def("get", &global_array::get, nb::arg("rank"), nb::arg("offset") = 0,
             nb::arg("count") = nb::none(), nb::kw_only(), nb::arg("out") = nb::none(),
             "Reads from a rank's part.")
        .def("fetch_add", &global_array::fetch_add, nb::arg("rank"), nb::arg("offset"),
             nb::arg("amount"), "Adds to one element atomically; returns its value before.")
        .def("free", &global_array::free, "Gives the memory back; all ranks call it.");
}

}  // namespace bindings
