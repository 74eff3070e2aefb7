# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and SIGHUP as one exception, for commands that keep what they have."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType

import typer

from selion.cli.output import complain

_signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_same_wish_seconds = 1.0


class Interrupted(KeyboardInterrupt):
    """@param number of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Ear:
    """What comes within a second of a signal is the same wish: `timeout` sends each twice, and the
    second must not keep us from putting things in order."""

    def __init__(self) -> None:
        self._heard_at = -_same_wish_seconds

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now >= self._heard_at + _same_wish_seconds:
            self._heard_at = now
            raise Interrupted(number)


@contextlib.contextmanager
def answered(command: str, sentence: str) -> Iterator[None]:
    """Ends a command with a sentence, and 128 + the number of the signal: the process is to end
    then. What whoever started us has ignored stays ignored."""
    ear = _Ear()
    handlers = {each: signal.getsignal(each) for each in _signals}
    for each, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(each, ear)
    try:
        yield
        for each, handler in handlers.items():
            signal.signal(each, handler)
    except Interrupted as end:
        # The same wish may come again while the interpreter ends, which takes its handlers off.
        for each in _signals:
            signal.signal(each, signal.SIG_IGN)
        with contextlib.suppress(OSError):  # with SIGHUP the terminal may be gone
            complain(command, sentence)
        raise typer.Exit(128 + end.number) from None
