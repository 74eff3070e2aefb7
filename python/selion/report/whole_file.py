# SPDX-License-Identifier: Apache-2.0
"""Writes a file whole or not at all: a reader never sees half of one."""

from __future__ import annotations

from pathlib import Path

from selion.mistake import Failure


def write_whole(path: Path, content: str | bytes) -> int:
    """@return its bytes. @error Failure if it cannot be written."""
    if isinstance(content, str):  # names of files may have bytes that are no text
        content = content.encode("utf-8", "backslashreplace")
    unfinished = path.parent / f"{path.name}.unfinished"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as problem:
        raise Failure(f"{path} cannot be written: {problem.strerror}.") from None
    return len(content)
