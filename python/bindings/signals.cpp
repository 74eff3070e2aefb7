// SPDX-License-Identifier: Apache-2.0
#include <selion/signal.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <selion/memory.hpp>

#include "caller.hpp"
#include "global_array.hpp"
#include "module.hpp"
#include "under_way.hpp"

namespace bindings {

namespace {

using wanted_values = std::variant<std::uint64_t, std::vector<std::uint64_t>>;

/// Words of every rank that it can wait on and all can raise.
class signals {
public:
    signals(const selion::world& all, std::int64_t count) : all_(all), count_(count) {
        enter_call("Allocating signals");
        expect_member(all);
        if (count < 1) throw nb::value_error("Signals are 1 or more.");
        const nb::gil_scoped_release free;
        own_ = selion::allocate<selion::signal>(all_, static_cast<std::size_t>(count));
    }

    std::int64_t count() const { return count_; }

    selion::global_ptr<selion::signal> on(std::int64_t rank, std::int64_t index) const {
        expect_alive(index);
        if (rank < 0 || rank >= std::int64_t{all_.size()}) {
            raise_index("The rank is " + std::to_string(rank) + "; legal: 0 to " +
                        std::to_string(all_.size() - 1) + ".");
        }
        return own_.on(rank) + index;
    }

    void notify(std::int64_t rank, std::optional<std::uint64_t> add,
                std::optional<std::uint64_t> set, std::int64_t index) const {
        const auto target = on(rank, index);
        const auto update = update_of(add, set);
        const yield_unless_quick free(target, sizeof(selion::signal));
        selion::notify(target, update);
    }

    static selion::detail::signal_update update_of(std::optional<std::uint64_t> add,
                                                   std::optional<std::uint64_t> set) {
        if (add && set) throw nb::value_error("A signal is either set or added to, not both.");
        return set ? selion::signal_set(*set) : selion::signal_add(add.value_or(1));
    }

    bool wait_until(std::uint64_t at_least, std::int64_t index,
                    std::optional<double> seconds) const {
        expect_alive(index);
        enter_call("wait_until");
        const auto time = time_of(seconds);
        const nb::gil_scoped_release free;
        if (time) return selion::wait_until(own_ + index, at_least, *time);
        selion::wait_until(own_ + index, at_least);
        return true;
    }

    /// @param at_least of all words alike, or of each.
    std::optional<std::size_t> wait_any(const wanted_values& at_least,
                                        std::optional<double> seconds) const {
        expect_alive(0);
        enter_call("wait_any");
        const auto time = time_of(seconds);
        const std::vector<selion::awaited_signal> wanted = each_with(at_least);
        const nb::gil_scoped_release free;
        const std::size_t first = time ? selion::wait_any(wanted, *time) : selion::wait_any(wanted);
        return first == wanted.size() ? std::nullopt : std::optional(first);
    }

    bool test(std::uint64_t at_least, std::int64_t index) const {
        expect_alive(index);
        note_place();
        const nb::gil_scoped_release free;
        return selion::test(own_ + index, at_least);
    }

    std::uint64_t value(std::int64_t index) const {
        expect_alive(index);
        const yield_to_simulated_ranks free;
        return selion::read_signal(own_ + index);
    }

    void free() {
        expect_alive(0);
        enter_call("Giving signals back");
        const nb::gil_scoped_release free;
        selion::deallocate(all_, own_);
        own_ = nullptr;
    }
    bool is_alive() const { return static_cast<bool>(own_); }

private:
    std::vector<selion::awaited_signal> each_with(const wanted_values& at_least) const {
        std::vector<selion::awaited_signal> wanted;
        const auto* const one = std::get_if<std::uint64_t>(&at_least);
        for (std::int64_t i = 0; i < count_; ++i) wanted.push_back({own_ + i, one ? *one : 0});
        if (one != nullptr) return wanted;
        const auto& several = std::get<std::vector<std::uint64_t>>(at_least);
        if (several.size() != wanted.size()) {
            const std::string sentence =
                "wait_any takes a value, or one for each signal: there are " +
                std::to_string(count_) + " signals and values for " +
                std::to_string(several.size()) + ".";
            throw nb::value_error(sentence.c_str());
        }
        for (std::size_t i = 0; i < several.size(); ++i) wanted[i].at_least = several[i];
        return wanted;
    }

    void expect_alive(std::int64_t index) const {
        job_.expect();
        if (!own_) throw nb::value_error("The signals have been given back with free().");
        if (index < 0 || index >= count_) {
            raise_index("The signal is " + std::to_string(index) + "; legal: 0 to " +
                        std::to_string(count_ - 1) + ".");
        }
    }

    const selion::world& all_;
    own_job job_;
    std::int64_t count_;
    selion::global_ptr<selion::signal> own_;
};

void put_signal(const global_array& array, nb::handle values, std::int64_t rank,
                const signals& announcement, std::int64_t offset, std::optional<std::uint64_t> add,
                std::optional<std::uint64_t> set, std::int64_t index) {
    array.expect_alive();
    element_memory source = array.source_of(values);
    const bytes_ptr target = array.place(rank, offset, source.bytes);
    if (source.overlaps(target)) [[unlikely]]
        source = source.copy();
    const auto signal = announcement.on(rank, index);
    const auto update = signals::update_of(add, set);
    keeping(source.keeps, [&] {
        const yield_unless_quick free(target, source.bytes);
        selion::put_signal(target, std::span<const std::byte>(source.data, source.bytes), signal,
                           update);
    });
}

}  // namespace

void add_signals(nb::module_& module) {
    documented<signals>(module, "Signal")
        .def(nb::init<const selion::world&, std::int64_t>(), nb::keep_alive<1, 2>(),
             nb::arg("world"), nb::arg("count"))
        .def_prop_ro("count", &signals::count)
        .def("notify", &signals::notify, nb::arg("rank"), nb::kw_only(),
             nb::arg("add").none() = nb::none(), nb::arg("set").none() = nb::none(),
             nb::arg("index") = 0)
        .def("wait_until", &signals::wait_until, nb::arg("at_least"), nb::arg("index") = 0,
             nb::arg("timeout").none() = nb::none())
        .def("wait_any", &signals::wait_any, nb::arg("at_least") = wanted_values(std::uint64_t{1}),
             nb::arg("timeout").none() = nb::none())
        .def("test", &signals::test, nb::arg("at_least"), nb::arg("index") = 0)
        .def("value", &signals::value, nb::arg("index") = 0)
        .def("free",
             [](nb::handle self) {
                 nb::cast<signals&>(self).free();
                 nb::module_::import_("selion.registry").attr("let_go")(self);
             })
        .def("__repr__",
             [](const signals& own) {
                 const std::string words = std::to_string(own.count());
                 return "<selion.Signal, " + words + (own.count() == 1 ? " word" : " words") +
                        (own.is_alive() ? " of each rank>" : " of each rank, given back>");
             })
        .def("__reduce__", [](nb::handle self) {
            return nb::module_::import_("selion.registry").attr("reduced")(self);
        });
    module.def("put_signal", &put_signal, nb::arg("array"), nb::arg("values").none(),
               nb::arg("rank"), nb::arg("signal"), nb::arg("offset"), nb::arg("add").none(),
               nb::arg("set").none(), nb::arg("index"),
               "Writes values, then raises a signal of that rank.");
}

}  // namespace bindings
