# SPDX-License-Identifier: Apache-2.0
"""C++ that compiles if the library has what a page declares: the declarations as they stand, and
for each of them calls and static assertions. The compiler names lines of the page."""

import re
from collections.abc import Iterable
from dataclasses import replace

from signatures import (
    Alias,
    Class,
    Declaration,
    Enumeration,
    Field,
    Function,
    Parameter,
    Text,
    declarations,
)

# What the page's letters stand for here. They lie where the names of the library need no prefix.
_letters = """
#include <selion/selion.hpp>
#include <selion/spc.hpp>

namespace selion {
using T = double;
using A = std::int64_t;
using I = std::uint64_t;
using Op = plus_operation;
using R = int;
using U = float;
using Arg = short;  // for Args...
using Value = double;
constexpr std::size_t N = 2, M = 1;
struct Struct { int first; int second; };
using Member = int;
using How = distribution<N>;
struct Header { int number; };
struct Handler { arrival operator()(const Header&, message_info) const; };
struct F {
    int operator()(world&) const;
    R operator()(Arg) const;
    U operator()(R) const;
    routine_call<> operator()(std::size_t, std::size_t) const;
    template <class... Anything> void operator()(Anything&&...) const;
};
using signal_update = detail::signal_update;  // programs need not name it
constexpr std::uint64_t board_memory = spc::spc_server::board_memory;

// Where these differ the compiler's message has both types.
template <class T> struct type {};
template <class Shown> constexpr bool shows(type<Shown>) { return true; }
}

// Not every compiler has structs with strings as constants.
#ifdef __clang__
#define SHOWN_VALUE(...) static_assert(sizeof(__VA_ARGS__) > 0)
#else
#define SHOWN_VALUE(...) static_assert((__VA_ARGS__), "another value at first")
#endif
"""


def source_of(blocks: Iterable[Text]) -> str:
    """A file that compiles if all declarations of the blocks are the library's."""
    parts = [_letters]
    for number, block in enumerate(blocks):
        scope = "selion::spc" if re.search(r"\bspc_\w+", block.text) else "selion"
        checks = "".join(_check(each, scope) for each in declarations(block))
        parts.append(
            f"namespace {scope}::declared_{number} {{\n{_at(block, block.text)}}}\n"
            f"namespace {scope}::called_{number} {{\n{checks}}}\n"
        )
    return "".join(parts)


def _at(place: Text, code: str) -> str:
    return f'#line {place.line} "{place.page}"\n{code}\n'


def _same(place: Text, found: str, shown: str) -> str:
    return _at(place, f"static_assert(selion::shows<{shown}>(selion::type<{found}>{{}}));")


def _check(declared: Declaration, scope: str) -> str:
    match declared:
        case Class():
            return _check_class(declared, scope)
        case Enumeration():
            return _check_enumeration(declared, f"{scope}::{declared.name}")
        case Alias():
            return _same(declared.place, f"{scope}::{declared.name}{declared.letters}",
                         declared.type)
        case Function():
            return _check_calls(declared, f"{scope}::{declared.name}{declared.letters}")
        case Field():
            raise declared.place.unreadable()


def _check_enumeration(shown: Enumeration, name: str) -> str:
    """That it has these values, no others, in this order."""
    values = [f"{name}::{value}" for value in shown.values]
    cases = " ".join(f"case {value}:" for value in values)
    checks = [f'static_assert(static_cast<int>({value}) == {number}, "another order of values");'
              for number, value in enumerate(values)]
    checks.append(f"inline void values_of({name} value) {{ switch (value) {{ {cases} break; }} }}")
    if not shown.underlying:
        return _at(shown.place, " ".join(checks))
    underlying = _same(shown.place, f"std::underlying_type_t<{name}>", shown.underlying)
    return underlying + _at(shown.place, " ".join(checks))


