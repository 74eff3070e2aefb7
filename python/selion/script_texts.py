# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of what a Python program runs, so that ranks of many hosts can compare them."""

from __future__ import annotations

import contextlib
import hashlib
import sys
import sysconfig
from pathlib import Path


def _of_file(path: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        digest = hashlib.blake2b(Path(path).read_bytes(), digest_size=8).digest()
        return int.from_bytes(digest, "little")
    return None


def of_program() -> int:
    """Of the text of the program that this interpreter runs; 0 if it is none of a file."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return 0 if path is None else _of_file(path) or 0


def of_modules() -> dict[str, int]:
    """Of the texts of modules that are loaded now, by name: the user's own, not what comes with the
    interpreter or has been installed."""
    installed = [f"{path}/" for path in sysconfig.get_paths().values()]
    found: dict[str, int] = {}
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(path, str) or not path.endswith(".py"):
            continue
        is_own = name == "selion" or name.startswith("selion.")
        if is_own or any(path.startswith(folder) for folder in installed):
            continue
        text = _of_file(path)
        if text is not None:
            found[name] = text
    return found
