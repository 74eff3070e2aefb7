# SPDX-License-Identifier: Apache-2.0
"""The page of the C++ API declares what the library has: results, arguments and defaults of its
functions, fields of its structs, values of its enumerations. It leaves no name out."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from header_text import names_in, parameter_lists, public_headers, takes_any_number
from pages import Page, root
from signature_checks import source_of
from signatures import (
    Text,
    Unreadable,
    declarations,
    functions_of,
    marked_blocks,
    unmarked_signatures,
)

_name = "docs/reference/cpp-api.md"
_page = Page(_name, (root / _name).read_text(encoding="utf-8"))

# Names that the page need not have.
_not_for_programs = {
    "counter_access": "for the library's own inline functions",
    "collective_kinds": "the number of values of collective_kind",
    "every_index": "the type of every",
    "header_handler": "the page says in words what it asks for",
    **dict.fromkeys(
        ["plus_operation", "times_operation", "minimum_operation", "maximum_operation"],
        "the types of plus and its like",
    ),
}


def complaints(page: Page, folder: Path) -> list[str]:
    """What the compiler has against the declarations of a page, by line."""
    (folder / "signatures.cpp").write_text(source_of(marked_blocks(page)), encoding="utf-8")
    done = subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-Werror=switch",
         "-I", root / "include", "signatures.cpp"],
        cwd=folder, env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True,
    )
    if done.returncode == 0:
        return []
    return errors_by_line(page.name, done.stderr) or done.stderr.splitlines()[:20]


def errors_by_line(name: str, said: str) -> list[str]:
    """The first error of each line of a page, with the numbers that a note adds."""
    found: dict[int, str] = {}
    pattern = rf"^{re.escape(name)}:(\d+):(?:\d+:)? (error|note): (.*)$"
    for line, kind, text in re.findall(pattern, said, re.M):
        if kind == "error":
            found.setdefault(int(line), text)
        elif int(line) in found and re.search(r"reduces to|decomposes into", text):
            found[int(line)] = f"{found[int(line)].partition(chr(10))[0]}\n    {text}"
    return [f"{name}:{line}: {text}" for line, text in sorted(found.items())]


def misnamed_parameters(page: Page) -> list[str]:
    """Functions whose parameters have other names, another order or other defaults in the headers.
    Those of a parameter pack have names on the page alone, and a macro makes the `_i32` of spc.hpp
    along with seven other types."""
    found = []
    for function in functions_of([each for block in marked_blocks(page)
                                  for each in declarations(block)]):
        shown = [(each.name or each.type.split("::")[-1], each.default)
                 for each in function.parameters]
        if not shown or shown in parameter_lists(function.name):
            continue
        if not takes_any_number(function.name) and not function.name.endswith("i32"):
            found.append(f"{page.name}:{function.place.line}: {function.place.in_one_line}")
    return found


def unnamed(page: Page, headers: list[str]) -> set[str]:
    """What the headers declare and no code of the page has."""
    code = " ".join(re.findall(r"^```.*?^```|`[^`\n]+`", page.text, re.M | re.S))
    return set().union(*map(names_in, headers)) - set(re.findall(r"\w+", code))


def test_the_library_has_what_the_page_declares(tmp_path):
    found = complaints(_page, tmp_path)
    assert not found, "\n".join(found)


def test_parameters_are_named_as_in_the_headers():
    found = misnamed_parameters(_page)
    assert not found, "\n".join(found)


def test_all_signatures_are_checked():
    assert unmarked_signatures(_page) == []
    assert len(marked_blocks(_page)) >= 30


def test_all_public_names_are_on_the_page():
    assert unnamed(_page, public_headers()) == set(_not_for_programs)


# --- the checks can fail --------------------------------------------------------------------------

_wrong = {
    "void put(const T& value, global_ptr<T> target);": "no matching function for call to 'put(",
    "T quiet();": "from 'type<void>' to 'type<double>'",
    "void no_such_function();": "no_such_function",
    "int barrier(no_such_type what);": "no_such_type",
    "std::uint32_t usable_cores(int of_all = 0);": "too many arguments",
    "void get(std::span<const T> target, global_ptr<T> source);": "no matching function",
    "class rank_id { explicit rank_id(std::uint32_t value); };": "it is not explicit",
    "class world { T no_such_member() const; };": "no_such_member",
    "class team { int size() const; };": "type<int>",
    "struct stride { std::size_t count; std::ptrdiff_t source; std::ptrdiff_t target; };": "order",
    "struct tuning_place { std::string host; };": "1 name",
    "struct mesh_shape { int rows = 1; std::uint32_t columns = 1; std::uint32_t ranks = 0; };":
        "type<int>",
    "struct schedule_request { std::uint32_t radix = 3; };": "another value at first",
    "enum class cache_protocol : std::uint16_t { where_needed, always };": "type<",
    "enum class sync_mode { none, mine };": "'all' not handled",
    "enum class meter_kind { hardware, software };": "another order of values",
    "using model_time = std::chrono::nanoseconds;": "type<",
}


def page_of(*lines: str) -> Page:
    return Page("sample.md", f"<!-- declarations -->\n```text\n{chr(10).join(lines)}\n```\n")


def test_each_wrong_signature_is_found(tmp_path):
    found = complaints(page_of(*_wrong), tmp_path)
    lines = dict(re.match(r"sample\.md:(\d+): (.*)", each).groups() for each in found)
    assert list(map(int, lines)) == list(range(3, 3 + len(_wrong)))
    if "clang" not in os.environ.get("CXX", ""):  # whose words are others
        for said, expected in zip(lines.values(), _wrong.values(), strict=True):
            assert expected in said


@pytest.mark.parametrize(
    "text",
    ["int f(int)", "int f(int n", "int f(int);", "f;", "struct s { int };", "class c;",
     "enum class e { a = 1 };", "int f(int n) { return n; }", "auto f(int n) -> int;"],
)
def test_what_cannot_be_read_is_an_error(text):
    with pytest.raises(Unreadable, match="a.md:8: not understood"):
        declarations(Text("a.md", 7, f"void quiet();  // waits\n{text}\n"))


def test_a_block_without_the_mark_is_found():
    page = Page("a.md", "```text\nvoid quiet();\n```\n```cpp\nselion::quiet();\n```\n")
    assert unmarked_signatures(page) == ["void quiet();"]


def test_other_names_of_parameters_are_found():
    right = "A compare_swap(global_ptr<A> target, A expected, A desired);"
    swapped = "A compare_swap(global_ptr<A> target, A desired, A expected);"
    other_default = "void count(const char* name, std::int64_t amount = 2);"
    found = misnamed_parameters(page_of(right, swapped, other_default))
    assert found == [f"sample.md:4: {swapped[:-1]}", f"sample.md:5: {other_default[:-1]}"]


def test_a_name_that_is_left_out_is_found():
    header = """
        namespace selion {
        namespace detail { void hidden(); }
        template <class T> requires(sizeof(T) > 1) inline T first(T x = {}) noexcept { return x; }
        class SELION_API second final { void member(); };  // third()
        enum class fourth { value };
        }  // namespace selion
        namespace selion::inner { void deep(); }
    """
    assert names_in(header) == {"first", "second", "fourth"}
    assert unnamed(Page("a.md", "first: `second(x)`"), [header]) == {"first", "fourth"}
