# SPDX-License-Identifier: Apache-2.0
"""The version, which is written down once: in the top-level CMakeLists.txt."""

from __future__ import annotations

import re
from pathlib import Path

_project_line = re.compile(r"^\s*project\s*\(\s*selion\s+VERSION\s+([0-9][0-9.]*)", re.MULTILINE)


def version() -> str:
    """Version of the source tree that this package lies in, else of the installed package."""
    lists = Path(__file__).resolve().parents[2] / "CMakeLists.txt"
    if lists.is_file():
        found = _project_line.search(lists.read_text(encoding="utf-8"))
        if found:
            return found.group(1)
    from importlib import metadata  # takes longer than all else that `import selion` reads

    try:
        return metadata.version("selion")
    except metadata.PackageNotFoundError:
        return "unknown"
