# SPDX-License-Identifier: Apache-2.0
"""Holds measured rows against the figures of a study's source."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from selion.study.catalog import Study
from selion.study.plan import Request, canonical
from selion.study.published import Cell, Published, is_number
from selion.study.rows import Row


@dataclass(frozen=True)
class Comparison:
    """One published figure beside what was measured; measured is the median of repetitions."""

    study: str
    experiment: str
    machine: str
    params: dict[str, Any]
    metric: str
    unit: str
    published: Any
    measured: Any
    error_percent: float | None
    tolerance_percent: float | None
    is_within: bool | None

    def as_row(self) -> Row:
        return asdict(self)


@dataclass(frozen=True)
class Verdict:
    """All comparisons of a study, how many published figures nothing was measured for, and a
    sentence for each figure that cannot be compared. `published` counts all but these last."""

    study: str
    comparisons: tuple[Comparison, ...]
    published: int
    not_measured: int
    faults: tuple[str, ...] = ()

    @property
    def within(self) -> int:
        return sum(1 for each in self.comparisons if each.is_within)

    @property
    def judged(self) -> int:
        return sum(1 for each in self.comparisons if each.is_within is not None)

    def sentence(self) -> str:
        if self.published == 0 and not self.faults:
            return f"The study '{self.study}' has no published figures to compare with."
        text = f"{self.study}: {self.within} of {self.judged} cells within tolerance"
        unjudged = len(self.comparisons) - self.judged
        if unjudged:
            text += f", {unjudged} without a tolerance"
        if self.not_measured:
            text += f", {self.not_measured} of {self.published} published figures not measured"
        if self.faults:
            figures = "one figure" if len(self.faults) == 1 else f"{len(self.faults)} figures"
            text += f", {figures} of published.csv left out"
        return text + "."


def _error_percent(published: Any, measured: Any) -> float | None:
    if not (is_number(published) and is_number(measured)):
        return None
    if published == measured:
        return 0.0
    return None if published == 0 else 100.0 * (measured - published) / abs(published)


def _is_within(
    published: Any, measured: Any, error: float | None, tolerance: float | None
) -> bool | None:
    if error is None:
        return bool(published == measured)
    return None if tolerance is None else abs(error) <= 100.0 * tolerance


def _median(values: Sequence[Any]) -> Any:
    if all(is_number(value) for value in values) and len(values) > 1:
        return statistics.median(values)
    return values[0]


def _compare_cell(study: Study, cell: Cell, machine: str, rows: Sequence[Row]) -> Comparison:
    tolerance = study.experiments[cell.experiment].metrics[cell.metric].tolerance
    measured = _median([row["value"] for row in rows])
    error = _error_percent(cell.value, measured)
    return Comparison(
        study.name,
        cell.experiment,
        machine,
        dict(cell.params),
        cell.metric,
        cell.unit,
        cell.value,
        measured,
        None if error is None else round(error, 3),
        None if tolerance is None else 100.0 * tolerance,
        _is_within(cell.value, measured, error, tolerance),
    )


def _unsuited(cell: Cell, row: Row) -> str:
    """Which of the two is wrong nobody here can know."""
    params = "".join(f" {key}={value}" for key, value in row["params"].items())
    return (f"{cell.place}: '{cell.metric}' is published as {json.dumps(cell.value)} and measured "
            f"as {json.dumps(row['value'])} ({row['experiment']}{params} on '{row['machine']}', "
            f"repetition {row.get('repetition', 0)}); only one of them is a number, so they are "
            "left out.")


def compare(study: Study, request: Request, rows: Sequence[Row]) -> Verdict:
    """Compares the rows that have a published figure today, per figure and machine.

    @param request whose experiment, if it names one, limits which figures count as not measured.
    """
    published = Published(study)
    wanted = [cell for cell in published.cells if request.experiment in (None, cell.experiment)]
    groups: dict[tuple[str, str, str, str], tuple[Cell, list[Row]]] = {}
    unsuited: dict[str, str] = {}
    for row in rows:
        cell = published.of_row(row)
        if cell is None or cell not in wanted:
            continue
        if not cell.suits(row["value"]):
            unsuited[cell.place] = _unsuited(cell, row)
            continue
        key = (cell.experiment, canonical(cell.params), cell.metric, row["machine"])
        groups.setdefault(key, (cell, []))[1].append(row)
    comparisons = tuple(
        _compare_cell(study, cell, key[3], group) for key, (cell, group) in groups.items()
    )
    measured = {cell.place for cell, _ in groups.values()}
    faults = [sentence for place, sentence in unsuited.items() if place not in measured]
    usable = len(wanted) - len(faults)
    return Verdict(study.name, comparisons, usable, usable - len(measured),
                   (*published.faults, *faults))
