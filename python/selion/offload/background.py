# SPDX-License-Identifier: Apache-2.0
"""What becomes of calls that nobody waits for: while a program goes on, and when it ends."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selion.offload.pool import Pool

_longest_pause_s = 0.001

pools: weakref.WeakSet[Pool] = weakref.WeakSet()


class Collector:
    """A thread that takes results for those who wait without driving the pool.

    Callers may have futures locked, which whoever settles them waits for: hence another lock than
    the pool's.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = weakref.ref(pool)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending: threading.Thread | None = None  # it waits for the workers of a pool to end

    @property
    def is_running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        """RuntimeError: in a child of the pool's process, where nothing would ever come."""
        if (pool := self._pool()) is not None:
            pool._expect_maker()
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._collect, name="selion-pool", daemon=True)
            try:
                self._thread.start()
            except BaseException:
                self._thread = None
                raise

    def wait_for_end(self) -> None:
        """Until workers have ended that are waited for there."""
        ending = self._ending
        if ending is not None and ending is not threading.current_thread():
            ending.join()

    def _collect(self) -> None:
        """Looks again and again, at growing intervals, until nothing is left: a pool that nobody
        else has any more stays for that long, so that all are called back."""
        pause = 0.0
        pool = self._pool()
        while pool is not None:
            try:
                has_news = pool._collect_once() != 0
            except BaseException:
                with self._lock:
                    self._thread = None
                raise
            if self._may_end(pool):
                return
            pause = 0.0 if has_news else min(_longest_pause_s, pause + 2e-5)
            time.sleep(pause)

    def _may_end(self, pool: Pool) -> bool:
        core = None
        with pool._turns.lock, self._lock:
            if pool._has_work():
                return False
            self._thread = None
            if pool._is_shut and (core := pool._take_core()) is not None:
                self._ending = threading.current_thread()
        del core  # waits for the workers, without the lock: who ends the pool at once wants it
        return True


@atexit.register
def _finish() -> None:
    """Waits for what a program has submitted, unless somebody has interrupted it."""
    is_interrupted = not hasattr(sys, "ps1") and issubclass(
        getattr(sys, "last_type", None) or object, KeyboardInterrupt
    )
    for pool in list(pools):
        with contextlib.suppress(KeyboardInterrupt):
            if not is_interrupted:
                pool.shutdown()
                continue
        pool.kill_workers()
