# SPDX-License-Identifier: Apache-2.0
"""Carries out the runs of a study's points: several at a time where their machines are simulated,
whose virtual time no load changes; alone where they are real.
"""

from __future__ import annotations

import selectors
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import IO, cast

from selion import job
from selion.study import conditions
from selion.study.plan import Point
from selion.study.runner import PointRun


def goes_alone(point: Point) -> bool:
    """Whether what else runs meanwhile would change what is measured."""
    return conditions.is_measured(point.machine)


class Crew:
    """Runs, in order, of which up to `jobs` are under way.

    @param on_change called when a run begins or ends, with those that are under way, oldest first.
    """

    def __init__(
        self,
        runs: Iterable[PointRun],
        jobs: int,
        on_change: Callable[[list[PointRun]], None],
    ) -> None:
        self._waiting = deque(runs)
        self._started: deque[PointRun] = deque()
        self._jobs = jobs
        self._on_change = on_change
        self._selector = selectors.DefaultSelector()

    def results(self) -> Generator[PointRun, None, None]:
        """Runs that are over, in their order. After one that failed no other one is started; what
        is under way when nobody asks for more is ended.
        """
        try:
            while self._waiting or self._started:
                self._start_some()
                while self._started and self._started[0].is_over:
                    yield self._started.popleft()
                if any(not run.is_over for run in self._started):
                    self._read()
        finally:
            for run in self._started:
                if not run.is_over:
                    run.end(self._selector)
            self._selector.close()

    def _start_some(self) -> None:
        while self._waiting and self._has_room_for(self._waiting[0]):
            run = self._waiting.popleft()
            self._started.append(run)
            run.start(self._selector)
            self._tell()

    def _has_room_for(self, run: PointRun) -> bool:
        busy = [each for each in self._started if not each.is_over]
        if any(each.failure for each in self._started):
            return False
        if goes_alone(run.point):
            return not self._started
        return len(busy) < self._jobs and not any(goes_alone(each.point) for each in busy)

    def _read(self) -> None:
        for key, _ in self._selector.select(job.longest_wait_s):
            run: PointRun = key.data
            if not run.is_over:
                run.read(cast(IO[bytes], key.fileobj), self._selector)
                if run.is_over:
                    self._tell()

    def _tell(self) -> None:
        self._on_change([run for run in self._started if not run.is_over])
