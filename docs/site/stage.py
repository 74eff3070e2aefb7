# SPDX-License-Identifier: Apache-2.0
"""Lays out what Sphinx reads, in build/docs/source: the project's pages, each where it lies in the
project, and generated pages of the API in api/."""

from __future__ import annotations

import re
from pathlib import Path

import python_pages

_root = Path(__file__).resolve().parents[2]
_stage = _root / "build/docs/source"
_pages = ("README.md", "docs/**/*", "src/**/*.md", "studies/**/*", "examples/**/*.md")
_copied = {".md", ".svg", ".png"}


def project_pages() -> dict[str, bytes]:
    """Pages of the project, and their pictures, where they lie in the project. They are copied:
    Sphinx follows links, and would take each page for one of another place."""
    found = {path for form in _pages for path in _root.glob(form) if path.suffix in _copied}
    return {str(path.relative_to(_root)): path.read_bytes() for path in found}


def write_changed(path: Path, text: bytes) -> None:
    """Keeps the time of a page that is as before, so that Sphinx does not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_bytes() != text:
        path.write_bytes(text)


def header_pages() -> dict[str, str]:
    """A page for each C++ header that docs/reference/cpp-api.md names."""
    listed = (_root / "docs/reference/cpp-api.md").read_text(encoding="utf-8")
    pages = {}
    for name in re.findall(r"\(\.\./\.\./include/selion/(\w+\.hpp)\)", listed):
        title = name
        pages[f"api/cpp/{Path(name).stem}.rst"] = (
            f"{title}\n{'=' * len(title)}\n\n.. doxygenfile:: {name}\n"
        )
    return pages


def main() -> None:
    generated = header_pages() | python_pages.make(_root / "python/selion")
    pages = project_pages() | {name: text.encode() for name, text in generated.items()}
    for name, text in pages.items():
        write_changed(_stage / name, text)
    for path in _stage.rglob("*"):
        if path.is_file() and str(path.relative_to(_stage)) not in pages:
            path.unlink()


if __name__ == "__main__":
    main()
