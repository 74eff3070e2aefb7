# SPDX-License-Identifier: Apache-2.0
"""Writes the docstrings of a stub file as a table of C++: what `help()` shows of compiled classes.

Usage: stub_texts.py STUB TABLE
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path


def texts_of(stub: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and docstring of each class and of its members; of overloads, the one that has it."""
    for owner in stub.body:
        if not isinstance(owner, ast.ClassDef):
            continue
        yield owner.name, ast.get_docstring(owner) or ""
        for member in owner.body:
            if isinstance(member, ast.FunctionDef):
                yield f"{owner.name}.{member.name}", ast.get_docstring(member) or ""


def main() -> None:
    """Sorted by name, without those that have no text."""
    source, table = (Path(word) for word in sys.argv[1:])
    stub = ast.parse(source.read_text(encoding="utf-8"))
    found = sorted({name: text for name, text in texts_of(stub) if text}.items())
    lines = [f'{{"{name}", R"text({text})text"}},' for name, text in found]
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
