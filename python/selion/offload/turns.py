# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is: a pool's C++ part, and what is beside it, want one thread at a time.

Of the threads that wait for calls one has the lock and waits for the workers; it takes the results
of others' calls too, and hands over when its own is there. The others wait for their calls.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selion.offload.call import Call

_slice_s = 0.001  # for which somebody waits for workers without a look at what else there is
_yield_s = 2e-5


class Turns:
    """Who wants the lock for a moment: `with turns, turns.lock: ...`.

    Apart from the lock nothing here needs one.

    :param core: the pool, whose `want_turn` ends the wait of whoever has the lock
    """

    #: that somebody waits for a turn, which may have been lost with an interrupt
    longest_s = 0.05

    def __init__(self, core: Any) -> None:
        self.lock = threading.RLock()
        self._core = core
        self._wanting: set[int] = set()  # threads; who is interrupted takes itself out next time
        self._patients: deque[Call] = deque()  # whose threads wait for them
        self._is_kept = False  # by who waits for workers

    def __enter__(self) -> None:
        try:
            self._wanting.add(threading.get_ident())
            self._ask()
        except BaseException:
            self._wanting.discard(threading.get_ident())
            raise

    def __exit__(self, *_: object) -> None:
        self._wanting.discard(threading.get_ident())

    def has_lock(self) -> bool:
        """Whether this thread has."""
        return bool(self.lock._is_owned())  # type: ignore[attr-defined]

    @property
    def has_patients(self) -> bool:
        return bool(self._patients)

    def wait_for(self, started: Any, most: float, *, looks: bool, is_shared: bool) -> bool:
        """Waits for a call, with the lock, until somebody wants a turn. Whether it is done.

        :param looks: stays awake for some time before it sleeps
        :param is_shared: until another call is done as well
        """
        self._is_kept = True
        try:
            return bool(started.wait(0.0 if self._is_wanted() else min(most, _slice_s), looks,
                                     is_shared))
        finally:
            self._is_kept = False

    def let_others(self) -> None:
        """Without the lock. Threads do not hand it over: who gives it back and takes it again
        would mostly be the next."""
        if self._is_wanted():
            time.sleep(_yield_s)

    def begin(self) -> None:
        """This thread waits for a call from now on."""
        self._wanting.discard(threading.get_ident())  # which an interrupt may have left

    def leave(self) -> None:
        """And does no more."""
        if not self._is_kept:
            self.hand_over()

    def wait_patiently(self, call: Call, most: float, failures: int) -> None:
        """Somebody else has the lock: until that one has told the call's outcome, or hands over.

        :param failures: to get the lock, one after the other
        """
        if not self._is_kept:  # it is had for a moment, mostly
            time.sleep(min(most, _slice_s, _yield_s * 2 ** min(failures, 10)))
            return
        try:
            call._has_turn = False
            self._patients.append(call)
            if not self._is_kept:
                return  # who had it may have looked for others already
            self._ask()  # from now on it heeds this call as well
            with call._condition:
                if not (Future.done(call) or call._has_turn):
                    call._condition.wait(min(most, self.longest_s))
        finally:
            with contextlib.suppress(ValueError):
                self._patients.remove(call)

    def hand_over(self) -> None:
        """Without the lock: somebody else waits for workers from now on, if anybody wants to."""
        while self._patients:
            try:
                call = self._patients.popleft()
            except IndexError:
                return
            with call._condition:
                call._has_turn = True
                call._condition.notify_all()
            if call._started is not None:  # else its outcome is about to be told
                return

    def end(self) -> None:
        """Lets go of the pool."""
        self._core = None

    def _ask(self) -> None:
        core = self._core  # stays as long as this needs it
        if self._is_kept and core is not None:
            core.want_turn()

    def _is_wanted(self) -> bool:
        return bool(self._wanting - {threading.get_ident()})
