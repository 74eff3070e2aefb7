// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <selion/team.hpp>

#include "broadcast.hpp"
#include "buffer.hpp"
#include "caller.hpp"
#include "dtype_mark.hpp"
#include "module.hpp"
#include "numpy_fields.hpp"
#include "reduce.hpp"

namespace bindings {

namespace {

/// Memory of an object, or nothing of None.
class block_memory {
public:
    block_memory(nb::handle object, buffer::use how) {
        if (!object.is_none()) memory_.emplace(object, how);
    }
    std::span<std::byte> bytes() const {
        return memory_ ? std::span(memory_->data(), memory_->bytes()) : std::span<std::byte>();
    }

private:
    std::optional<buffer> memory_;
};

/// Collectives that move the elements of arrays; shapes are the caller's business.
void move_blocks(const selion::team& all, std::string_view what, nb::handle source,
                 nb::handle target, std::uint32_t root) {
    enter_call(all);
    const block_memory from(source, buffer::use::read);
    const block_memory to(target, buffer::use::write);
    const std::span<const std::byte> given = from.bytes();
    const auto typed = typed_team::for_call(all, source.is_none() ? target : source);
    without_gil({source, target}, [&] {
        if (what == "gather") return typed.gather(given, to.bytes(), root);
        if (what == "all_gather") return typed.all_gather(given, to.bytes());
        if (what == "scatter") return typed.scatter(given, to.bytes(), root);
        typed.exchange(given, to.bytes());
    });
}

/// Calls the function of that name in selion.collectives.
template <class... Arguments>
nb::object call(const char* name, Arguments&&... arguments) {
    return nb::module_::import_("selion.collectives").attr(name)(arguments...);
}

void expect_no_references(nb::handle array, const char* what) {
    const nb::handle dtype(numpy_fields::of(array).dtype);
    if (plain_number_of(dtype) != nullptr || !nb::cast<bool>(dtype.attr("hasobject"))) return;
    const std::string sentence = std::string(what) + " cannot move dtype " +
                                 nb::cast<std::string>(nb::str(dtype)) + ": it holds references.";
    throw nb::type_error(sentence.c_str());
}

/// A member's array as contiguous memory; null where it is no array.
nb::object block_of(nb::handle value, const char* what) {
    nb::object array = elements_of(value);
    if (!array.is_valid()) return array;
    expect_no_references(array, what);
    if (numpy_fields::of(array).is_contiguous()) return array;
    return nb::module_::import_("numpy").attr("asarray")(array, nb::arg("order") = "C");
}

/// Where a collective writes to: `out`, or a new array of `extents` before the shape of `like`.
class filled {
public:
    filled(nb::handle out, nb::handle like, std::optional<std::size_t> members, const char* what)
        : result_(nb::borrow(out)) {
        const numpy_fields& model = numpy_fields::of(like);
        if (out.is_none()) {
            nb::list shape;
            if (members) shape.append(*members);
            for (int d = 0; d < model.dimensions; ++d) shape.append(model.extents[d]);
            array_ = new_array(nb::tuple(shape), nb::handle(model.dtype));
            result_ = array_;
            return;
        }
        array_ = need_out(out, nb::handle(model.dtype));
        const std::size_t wanted = model.size() * members.value_or(1);
        const std::size_t found = numpy_fields::of(array_).size();
        if (found == wanted) return;
        const std::string sentence = "out of " + std::string(what) + " needs " +
                                     std::to_string(wanted) + " elements; it has " +
                                     std::to_string(found) + ".";
        throw nb::value_error(sentence.c_str());
    }
    nb::handle array() const { return array_; }
    nb::object result() { return std::move(result_); }

private:
    nb::object array_;
    nb::object result_;
};

std::span<std::byte> bytes_of(nb::handle array) {
    const numpy_fields& fields = numpy_fields::of(array);
    return {fields.data, fields.size() * item_bytes(array)};
}

void refuse_out(nb::handle out, const char* what) {
    if (out.is_none()) return;
    throw nb::type_error(
        ("out of " + std::string(what) + " is for arrays, not for single values.").c_str());
}

nb::object all_gather(nb::handle self, nb::handle value, nb::handle out) {
    const auto& all = nb::cast<const selion::team&>(self);
    enter_call(all);
    const nb::object own = block_of(value, "all_gather");
    if (!own.is_valid()) {
        refuse_out(out, "all_gather");
        return call("all_gather", self, value);
    }
    filled into(out, own, all.size(), "all_gather");
    const std::span<const std::byte> given = bytes_of(own);
    const std::span<std::byte> taken = bytes_of(into.array());
    expect_apart(given, taken, all.rank(), "all_gather");
    const auto typed = typed_team::for_call(all, own);
    without_gil({own, into.array()}, [&] { typed.all_gather(given, taken); });
    return into.result();
}

nb::object exchange(nb::handle self, nb::handle values, nb::handle out) {
    const auto& all = nb::cast<const selion::team&>(self);
    enter_call(all);
    const nb::object own = block_of(values, "exchange");
    const bool is_even = own.is_valid() && numpy_fields::of(own).dimensions != 0 &&
                         numpy_fields::of(own).extents[0] % Py_ssize_t{all.size()} == 0;
    if (!is_even) {  // single values, or a sentence
        refuse_out(out, "exchange");
        return call("exchange", self, own.is_valid() ? own : nb::borrow(values));
    }
    filled into(out, own, std::nullopt, "exchange");
    const std::span<const std::byte> given = bytes_of(own);
    const std::span<std::byte> taken = bytes_of(into.array());
    expect_apart(given, taken, 0, "exchange");
    const auto typed = typed_team::for_call(all, own);
    without_gil({own, into.array()}, [&] { typed.exchange(given, taken); });
    return into.result();
}

nb::object gather(nb::handle self, nb::handle value, std::int64_t root, nb::handle out) {
    const auto& all = nb::cast<const selion::team&>(self);
    enter_call(all);
    expect_root(all, root);
    const nb::object own = block_of(value, "gather");
    if (!own.is_valid()) {
        refuse_out(out, "gather");
        return call("gather", self, value, root);
    }
    const auto to = static_cast<std::uint32_t>(root);
    std::optional<filled> into;
    if (all.rank() == to) into.emplace(out, own, all.size(), "gather");
    const std::span<const std::byte> given = bytes_of(own);
    const std::span<std::byte> taken = into ? bytes_of(into->array()) : std::span<std::byte>();
    if (into) expect_apart(given, taken, all.rank(), "gather");
    const auto typed = typed_team::for_call(all, own);
    without_gil({own, into ? into->array() : nb::handle()},
                [&] { typed.gather(given, taken, to); });
    return into ? into->result() : nb::none();
}

/// With `out`, everybody knows what comes.
nb::object scatter(nb::handle self, nb::handle values, std::int64_t root, nb::handle out) {
    const auto& all = nb::cast<const selion::team&>(self);
    enter_call(all);
    expect_root(all, root);
    if (out.is_none()) return call("scatter", self, values, root);
    const auto from = static_cast<std::uint32_t>(root);
    nb::object given;
    if (all.rank() == from) given = block_of(values, "scatter");
    const nb::handle dtype(given.is_valid() ? numpy_fields::of(given).dtype : nullptr);
    const nb::object into = need_out(out, dtype);
    expect_no_references(into, "scatter");
    std::span<const std::byte> source;
    const std::span<std::byte> taken = bytes_of(into);
    if (all.rank() == from) {
        if (!given.is_valid() || bytes_of(given).size() != taken.size() * all.size()) {
            throw nb::value_error(
                "scatter with out needs an array of as many elements at the root as all members "
                "have room for.");
        }
        source = bytes_of(given);
        expect_apart(taken, source, all.rank(), "scatter");
    }
    const auto typed = typed_team::for_call(all, into);
    without_gil({given, into}, [&] { typed.scatter(source, taken, from); });
    return nb::borrow(out);
}

}  // namespace

void add_collectives(nb::module_& module, documented<selion::team>& team) {
    module.def("move_blocks", &move_blocks, nb::arg("team"), nb::arg("what"),
               nb::arg("source").none(), nb::arg("target").none(), nb::arg("root"),
               "gather, all_gather, scatter or exchange of contiguous memory.");
    team.def("gather", &gather, nb::arg("value").none(), nb::arg("root") = 0, nb::kw_only(),
             nb::arg("out").none() = nb::none())
        .def("all_gather", &all_gather, nb::arg("value").none(), nb::kw_only(),
             nb::arg("out").none() = nb::none())
        .def("scatter", &scatter, nb::arg("values").none(), nb::arg("root") = 0, nb::kw_only(),
             nb::arg("out").none() = nb::none())
        .def("exchange", &exchange, nb::arg("values"), nb::kw_only(),
             nb::arg("out").none() = nb::none())
        .def("reduce", &reduce, nb::arg("value").none(), nb::arg("operation") = "plus",
             nb::arg("root") = 0, nb::kw_only(), nb::arg("out").none() = nb::none())
        .def("reduce_scatter", &reduce_scatter, nb::arg("values"), nb::arg("operation") = "plus",
             nb::kw_only(), nb::arg("out").none() = nb::none())
        .def("scan", &scan, nb::arg("value").none(), nb::arg("operation") = "plus", nb::kw_only(),
             nb::arg("out").none() = nb::none())
        .def("exscan", &exscan, nb::arg("value").none(), nb::arg("operation") = "plus",
             nb::arg("first").none() = nb::none(), nb::kw_only(),
             nb::arg("out").none() = nb::none());
}

}  // namespace bindings
