# SPDX-License-Identifier: Apache-2.0
"""How far a table's choices are from the best way, measured exhaustively.

The best of many is the luckiest of them. So where it looks much better than the choice, the two
meet again, alone and in several jobs, some time apart: see `meetings`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selion.tuning import meetings, program
from selion.tuning.cells import Cell
from selion.tuning.table import is_flat

_good = 0.10
_duels = 5
_share_for_duels = 0.3  # of the time
_least_seconds = 0.02
_most_seconds = 0.5


@dataclass(frozen=True)
class Checked:
    """A cell: what is chosen and what would be best, with what they took."""

    cell: Cell
    chosen: str
    ns: float
    best: str
    best_ns: float

    @property
    def beyond(self) -> float:
        """Part of the best time that the chosen way takes longer."""
        return self.ns / self.best_ns - 1

    @property
    def is_good(self) -> bool:
        return self.beyond <= _good

    @property
    def is_flat_beside_tree(self) -> bool:
        return is_flat(self.chosen) and not is_flat(self.best) and not self.is_good

    def columns(self) -> list[str]:
        return [self.cell.machine, self.cell.collective, str(self.cell.size), self.chosen,
                f"{self.ns:.0f}", self.best, f"{self.best_ns:.0f}", f"{100 * self.beyond:.1f}"]


@dataclass(frozen=True)
class Outcome:
    """@param left cells for which there was no time."""

    checked: list[Checked]
    left: int


class _Jobs:
    """Measures with a table, until the time is over."""

    def __init__(self, path: Path) -> None:
        # Of a file that is called `off` the name alone would be a switch.
        self._table = str(path.absolute())
        self._overhead = 0.02  # seconds that a job takes beyond what it is given

    def share(self, end: float, count: int) -> float | None:
        """Seconds for each of so many; None if there is no time for one."""
        left = end - time.monotonic()
        if left < _least_seconds + self._overhead:
            return None
        return max(left / count - self._overhead, _least_seconds)

    def run(self, cell: Cell, how: program.Effort) -> dict[str, Any]:
        begun = time.monotonic()
        found = program.measure(cell.machine, cell.collective, cell.size, how, self._table)
        beyond = max(time.monotonic() - begun - how.seconds, 0.0)
        self._overhead += 0.2 * (beyond - self._overhead)
        return found


def run(cells: Sequence[Cell], path: Path, end: float,
        tell: Callable[[str | None], None]) -> Outcome:
    """@param end when all should be done, by the steady clock: no job is begun later."""
    jobs = _Jobs(path)
    checked = []
    first_end = end - _share_for_duels * (end - time.monotonic())
    for number, cell in enumerate(cells):
        seconds = jobs.share(first_end, len(cells) - number)
        if seconds is None:
            break
        tell(str(cell))
        found = jobs.run(cell, program.Effort(seconds, seed=7, is_exhaustive=True))
        ns = {each["way"]: each["ns"] for each in found["rows"]}
        best = min(ns, key=lambda way: ns[way])
        chosen = found["usual"]
        checked.append(Checked(cell, chosen, ns[chosen], best, ns[best]))
        tell(None)
    return Outcome(_confirmed(checked, jobs, end), len(cells) - len(checked))


def _confirmed(checked: Sequence[Checked], jobs: _Jobs, end: float) -> list[Checked]:
    """By turns, so that the jobs of a cell are apart; with fewer of them where time is short."""
    doubtful = {each.cell: each for each in checked if not each.is_good}
    met: dict[Cell, list[meetings.Job]] = {cell: [] for cell in doubtful}
    turns = [(turn, seen) for turn in range(_duels) for seen in doubtful.values()]
    for number, (turn, seen) in enumerate(turns):
        seconds = jobs.share(end, len(turns) - number)
        if seconds is None:
            break
        how = program.Effort(min(seconds, _most_seconds), seed=20 + turn, is_exhaustive=True,
                             ways=(seen.chosen, seen.best))
        found = jobs.run(seen.cell, how)
        met[seen.cell].append({each["way"]: each["ns"] for each in found["rows"]})
    return [duelled(each, met[each.cell]) if met.get(each.cell) else each for each in checked]


def duelled(seen: Checked, jobs: Sequence[meetings.Job]) -> Checked:
    """After the two have met. @param jobs what they took in each"""
    ratio = meetings.middle([job[seen.chosen] / job[seen.best] for job in jobs])
    best_ns = statistics.median(job[seen.best] for job in jobs)
    return replace(seen, ns=best_ns * ratio, best_ns=best_ns)


def sentence(checked: Sequence[Checked]) -> str:
    """@pre there are some."""
    good = sum(each.is_good for each in checked)
    worst = max(checked, key=lambda each: each.beyond)
    flat = sum(each.is_flat_beside_tree for each in checked)
    return (f"{good} of {len(checked)} choices are within {100 * _good:.0f} % of the best; the "
            f"farthest is {100 * worst.beyond:.0f} % beyond it ({worst.cell}); flat is chosen "
            f"where a tree wins {flat} times.")
