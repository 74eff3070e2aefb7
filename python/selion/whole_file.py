# SPDX-License-Identifier: Apache-2.0
"""Writes a file whole or not at all: a reader never sees half of one, nor one of two writers."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from selion.mistake import Failure


def _permissions() -> int:
    """Those of any file that is made; the system tells them only in exchange for others."""
    hidden = os.umask(0o077)
    os.umask(hidden)
    return 0o666 & ~hidden


def replace_whole(path: Path, content: bytes) -> None:
    """@error OSError, with the file as it was."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), _permissions())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_whole(path: Path, content: str | bytes) -> int:
    """Makes the folder too. @return its bytes. @error Failure if it cannot be written."""
    if isinstance(content, str):  # names of files may have bytes that are no text
        content = content.encode("utf-8", "backslashreplace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, content)
    except OSError as problem:
        raise Failure(f"{path} cannot be written: {problem.strerror}.") from None
    return len(content)
