# SPDX-License-Identifier: Apache-2.0
"""How a rank of a Python program ends, and what is said of it."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

from selion import output

if TYPE_CHECKING:
    from selion._core import World

_own_frames = ("selion.launch", "selion.rank")


def failure_of(raised: BaseException) -> str:
    """Type and text of an exception, in a line that can be encoded. A sentence that only leads to
    the lines below it, as in "incompatible function arguments. The following types are supported:",
    is left out."""
    told = traceback.TracebackException(type(raised), raised, None)
    told.__notes__ = None
    line, _, below = list(told.format_exception_only())[-1].strip().partition("\n")
    sentences, _, last = line.rpartition(". ")
    kept = sentences if below and sentences and last.endswith(":") else line
    return kept.encode(errors="backslashreplace").decode()


def traceback_of(raised: BaseException) -> str:
    """The traceback as Python prints it, without the frames under the function."""
    frame = raised.__traceback__
    while frame is not None and frame.tb_frame.f_globals.get("__name__") in _own_frames:
        frame = frame.tb_next
    raised.__traceback__ = frame
    return "".join(traceback.format_exception(raised))


def _say(text: str) -> None:
    """On standard error, where the program has not closed it."""
    if output.is_open(sys.stderr):
        sys.stderr.write(text)


class Printing:
    """What becomes of how a rank ends: results are dropped, exceptions are printed."""

    def returned(self, world: World, value: Any) -> None:
        """The function has returned."""

    def left(self, world: World, code: object) -> None:
        """The rank has called sys.exit; None and 0 end it as a return does."""
        if not isinstance(code, int) and code is not None:
            _say(f"{code}\n")

    def raised(self, world: World, exception: BaseException) -> None:
        """Prints a traceback, each line after the rank's number."""
        lines = traceback_of(exception).rstrip().split("\n")
        _say("".join(f"[rank {world.rank}] {line}\n" for line in lines))
