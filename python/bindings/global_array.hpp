// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <selion/global_ptr.hpp>
#include <selion/world.hpp>

#include "buffer.hpp"
#include "caller.hpp"
#include "documented.hpp"
#include "numbers.hpp"

namespace bindings {

namespace nb = nanobind;

using bytes_ptr = selion::global_ptr<std::byte>;

/// Memory of a Python object in the elements of an array, and what keeps it.
struct element_memory {
    nb::object keeps;
    std::byte* data;
    std::size_t bytes;

    /// Whether it is a part of an array as well, which this place and as many bytes behind it meet:
    /// views of the own part may be put into it, and filled from it.
    bool overlaps(bytes_ptr place) const;
    /// The same elements in memory of their own: no copy of the library's may overlap.
    element_memory copy() const;
};

/// Reads from a rank's part, also into memory that overlaps with it, as NumPy does.
void read_into(const element_memory& target, bytes_ptr source);

/// An array of which every rank owns a part of the same shape.
class global_array {
public:
    global_array(const selion::world& all, nb::object shape, nb::object dtype);

    nb::object shape() const { return shape_; }
    nb::object dtype() const { return dtype_; }
    std::size_t size() const { return count_; }
    std::size_t dimensions() const { return nb::len(shape_); }
    std::size_t bytes() const { return count_ * item_bytes_; }
    std::size_t item_bytes() const { return item_bytes_; }
    number_kind kind() const { return kind_; }
    nb::object local() const {
        expect_alive();
        return local_;
    }

    void put(nb::handle values, std::int64_t rank, std::int64_t offset) const;
    nb::object get(std::int64_t rank, std::int64_t offset, std::optional<std::int64_t> count,
                   nb::handle out) const;
    /// One element as a number of Python.
    nb::object item(std::int64_t rank, std::int64_t offset) const;
    void free();

    /// @error ValueError after free(), RuntimeError where the calling thread works for no rank of
    /// the array's job.
    void expect_alive() const;
    bool is_alive() const { return static_cast<bool>(own_); }
    /// Where elements of a rank's part begin. @error IndexError
    bytes_ptr place(std::int64_t rank, std::int64_t offset, std::size_t bytes) const;
    /// Values in this array's dtype: without a copy where they lie so already.
    /// @error TypeError if a conversion could lose more than precision.
    element_memory source_of(nb::handle values) const;
    /// Where `get` writes to, and what it returns: `out`, or a new array.
    /// @param result gets it.
    element_memory target_of(std::int64_t offset, std::optional<std::int64_t> count, nb::handle out,
                             nb::object& result) const;

private:
    nb::object view_of_local() const;
    void expect_dtype(nb::handle array) const;
    /// Whether its elements are text, and so what bytes are to it.
    bool holds_text() const;
    nb::object new_array(std::int64_t offset, std::optional<std::int64_t> count) const;
    [[noreturn]] void raise_rank(std::int64_t rank) const;
    [[noreturn]] void raise_range(std::int64_t offset, std::int64_t elements) const;
    /// Writes a plain number into a rank's part. @return false where it is none.
    bool put_number(PyObject* number, std::int64_t rank, std::int64_t offset) const;

    const selion::world& all_;
    own_job job_;
    nb::object shape_;
    nb::object dtype_;
    nb::object scalar_type_;  ///< NumPy's scalars of that dtype
    nb::object local_;
    bytes_ptr own_;
    std::size_t item_bytes_ = 0;
    std::size_t count_ = 0;
    std::int64_t ranks_ = 0;
    number_kind kind_ = number_kind::none;
};

/// Raises IndexError.
[[noreturn]] void raise_index(const std::string& sentence);

/// Methods of GlobalArray that update elements atomically.
void add_atomics(documented<global_array>& array);

}  // namespace bindings
