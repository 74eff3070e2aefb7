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


def run(cells: Sequence[Cell], path: Path, end: float,
        tell: Callable[[str | None], None]) -> list[Checked]:
    """@param end when all should be done, by the steady clock, as nearly as that can be kept."""
    checked = []
    first_end = end - _share_for_duels * (end - time.monotonic())
    for number, cell in enumerate(cells):
        tell(str(cell))
        left = max(first_end - time.monotonic(), 0.0) / (len(cells) - number)
        how = program.Effort(max(left, _least_seconds), seed=7, is_exhaustive=True)
        found = program.measure(cell.machine, cell.collective, cell.size, how, _setting(path))
        ns = {each["way"]: each["ns"] for each in found["rows"]}
        best = min(ns, key=lambda way: ns[way])
        chosen = found["usual"]
        checked.append(Checked(cell, chosen, ns[chosen], best, ns[best]))
        tell(None)
    return _confirmed(checked, path, end)


def _setting(path: Path) -> str:
    """What names the table in the environment: of a file called `off` the name alone would not."""
    return str(path.absolute())


def _confirmed(checked: Sequence[Checked], path: Path, end: float) -> list[Checked]:
    """By turns, so that the jobs of a cell are apart."""
    doubtful = {each.cell: each for each in checked if not each.is_good}
    jobs: dict[Cell, list[meetings.Job]] = {cell: [] for cell in doubtful}
    left = _duels * len(doubtful)
    for turn in range(_duels):
        for cell, seen in doubtful.items():
            seconds = max(end - time.monotonic(), 0.0) / left
            left -= 1
            how = program.Effort(min(max(seconds, _least_seconds), _most_seconds), seed=20 + turn,
                                 is_exhaustive=True, ways=(seen.chosen, seen.best))
            found = program.measure(cell.machine, cell.collective, cell.size, how, _setting(path))
            jobs[cell].append({each["way"]: each["ns"] for each in found["rows"]})
    return [duelled(each, jobs[each.cell]) if each.cell in jobs else each for each in checked]


def duelled(seen: Checked, jobs: Sequence[meetings.Job]) -> Checked:
    """After the two have met. @param jobs what they took in each"""
    ratio = meetings.middle([job[seen.chosen] / job[seen.best] for job in jobs])
    best_ns = statistics.median(job[seen.best] for job in jobs)
    return replace(seen, ns=best_ns * ratio, best_ns=best_ns)


def sentence(checked: Sequence[Checked]) -> str:
    good = sum(each.is_good for each in checked)
    worst = max(checked, key=lambda each: each.beyond)
    flat = sum(each.is_flat_beside_tree for each in checked)
    return (f"{good} of {len(checked)} choices are within {100 * _good:.0f} % of the best; the "
            f"farthest is {100 * worst.beyond:.0f} % beyond it ({worst.cell}); flat is chosen "
            f"where a tree wins {flat} times.")
