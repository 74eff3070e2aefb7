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


def is_special(path: Path) -> bool:
    """Whether what stands there is neither a file nor a folder, but a device or a pipe."""
    return path.exists() and not (path.is_file() or path.is_dir())


def replace_whole(path: Path, content: bytes) -> None:
    """Where the path is a link, it stays one, and what it leads to is replaced.

    @error OSError, with the file as it was.
    """
    path = Path(os.path.realpath(path))
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
    """Makes the folder too. A device or a pipe takes the content as it comes, and stays.

    @return its bytes. @error Failure if it cannot be written.
    """
    if isinstance(content, str):  # names of files may have bytes that are no text
        content = content.encode("utf-8", "backslashreplace")
    try:
        if is_special(path):
            path.write_bytes(content)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_whole(path, content)
    except OSError as problem:
        raise Failure(f"{path} cannot be written: {problem.strerror}.") from None
    return len(content)
