// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

namespace bindings {

/// The docstring that the stub `_core.pyi` has for "Class" or "Class.member"; empty: it has none.
const char* stub_text(const std::string& name);

/// A class whose docstrings, and those of its members, are the stub's.
template <class T, class... Bases>
class documented : public nanobind::class_<T, Bases...> {
    using base = nanobind::class_<T, Bases...>;

public:
    template <class... Extra>
    documented(nanobind::handle scope, const char* name, const Extra&... extra)
        : base(scope, name, extra..., stub_text(name)), name_(name) {}

    template <class Function, class... Extra>
    documented& def(const char* member, Function&& function, const Extra&... extra) {
        base::def(member, std::forward<Function>(function), extra..., text_of(member));
        return *this;
    }
    template <class Maker, class... Extra>
    documented& def(nanobind::def_visitor<Maker>&& maker, const Extra&... extra) {
        base::def(std::move(maker), extra...);
        return *this;
    }
    template <class Getter, class... Extra>
    documented& def_prop_ro(const char* member, Getter&& getter, const Extra&... extra) {
        base::def_prop_ro(member, std::forward<Getter>(getter), extra..., text_of(member));
        return *this;
    }
    template <class Field, class Owner>
    documented& def_ro(const char* member, Field Owner::*field) {
        base::def_ro(member, field, text_of(member));
        return *this;
    }

private:
    const char* text_of(const char* member) const { return stub_text(name_ + "." + member); }

    std::string name_;
};

}  // namespace bindings
