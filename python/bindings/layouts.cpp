// SPDX-License-Identifier: Apache-2.0
#include <selion/spread_layout.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <selion/spread_box.hpp>
#include <selion/transfers.hpp>

#include "caller.hpp"
#include "global_array.hpp"
#include "module.hpp"
#include "numpy_fields.hpp"

/// Layouts of spread arrays. Their number of dimensions is known when they are made, so each is
/// behind an interface.
namespace bindings {

namespace {

using numbers = std::vector<std::size_t>;

/// A part of an array: of each dimension `count` indices from `first`, `step` apart, and elements
/// from one to the next in the memory on this side; none where `count` is 1 and taken away.
struct part {
    numbers first;
    numbers count;
    numbers step;
    numbers strides;
    bool is_written;
};

class any_layout {
public:
    any_layout() = default;
    any_layout(const any_layout&) = delete;
    any_layout& operator=(const any_layout&) = delete;
    virtual ~any_layout() = default;
    virtual std::size_t dimensions() const = 0;
    virtual std::size_t local_size() const = 0;
    virtual std::uint64_t fingerprint() const = 0;
    virtual numbers tile_extents() const = 0;
    virtual std::pair<std::uint32_t, std::size_t> place_of(const numbers& index) const = 0;
    virtual std::vector<std::tuple<numbers, numbers, std::size_t>> tiles_of(
        std::uint32_t rank) const = 0;
    virtual void move(bytes_ptr base, std::byte* memory, std::size_t item_bytes,
                      const part& which) const = 0;
};

template <std::size_t N>
selion::coordinates<N> coordinates_of(const numbers& from) {
    selion::coordinates<N> to;
    for (std::size_t d = 0; d < N; ++d) to[d] = from[d];
    return to;
}
template <std::size_t N>
numbers numbers_of(const selion::coordinates<N>& from) {
    return {from.begin(), from.end()};
}

template <std::size_t N>
class layout final : public any_layout {
public:
    explicit layout(const selion::spread_layout<N>& from) : own_(from) {}

    std::size_t dimensions() const override { return N; }
    std::size_t local_size() const override { return own_.local_size(); }
    std::uint64_t fingerprint() const override { return own_.fingerprint(); }
    numbers tile_extents() const override { return numbers_of<N>(own_.tile_extents()); }
    std::pair<std::uint32_t, std::size_t> place_of(const numbers& index) const override {
        const auto [rank, local] = own_.place_of(coordinates_of<N>(index));
        return {rank, local};
    }
    std::vector<std::tuple<numbers, numbers, std::size_t>> tiles_of(
        std::uint32_t rank) const override {
        std::vector<std::tuple<numbers, numbers, std::size_t>> all;
        for (std::size_t number = 0; number < own_.tiles_of(rank); ++number) {
            const auto tile = own_.tile_of(rank, number);
            all.emplace_back(numbers_of<N>(tile.elements.first),
                             numbers_of<N>(tile.elements.extents), tile.local);
        }
        return all;
    }

    /// As `spread_slice` does: a box of the array for each index of a dimension with steps.
    void move(bytes_ptr base, std::byte* memory, std::size_t item_bytes,
              const part& which) const override {
        const auto strides = coordinates_of<N>(which.strides);
        selion::coordinates<N> boxes;
        for (std::size_t d = 0; d < N; ++d) {
            if (which.count[d] == 0) return;
            boxes[d] = which.step[d] == 1 ? 1 : which.count[d];
        }
        selion::transfers under_way;
        selion::coordinates<N> at{};
        do {
            selion::spread_box<N> box{};
            std::size_t start = 0;
            for (std::size_t d = 0; d < N; ++d) {
                box.first[d] = which.first[d] + at[d] * which.step[d];
                box.extents[d] = which.step[d] == 1 ? which.count[d] : 1;
                start += at[d] * strides[d];
            }
            selion::detail::for_parts(own_, box, strides, [&](const auto& found) {
                start_part(under_way, base.on(found.rank) + offset(found.in_rank, item_bytes),
                           memory + (start + found.in_box) * item_bytes, found, item_bytes,
                           which.is_written);
            });
        } while (selion::detail::advance(at, boxes));
        under_way.sync();
    }

private:
    static std::ptrdiff_t offset(std::size_t elements, std::size_t item_bytes) {
        return static_cast<std::ptrdiff_t>(elements * item_bytes);
    }
    static void start_part(selion::transfers& under_way, bytes_ptr there, std::byte* here,
                           const selion::detail::box_part<N>& found, std::size_t item_bytes,
                           bool is_written) {
        const auto outer = is_written ? found.to_tile() : found.to_memory();
        std::array<selion::stride, N> scaled;
        for (std::size_t d = 0; d < outer.size(); ++d) {
            const auto bytes = static_cast<std::ptrdiff_t>(item_bytes);
            scaled[d] = {outer[d].count, outer[d].target * bytes, outer[d].source * bytes};
        }
        const std::span<const selion::stride> all(scaled.data(), outer.size());
        if (is_written) {
            under_way.put_strided(there, here, found.row * item_bytes, all);
        } else {
            under_way.get_strided(here, there, found.row * item_bytes, all);
        }
    }

