# SPDX-License-Identifier: Apache-2.0
"""Exceptions that handlers of signals have raised while something else ran."""

from __future__ import annotations

import opcode
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

_raise = opcode.opmap["RAISE_VARARGS"]
_star_args = 0x04  # of `co_flags`


def is_one(exception: BaseException) -> bool:
    """Whether a handler of a signal has raised it. Those run in a process' first thread."""
    if threading.get_ident() != threading.main_thread().ident:
        return False
    trace, last = exception.__traceback__, None
    while trace is not None:
        if _is_handler(trace.tb_frame):
            return True
        trace, last = trace.tb_next, trace
    # Python's own handler of Ctrl-C has no frame, and no line of a program has raised what it does.
    return isinstance(exception, KeyboardInterrupt) and not (last and _has_raised(last))


def _is_handler(frame: FrameType) -> bool:
    """Only they are given a number, and the frame that goes on behind them. Partial objects put
    more in front."""
    given = list(_positional(frame))
    return frame.f_back is not None and any(
        each is frame.f_back and isinstance(number, int)
        for number, each in zip(given, given[1:], strict=False)
    )


def _positional(frame: FrameType) -> Iterator[Any]:
    code, values = frame.f_code, frame.f_locals
    for name in code.co_varnames[: code.co_argcount]:
        yield values.get(name)
    if code.co_flags & _star_args:
        rest = values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        yield from rest if isinstance(rest, tuple) else ()


def _has_raised(trace: TracebackType) -> bool:
    """Whether the frame has raised by itself: not within a call, nor between two steps."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _raise
