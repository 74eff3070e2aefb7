# SPDX-License-Identifier: Apache-2.0
"""The tables of contents. They stand here and not in the pages, which are read without Sphinx too:
what is listed for a page is added to its text when Sphinx reads it."""

from __future__ import annotations

from typing import Any

# Where the order matters it is given; * takes what is left, by name.
_front = {
    "Tutorial": ["docs/tutorial/first-steps", "docs/tutorial/*"],
    "How to": [
        "docs/howto/install", "docs/howto/run-a-program", "docs/howto/*",
    ],
    "Reference": [
        "docs/reference/cpp-api", "docs/reference/python-api", "docs/reference/*", "docs/glossary",
    ],
    "Design": [
        "docs/design/architecture", "docs/design/*", "docs/adr/README", "docs/notes",
    ],
    "Studies": ["studies/**"],
    "Project": ["README"],
}
_below = {
    "docs/adr/README": ["docs/adr/0*"],
    "docs/reference/cpp-api": ["api/cpp/*"],
    "docs/reference/python-api": ["api/python/*"],
    "docs/notes": ["src/**", "examples/**"],
}


def toctree(entries: list[str], caption: str = "") -> str:
    option = f":caption: {caption}\n" if caption else ""
    listed = "\n".join(f"/{entry}" for entry in entries)
    return f"\n\n```{{toctree}}\n:hidden:\n:glob:\n{option}\n{listed}\n```\n"


def add_contents(app: Any, page: str, text: list[str]) -> None:
    if page == app.config.root_doc:
        for caption, entries in _front.items():
            text[0] += toctree(entries, caption)
    elif page in _below:
        text[0] += toctree(_below[page])


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", add_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
