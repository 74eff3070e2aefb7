# SPDX-License-Identifier: Apache-2.0
"""What can be said of any text file: licence line, width, leftovers."""

import re

from project_files import all_files, commented_files, cpp_files, read

# Split, so that this file passes its own check.
_leftovers = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
_foreign_paths = re.compile(r"(?<![\w./-])/(ro" r"ot|wo" r"rk|home/\w+)/")
_licence = r"SPDX-License-Identifier: Apache-2\.0"
_statement = re.compile(r"^\s*//(?!/)(?:.*(?:\w\(|=|->|::).*[;{]| *\}+;?)\s*$")
_text_suffixes = (".md", ".txt", ".toml", ".json", ".in", ".yml")


def has_licence(text: str) -> bool:
    lines = text.split("\n")
    first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
    return re.fullmatch(r"((//|#) {0}|/\* {0} \*/)".format(_licence), first) is not None


def wide_lines(text: str) -> list[int]:
    return [number for number, line in enumerate(text.split("\n"), 1) if len(line) > 100]


def leftovers(text: str) -> list[str]:
    return [match.group() for form in (_leftovers, _foreign_paths) for match in form.finditer(text)]


def commented_out(text: str) -> list[int]:
    """Lines of comment that end as code does."""
    return [number for number, line in enumerate(text.split("\n"), 1) if _statement.match(line)]


def test_licence_line():
    assert [name for name in commented_files() if not has_licence(read(name))] == []


def test_width():
    found = {name: wide_lines(read(name)) for name in commented_files()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_no_leftovers():
    names = {*commented_files(), *(f for f in all_files() if f.endswith(_text_suffixes))}
    found = {name: leftovers(read(name)) for name in sorted(names)}
    assert {name: words for name, words in found.items() if words} == {}


def test_no_code_in_comments():
    found = {name: commented_out(read(name)) for name in cpp_files()}
    assert {name: lines for name, lines in found.items() if lines} == {}


# --- the checks can fail --------------------------------------------------------------------------


def test_a_missing_licence_line_is_found():
    assert not has_licence("#pragma once\n")
    assert not has_licence("// SPDX-License-Identifier: MIT\n")
    assert has_licence("#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
    assert has_licence("/* SPDX-License-Identifier: Apache-2.0 */\n#pragma once\n")


def test_a_wide_line_is_found():
    assert wide_lines("a\n" + "b" * 101 + "\n" + "c" * 100) == [2]


def test_leftovers_are_found():
    assert leftovers("// TO" "DO: later") and leftovers("see /wo" "rk/x") and leftovers("FIX" "ME")
    assert not leftovers("build/work/x and todo lists")


def test_code_in_comments_is_found():
    assert commented_out("int a;\n// int b = f(a);\n// while(a) {\n// }\n") == [2, 3, 4]
    assert not commented_out("// A sentence;\n// and more.\n/// world.barrier();\nint a;  // b;\n")
