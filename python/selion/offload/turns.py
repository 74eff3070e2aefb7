# SPDX-License-Identifier: Apache-2.0
"""A pool's lock: who waits for a worker has it for long, and others want it for a moment."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

_slice_s = 0.001  # for which somebody waits without a look at what else there is
_yield_s = 2e-5


class Turns:
    """Who wants the lock: `with turns, turns.lock: ...`; who has time, `turns.patient` instead.

    :param core: the pool, whose `want_turn` ends the wait of whoever has the lock
    """

    def __init__(self, core: Any) -> None:
        self.lock = threading.RLock()
        self._waiting: deque[None] = deque()
        self.patient = Patient(self._waiting)
        self._core = core
        self._is_kept = False

    def __enter__(self) -> None:
        self._waiting.append(None)
        core = self._core  # stays as long as this needs it
        if self._is_kept and core is not None:
            core.want_turn()

    def __exit__(self, *_: object) -> None:
        self._waiting.pop()

    def acquire(self, timeout: float, *, is_patient: bool) -> bool:
        """Takes the lock. False: not within `timeout` seconds."""
        with self.patient if is_patient else self:
            return self.lock.acquire(timeout=min(timeout, threading.TIMEOUT_MAX))

    def wait_for(self, started: Any, most: float, looks: bool) -> bool:
        """Waits for a call, with the lock, until others want it or have news. Whether it is done.

        :param looks: stays awake for some time before it sleeps
        """
        self._is_kept = True
        try:
            return bool(started.wait(0.0 if self._waiting else min(most, _slice_s), looks))
        finally:
            self._is_kept = False

    def let_others(self) -> None:
        """Without the lock. Threads do not hand it over: who gives it back and takes it again
        would mostly be the next."""
        if self._waiting:
            time.sleep(_yield_s)

    def end(self) -> None:
        """Lets go of the pool."""
        self._core = None


class Patient:
    """Who wants the lock when it is free."""

    def __init__(self, waiting: deque[None]) -> None:
        self._waiting = waiting

    def __enter__(self) -> None:
        self._waiting.append(None)

    def __exit__(self, *_: object) -> None:
        self._waiting.pop()
