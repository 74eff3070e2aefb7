# SPDX-License-Identifier: Apache-2.0
"""Files that a program has left open when its process ends, not by the interpreter's hand."""

from __future__ import annotations

import _io
import contextlib
import gc
import io
import os
import stat
import sys
import threading
from collections.abc import Callable
from typing import Any

_buffered = (io.BufferedWriter, io.BufferedRandom, io.BufferedRWPair)
_lock_seconds = 1.0  # that a thread may take which writes to a buffer: as at the interpreter's end


def write_out(*, waits: bool = True, closes: bool = True) -> None:
    """Does what the interpreter does for them at its end, in silence as well where they cannot be
    written: what is in their buffers is written, and files of Python's own making are closed.
    Standard streams are left alone.

    @param waits for readers of pipes and sockets; else what goes there is left out.
    @param closes else files of Python's own making are flushed, and can be written to further.
    """
    # What is above others comes first, and is the younger one, in lists of the younger ones.
    left = [
        each
        for generation in range(3)
        for each in reversed(gc.get_objects(generation))
        if issubclass(type(each), _io._IOBase)
    ]
    steps: list[Callable[[Any], bool]] = [
        lambda each: isinstance(each, io.TextIOWrapper),
        lambda each: not (_is_plain(each) or isinstance(each, (io.TextIOWrapper, io.RawIOBase))),
        lambda each: isinstance(each, _buffered) and _is_plain(each),
        lambda each: isinstance(each, io.RawIOBase) and not _is_plain(each),
    ]
    spared = _standard_streams()
    for is_next in steps:
        for each in left:
            with contextlib.suppress(BaseException):
                if id(each) in spared or not is_next(each):
                    continue
                if any(id(below) in spared for below in _with_below(each)):
                    each.flush()  # its end would be that of a standard stream
                elif not _has_reader(each) or (waits and _is_free(each)):
                    each.close() if closes and not _is_plain(each) else each.flush()


def _is_plain(file: io.IOBase) -> bool:
    """Whether it has nothing to write but what is in its buffer."""
    return type(file).__module__ == "_io"


def _with_below(file: Any) -> list[Any]:
    """The file, and what it writes to."""
    buffer = getattr(file, "buffer", file)
    return [file, buffer, getattr(buffer, "raw", None)]


def _has_reader(file: Any) -> bool:
    if any(isinstance(each, io.BufferedRWPair) for each in _with_below(file)):
        return True
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except Exception:  # it is none of the system's, or closed
        return False


def _is_free(file: Any) -> bool:
    """Whether no thread of the program is within a write to it, which holds the buffer's lock: one
    that goes on while the process ends may wait there for ever."""
    buffer = _with_below(file)[1]
    if not (_is_plain(buffer) and isinstance(buffer, _buffered)):
        return True
    look = threading.Thread(target=_touch, args=(buffer,), daemon=True)
    look.start()
    look.join(_lock_seconds)
    return not look.is_alive()


def _touch(buffer: io.BufferedWriter) -> None:
    """Takes its lock, and writes nothing."""
    with contextlib.suppress(Exception):
        buffer.write(b"")


def _standard_streams() -> set[int]:
    """By identity, with what is below them."""
    streams = [sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__]
    return {id(each) for one in streams for each in _with_below(one) if each is not None}
