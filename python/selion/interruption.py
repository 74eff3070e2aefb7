# SPDX-License-Identifier: Apache-2.0
"""Exceptions that handlers of signals have raised while something else ran."""

from __future__ import annotations

import dis
import functools
import opcode
import signal
import threading
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, MethodType, TracebackType
from typing import Any

_raise = opcode.opmap["RAISE_VARARGS"]
_star_args = 0x04  # of `co_flags`
_changes = ("STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_DEREF")  # with what they go with


def is_one(exception: BaseException) -> bool:
    """Whether a handler of a signal has raised it. Those run in a process' first thread."""
    if threading.get_ident() != threading.main_thread().ident:
        return False
    handlers = set(map(_code_of, map(signal.getsignal, signal.valid_signals())))
    trace, last = exception.__traceback__, None
    while trace is not None:
        if _is_handler(trace.tb_frame, handlers):
            return True
        trace, last = trace.tb_next, trace
    # Python's own handler of Ctrl-C has no frame, and no line of a program has raised what it does.
    return isinstance(exception, KeyboardInterrupt) and not (last and _has_raised(last))


def _code_of(handler: Any) -> CodeType | None:
    """What runs where it is called; None: nothing of Python's."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    if isinstance(handler, type):
        handler = handler.__init__  # type: ignore[misc]
    elif callable(handler) and not isinstance(handler, (FunctionType, MethodType)):
        handler = type(handler).__call__
    return getattr(getattr(handler, "__func__", handler), "__code__", None)


def _is_handler(frame: FrameType, handlers: set[CodeType | None]) -> bool:
    """Whether a signal has called the frame, and not a program, which may call the same function.
    Handlers are given a number, and the frame that goes on behind them."""
    is_installed = frame.f_code in handlers
    # One that puts another in its own place, as the second Ctrl-C is often to end a program.
    is_likely = is_installed or "signal" in frame.f_code.co_names
    if frame.f_back is None or not is_likely:
        return False
    given = list(_positional(frame))
    return any(
        each is frame.f_back and (is_installed or isinstance(number, int))
        for number, each in zip([None, *given], given, strict=False)
    ) or (is_installed and _changes_arguments(frame.f_code))


def _positional(frame: FrameType) -> Iterator[Any]:
    """Partial objects put more in front."""
    code, values = frame.f_code, frame.f_locals
    for name in code.co_varnames[: code.co_argcount]:
        yield values.get(name)
    for name in _name_of_rest(code):
        rest = values.get(name)
        yield from rest if isinstance(rest, tuple) else ()


def _name_of_rest(code: CodeType) -> tuple[str, ...]:
    first = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[first : first + bool(code.co_flags & _star_args)]


def _changes_arguments(code: CodeType) -> bool:
    """Whether it puts something else into their variables, or clears them."""
    arguments = {*code.co_varnames[: code.co_argcount], *_name_of_rest(code)}
    return any(
        arguments.intersection(each.argval if isinstance(each.argval, tuple) else (each.argval,))
        for each in dis.get_instructions(code)
        if each.opname.startswith(_changes)
    )


def _has_raised(trace: TracebackType) -> bool:
    """Whether the frame has raised by itself: not within a call, nor between two steps."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _raise
