# SPDX-License-Identifier: Apache-2.0
"""A search through all cells within a given time, that can be gone on with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from selion.tuning import consistency, meetings, program
from selion.tuning.cells import Cell
from selion.tuning.consistency import Violation
from selion.tuning.notes import Notes
from selion.tuning.table import Place, Row, row_of

_least_seconds = 0.02  # for a cell; to start a job takes about as long
_most_seconds = 10.0
_share_for_finals = 0.25  # of the time, for ways that are nearly equally quick
_share_for_repeats = 0.15  # of the time, for cells that contradict each other
_close = 1.5  # to the quickest: who is no slower than that meets it again
_most_finalists = 5
_planned_jobs = 3  # in which they meet; more if time is left
_most_jobs = 12
_longest_meeting = 0.5  # seconds; it is jobs that count
_longer = 2.0  # a repeat, than the first time
_least_repeat = 0.05
_most_repeats = 2  # of a cell
_surely = 1.5  # so much slower than what it contradicts a cell alone is wrong


@dataclass
class Found:
    """What a search has come to."""

    rows: dict[Place, Row] = field(default_factory=dict)
    left: int = 0  # cells for which there was no time
    mended: int = 0  # contradictions that measuring again has done away with
    violations: list[Violation] = field(default_factory=list)


def neighbours(cells: Sequence[Cell]) -> dict[Cell, list[Cell]]:
    """Of each cell those of the next shorter and the next longer size."""
    alike: dict[tuple[str, str], list[Cell]] = {}
    for cell in sorted(cells, key=lambda each: each.size):
        alike.setdefault((cell.machine, cell.collective), []).append(cell)
    return {cell: [*row[max(place - 1, 0):place], *row[place + 1:place + 2]]
            for row in alike.values() for place, cell in enumerate(row)}


def contenders(measured: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of ways that were not left out, the quickest first; all, where each has been left
    out in its turn, because what the others took has changed meanwhile."""
    rows = sorted(measured["rows"], key=lambda each: float(each["ns"]))
    return [each for each in rows if not each["is_out"]] or rows


def finalists(measured: dict[str, Any], beside: Sequence[str] = ()) -> tuple[str, ...]:
    """Ways that are so close to the quickest that another job might change their order; and those
    that are not given up for one job's sake: the one that would be taken without a table, and, if
    none of them is the quickest here, those that are at the next shorter and longer size.

    @param beside the latter, as far as they have been measured."""
    rows = contenders(measured)
    close = [each["way"] for each in rows if each["ns"] <= _close * rows[0]["ns"]]
    close = close[:_most_finalists]
    known = {each["way"] for each in measured["rows"]}
    others = () if close[0] in beside else beside
    for way in (measured.get("usual"), *others):
        if way in known and way not in close:
            close.append(way)
    return tuple(close) if len(close) > 1 else ()


