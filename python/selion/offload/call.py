# SPDX-License-Identifier: Apache-2.0
"""A call of a pool, as its caller has it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selion.offload.pool import Pool


class Skipped(CancelledError):
    """No worker had begun a call when it was cancelled."""


class _Waiters(list[Any]):
    """Who waits for a future by way of `concurrent.futures.wait` and `as_completed`."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self._pool = pool

    def append(self, waiter: Any) -> None:
        super().append(waiter)
        self._pool._collector.start()


class Call(Future[Any]):
    """Who asks for its result drives the pool until it is there."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self._pool = pool
        self._waiters = _Waiters(pool)
        self._started: Any = None
        self._block = 0
        self._lent: tuple[int, ...] = ()
        self._held: tuple[Any, ...] = ()  # what the worker uses in shared memory
        self._fetched: Any = None  # what of a long result comes next
        self._is_given_up = False
        self._has_turn = False  # who waits for it may wait for workers

    def _told(self, trouble: Exception) -> str:
        """Says it of the program's function: all are calls of one routine to their workers."""
        function = self._held[0].name if self._held else "a call"
        return str(trouble).replace('routine "selion.python"', function)

    def result(self, timeout: float | None = None) -> Any:
        if not super().done():
            self._pool._drive(self, timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if not super().done():
            self._pool._drive(self, timeout)
        return super().exception(0)

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        super().add_done_callback(fn)
        if not super().done():
            self._pool._collector.start()

    def done(self) -> bool:
        """Whether `result` would return at once. Looks for the result, and waits for nobody."""
        if not super().done():
            self._pool._look_for(self)
        return super().done()

    def running(self) -> bool:
        """Whether a worker has it: then it cannot be cancelled any more."""
        return not self.done() and self._pool._has_worker(self)

    def cancel(self) -> bool:
        """Gives it up. False: a worker has it already, and skips it if it has not begun it."""
        return self.cancelled() if super().done() else self._pool._cancel(self)