def _check_class(shown: Class, scope: str) -> str:
    name = f"{scope}::{shown.name}{shown.letters}"
    checks = [_at(shown.place, f"static_assert(sizeof({name}) > 0);")]
    if shown.base:
        checks.append(_at(shown.place, f"static_assert(std::is_base_of_v<{shown.base}, {name}>);"))
    inner = {member.name: f"{name}::{member.name}" for member in shown.members
             if isinstance(member, Class)}
    names = {shown.name: name} | inner
    for member in shown.members:
        if isinstance(member, Function):
            checks.append(_check_member(_with_full_names(member, names), shown, name))
        elif not isinstance(member, Field):  # those are checked together
            checks.append(_check(member, name))
    return "".join(checks) + _check_fields(shown, name)


def _with_full_names(function: Function, names: dict[str, str]) -> Function:
    """The class and its inner classes may be named without their scopes in its members."""

    def full(text: str) -> str:
        for name, full_name in names.items():
            text = re.sub(rf"(?<![\w:]){name}\b(?!<)", full_name, text)
        return text

    parameters = [replace(each, type=full(each.type)) for each in function.parameters]
    return replace(function, result=full(function.result), parameters=parameters)


def _check_member(member: Function, shown: Class, name: str) -> str:
    if any("Struct::*" in each.type for each in member.parameters):
        name = name.replace("<T>", "<Struct>")
    reference = "&&" if member.is_of_rvalues else "&"
    own = f"std::declval<{'const ' if member.is_const else ''}{name}{reference}>()"
    if member.name.startswith("operator "):
        target = member.name.removeprefix("operator ")
        checks = _same(member.place, f"decltype(static_cast<{target}>({own}))", target)
        return checks + _check_explicit(member, f"decltype({own})", target)
    if not member.result:
        if member.name != shown.name:
            raise member.place.unreadable()
        checks = _check_calls(replace(member, result=name), name)
        if sum(not each.default for each in member.parameters) == 1:
            checks += _check_explicit(member, _argument_type(member.parameters[0]), name)
        return checks
    if member.is_static:
        return _check_calls(member, f"{name}::{member.name}{member.letters}")
    return _check_calls(member, f"{own}.{member.name}{member.letters}")


def _check_explicit(function: Function, source: str, target: str) -> str:
    converts = f"std::is_convertible_v<{source}, {target}>"
    if function.is_explicit:
        return _at(function.place, f'static_assert(!{converts}, "it is not explicit");')
    return _at(function.place, f'static_assert({converts}, "it is explicit");')


def _check_calls(function: Function, callee: str) -> str:
    """A call with all arguments, and calls without those that have defaults."""
    least = sum(not each.default for each in function.parameters)
    arguments = [_argument(each) for each in function.parameters]
    result = function.result.replace("Args...", "Arg")
    return "".join(
        _same(function.place, f"decltype({callee}({', '.join(arguments[:count])}))", result)
        for count in range(least, len(arguments) + 1)
    )


def _argument_type(parameter: Parameter) -> str:
    return parameter.type.replace("Args...", "Arg")


def _argument(parameter: Parameter) -> str:
    """Of exactly the type that is shown: an rvalue where that is no reference."""
    return f"std::declval<{_argument_type(parameter)}>()"


def _check_fields(shown: Class, name: str) -> str:
    """That it has these fields, no others, in this order, with these values at first."""
    if not shown.fields:
        return ""
    checks = [
        _same(each.place, f"decltype({name}::{each.name})", each.type) for each in shown.fields
    ]
    checks += [
        _at(each.place, f"SHOWN_VALUE({name}{{}}.{each.name} == {each.default});")
        for each in shown.fields if each.default not in ("", "{}")
    ]
    names = ", ".join(each.name for each in shown.fields)
    if not any(isinstance(each, Function) for each in shown.members):  # one may initialise them
        values = ", ".join(f".{each.name} = std::declval<{each.type}>()" for each in shown.fields)
        checks.append(_same(shown.place, f"decltype({name}{{{values}}})", name))
    checks.append(_at(shown.place, f"inline void fields_of(const {name}& all) {{ "
                                   f"const auto& [{names}] = all; }}"))
    return "".join(checks)