def settled(measured: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """A cell after its finalists have met in one more job."""
    first = measured.get("jobs") or [{each["way"]: each["ns"] for each in measured["rows"]}]
    jobs = [*first, {each["way"]: each["ns"] for each in again["rows"]}]
    taken = meetings.taken(jobs)
    rows = [{**each, "ns": taken[each["way"]],
             "is_out": each["is_out"] and each["way"] not in jobs[-1]}
            for each in measured["rows"]]
    return {**measured, "rows": rows, "jobs": jobs}


class Search:
    """@param end of all of it, by the steady clock. @param tell called with the label of each cell
    before it is measured, and with None after it."""

    def __init__(self, cells: Sequence[Cell], notes: Notes, end: float, any_order: bool,
                 tell: Callable[[str | None], None]) -> None:
        self._cells = cells
        self._beside = neighbours(cells)
        self._notes = notes
        self._end = end
        self._any_order = any_order
        self._tell = tell
        self._repeats: dict[Cell, int] = {}
        self._given = _least_seconds  # to a cell, the longest
        self._overhead = 0.02  # seconds that a cell takes beyond what it is given

    def run(self) -> Found:
        given = self._end - time.monotonic()
        reserve = (_share_for_finals + _share_for_repeats) * given
        waiting = [cell for cell in self._cells if cell not in self._notes.done]
        for number, cell in enumerate(waiting):
            left = self._end - reserve - time.monotonic()
            seconds = left / (len(waiting) - number) - self._overhead
            if left < _least_seconds + self._overhead:
                break
            self._measure(cell, seconds)
        self._meet_all(self._end - _share_for_repeats * given)
        found = Found(left=sum(cell not in self._notes.done for cell in self._cells))
        before = len(consistency.violations(self._rows()))
        while self._repeat_worst():
            pass
        self._meet_all(self._end)
        found.rows = self._rows()
        found.violations = consistency.violations(found.rows)
        found.mended = max(before - len(found.violations), 0)
        return found

    def _measure(self, cell: Cell, seconds: float) -> None:
        given = min(max(seconds, _least_seconds), _most_seconds)
        if cell not in self._repeats:
            self._given = max(self._given, given)
        self._tell(str(cell))
        begun = time.monotonic()
        how = program.Effort(given, 1 + self._repeats.get(cell, 0), any_order=self._any_order)
        self._notes.add(cell, program.measure(cell.machine, cell.collective, cell.size, how))
        beyond = max(time.monotonic() - begun - given, 0.0)
        self._overhead += 0.2 * (beyond - self._overhead)
        self._tell(None)

    def _meet_all(self, end: float) -> None:
        """Has those that are close meet in other jobs, as often as there is time for it."""
        for lap in range(_most_jobs):
            laps = max(_planned_jobs - lap, 1)
            waiting = [cell for cell in self._cells if self._meets(cell, lap + 1)]
            for number, cell in enumerate(waiting):
                left = (end - time.monotonic()) / laps
                seconds = left / (len(waiting) - number) - self._overhead
                if end - time.monotonic() < _least_seconds + self._overhead:
                    return
                self._meet(cell, min(max(seconds, _least_seconds), _longest_meeting))

    def _meets(self, cell: Cell, jobs: int) -> bool:
        """Whether ways of a cell are close, and have met in so few jobs."""
        measured = self._notes.done.get(cell)
        if measured is None or len(measured.get("jobs", ())) > jobs:
            return False
        return bool(measured.get("finalists") or self._finalists(cell))

    def _finalists(self, cell: Cell) -> tuple[str, ...]:
        beside = [contenders(self._notes.done[each])[0]["way"] for each in self._beside[cell]
                  if each in self._notes.done]
        return finalists(self._notes.done[cell], beside)

    def _meet(self, cell: Cell, seconds: float) -> None:
        measured = self._notes.done[cell]
        ways = tuple(measured.get("finalists") or self._finalists(cell))
        how = program.Effort(seconds, seed=10 + len(measured.get("jobs", ())), is_exhaustive=True,
                             ways=ways)
        again = program.measure(cell.machine, cell.collective, cell.size, how)
        self._notes.add(cell, {**settled(measured, again), "finalists": list(ways)})

    def _rows(self) -> dict[Place, Row]:
        return dict(row_of(self._notes.done[cell]) for cell in self._cells
                    if cell in self._notes.done)

    def _repeat_worst(self) -> bool:
        """Measures the cells of a contradiction again, for longer: most come from a disturbance.
        @return False when there is nothing to repeat, or no time."""
        cells = {row_of(self._notes.done[cell])[0]: cell for cell in self._cells
                 if cell in self._notes.done}
        typical = min(max(_longer * self._given, _least_repeat), _most_seconds)
        for violation in consistency.violations(self._rows()):
            concerned = [cells[place] for place in (violation.slow, *violation.others)]
            if violation.ns > _surely * violation.others_ns:
                concerned = concerned[:1]
            if any(self._repeats.get(cell, 0) >= _most_repeats for cell in concerned):
                continue
            if self._end - time.monotonic() < len(concerned) * (typical + self._overhead):
                return False
            for cell in concerned:
                self._repeats[cell] = self._repeats.get(cell, 0) + 1
                self._measure(cell, typical)
            return True
        return False
