# SPDX-License-Identifier: Apache-2.0
"""What handlers of signals raise while a pool is at work: it is the program's, and no call's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")


class Attempt(NamedTuple, Generic[Value]):
    """What something of the program's has come to.

    :param trouble: what it has raised, instead of a value
    :param meanwhile: what a handler has raised while it ran
    """

    value: Value | None
    trouble: BaseException | None
    meanwhile: BaseException | None

    @property
    def own_trouble(self) -> BaseException | None:
        """What it has raised. What a handler has is raised here."""
        if self.meanwhile is not None:
            raise self.meanwhile
        return self.trouble


def attempt(what: Callable[[], Value]) -> Attempt[Value]:
    """Calls what raises exceptions of any type itself: another attempt tells whether the first
    one's was its own. Handlers run on the main thread only. An interrupt is raised at once there.
    """
    is_main = threading.current_thread() is threading.main_thread()
    try:
        return Attempt(what(), None, None)
    except BaseException as trouble:
        if not is_main:
            return Attempt(None, trouble, None)
        if isinstance(trouble, KeyboardInterrupt):
            raise
        first = trouble
    try:
        return Attempt(what(), None, first)
    except KeyboardInterrupt:
        raise
    except BaseException as second:
        return Attempt(None, second, None if type(first) is type(second) else first)


def tried(what: Callable[[], Value]) -> tuple[Value | None, Exception | None]:
    """Value, or why there is none; what is no `Exception`, or a handler's, is raised."""
    done = attempt(what)
    trouble = done.own_trouble
    if trouble is None or isinstance(trouble, Exception):
        return done.value, trouble
    raise trouble


def is_of_handler(trouble: BaseException) -> bool:
    """Of an exception that has come out of a call to the library: whether a handler has raised it,
    which leaves a frame of its own."""
    trace = trouble.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return not name.startswith("selion.offload.")
