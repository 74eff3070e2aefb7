# SPDX-License-Identifier: Apache-2.0
"""Files of at most 500 lines (800 with an exception), public headers 300, functions 70 lines,
control blocks nested at most 3 deep."""

import ast

import cpp_text
from project_files import commented_files, cpp_files, read
from ratchet import differences, exceptions

soft_limit, hard_limit, header_limit, function_limit, nesting_limit = 500, 800, 300, 70, 3


def python_functions(text: str) -> list[tuple[str, int]]:
    """Names and lengths of functions that are not within another function."""

    def within(node: ast.AST) -> list[tuple[str, int]]:
        found = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append((child.name, child.end_lineno - child.lineno + 1))
            elif isinstance(child, ast.ClassDef):
                found += within(child)
        return found

    return within(ast.parse(text))


def long_functions(name: str, text: str) -> dict[str, int]:
    if name.endswith(".py"):
        sizes = python_functions(text)
    else:
        sizes = [(block.name, block.lines) for block in cpp_text.functions(text)]
    return {f"{name}: {function}": n for function, n in sizes if n > function_limit}


def deep_files(name: str, text: str) -> dict[str, int]:
    depth = max((depth for _, depth in cpp_text.deepest_nesting(text)), default=0)
    return {name: depth} if depth > nesting_limit else {}


def long_files(sizes: dict[str, int]) -> dict[str, int]:
    def limit(name: str) -> int:
        return header_limit if name.startswith("include/") else soft_limit

    return {name: size for name, size in sizes.items() if size > limit(name)}


def test_files():
    sizes = {name: read(name).count("\n") for name in commented_files()}
    assert not {name: size for name, size in sizes.items() if size > hard_limit}
    assert differences(long_files(sizes), exceptions("file_lines")) == []


def test_functions():
    found = {}
    for name in [*cpp_files(), *(f for f in commented_files() if f.endswith(".py"))]:
        found |= long_functions(name, read(name))
    assert differences(found, exceptions("function_lines")) == []


def test_nesting():
    found = {}
    for name in cpp_files():
        found |= deep_files(name, read(name))
    assert differences(found, exceptions("nesting")) == []


# --- the checks can fail --------------------------------------------------------------------------

_sample = """
namespace selion {{
// A brace in a comment {{ and one in a "string {{"
template <class T>
    requires std::integral<T>
std::vector<T> room::of(const T& value,
                        std::string_view name) const {{
    auto inner = [&](int n) {{
        return n;
    }};
{filler}
}}
class alignas(64) other {{
    void f() {{ g("}}"); }}
    other(int a) : value_{{a}}, list_(a) {{
        g();
    }}
    int value_{{0}};
    std::vector<int> list_ = {{1, 2}};
}};
}}  // namespace selion
"""


def test_long_functions_are_found():
    short = _sample.format(filler="    g();\n" * 59)
    long = _sample.format(filler="    g();\n" * 70)
    assert long_functions("a.cpp", short) == {}
    assert list(long_functions("a.cpp", long)) == ["a.cpp: room::of"]
    assert long_functions("a.py", "def f():\n" + "    g()\n" * 70) == {"a.py: f": 71}


def test_functions_are_told_from_other_braces():
    names = [block.name for block in cpp_text.functions(_sample.format(filler=""))]
    assert names == ["room::of", "f", "other"]


def test_deep_nesting_is_found():
    body = "void f() { for (;;) { if (a) { while (b) { %s } } } }"
    assert deep_files("a.cpp", body % "g();") == {}
    assert deep_files("a.cpp", body % "if (c) { g(); }") == {"a.cpp": 4}


def test_long_files_are_found():
    assert long_files({"src/a.cpp": 500, "include/selion/a.hpp": 300}) == {}
    assert long_files({"src/a.cpp": 501, "include/selion/a.hpp": 301}) == {
        "src/a.cpp": 501, "include/selion/a.hpp": 301,
    }
