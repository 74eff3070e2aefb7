# SPDX-License-Identifier: Apache-2.0
"""Files that a program has left open when its process ends, not by the interpreter's hand."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import stat
import sys
from collections.abc import Callable

_buffered = (io.BufferedWriter, io.BufferedRandom, io.BufferedRWPair)


def write_out(*, waits: bool = True) -> None:
    """Does what the interpreter does for them at its end, in silence as well where they cannot be
    written: what is in their buffers is written, and files of Python's own making are closed.
    Standard streams are left alone.

    @param waits for readers of pipes and sockets; else what goes there is left out.
    """
    # What is above others comes first, and is the younger one.
    left = [each for each in reversed(gc.get_objects()) if issubclass(type(each), io.IOBase)]
    spared = _standard_streams()
    steps: list[Callable[[io.IOBase], bool]] = [
        lambda each: isinstance(each, io.TextIOWrapper),
        lambda each: not _is_plain(each) and not isinstance(each, io.TextIOWrapper),
        lambda each: isinstance(each, _buffered),
    ]
    for is_next in steps:
        for each in left:
            if is_next(each) and id(each) not in spared and (waits or not _has_reader(each)):
                with contextlib.suppress(Exception):
                    each.flush() if _is_plain(each) else each.close()


def _is_plain(file: io.IOBase) -> bool:
    """Whether it has nothing to write but what is in its buffer."""
    return type(file).__module__ == "_io"


def _has_reader(file: io.IOBase) -> bool:
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):  # it is none of the system's
        return False


def _standard_streams() -> set[int]:
    """By identity, with what is below them."""
    streams = [sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__]
    below = [getattr(each, "buffer", None) for each in streams]
    return {id(each) for each in (*streams, *below) if each is not None}