    selion::spread_layout<N> own_;
};

/// How a layout was asked for: tiles, and a grid where there is one; or runs.
struct wish {
    numbers extents;
    numbers tile;
    numbers grid;
    std::int64_t run;  ///< -1: none
    std::size_t ranks;
};

template <std::size_t N>
std::unique_ptr<any_layout> make(const wish& from) {
    const auto extents = coordinates_of<N>(from.extents);
    if (from.run >= 0) {
        const selion::runs how{static_cast<std::size_t>(from.run)};
        return std::make_unique<layout<N>>(selion::spread_layout<N>(extents, how, from.ranks));
    }
    const selion::distribution<N> how{coordinates_of<N>(from.tile), coordinates_of<N>(from.grid)};
    return std::make_unique<layout<N>>(selion::spread_layout<N>(extents, how, from.ranks));
}

std::unique_ptr<any_layout> make_layout(const numbers& extents, const numbers& tile,
                                        const numbers& grid, std::int64_t run, std::size_t ranks) {
    const wish asked{extents, tile, grid, run, ranks};
    const std::size_t n = extents.size();
    if (run < 0 && (tile.size() != n || grid.size() != n)) {
        throw nb::value_error("The layout has another number of dimensions than the array.");
    }
    switch (n) {
        case 1: return make<1>(asked);
        case 2: return make<2>(asked);
        case 3: return make<3>(asked);
        case 4: return make<4>(asked);
        default: throw nb::value_error("A spread array has 1 to 4 dimensions.");
    }
}

/// Reads or writes a part of an array. @param parts the memory of all ranks.
/// @param memory on this side, of the same dtype.
void move_part(const any_layout& how, const global_array& parts, nb::handle memory,
               const numbers& first, const numbers& count, const numbers& step,
               const numbers& strides, bool is_written) {
    parts.expect_alive();
    expect_may_wait("An access to a spread array");
    const part which{first, count, step, strides, is_written};
    std::byte* const start = numpy_fields::of(memory).data;
    const bytes_ptr base = parts.place(0, 0, 0);
    const place_of_start place;
    keeping(memory, [&] {
        const nb::gil_scoped_release free;
        how.move(base, start, parts.item_bytes(), which);
    });
}

}  // namespace

void add_layouts(nb::module_& module) {
    documented<any_layout>(module, "Layout")
        .def_prop_ro("local_size", &any_layout::local_size)
        .def_prop_ro("fingerprint", &any_layout::fingerprint)
        .def_prop_ro("tile_extents", &any_layout::tile_extents)
        .def("place_of", &any_layout::place_of, nb::arg("index"))
        .def("tiles_of", &any_layout::tiles_of, nb::arg("rank"));
    module.def("make_layout", &make_layout, nb::arg("extents"), nb::arg("tile"), nb::arg("grid"),
               nb::arg("run"), nb::arg("ranks"), "A layout; see selion.layout.");
    module.def("move_part", &move_part, nb::arg("layout"), nb::arg("parts"), nb::arg("memory"),
               nb::arg("first"), nb::arg("count"), nb::arg("step"), nb::arg("strides"),
               nb::arg("is_written"), "Reads or writes a part of a spread array.");
}

}  // namespace bindings
