# SPDX-License-Identifier: Apache-2.0
"""Figures of the source beside what was measured, and the cells that have none."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from selion.report.select import is_number, machine_name, shown_machine
from selion.study.catalog import Study
from selion.study.compare import Verdict, compare
from selion.study.plan import Request, canonical
from selion.study.rows import Row


@dataclass(frozen=True)
class Cell:
    """One figure. `published` is None where the source's figure is held back, or was not printed:
    what was measured is a prediction there."""

    experiment: str
    machine: str
    params: str
    metric: str
    unit: str
    measured: Any
    published: Any = None
    error_percent: float | None = None
    tolerance_percent: float | None = None
    is_within: bool | None = None


def _words(params: dict[str, Any]) -> str:
    return ", ".join(f"{key} {str(value).lower() if isinstance(value, bool) else value}"
                     for key, value in params.items())


def _is_told(row: Row) -> bool:
    """Whether other machines have the name of this one's, so that its own is longer."""
    return shown_machine(row) != machine_name(row)


def _machine(row: Row) -> str:
    return shown_machine(row) if _is_told(row) else str(row["machine"])


def verdict_of(study: Study, rows: Sequence[Row]) -> Verdict:
    """All comparisons of a study."""
    return compare(study, Request(), [{**row, "machine": _machine(row)} for row in rows])


def cells_of(verdict: Verdict, rows: Sequence[Row]) -> list[Cell]:
    """Published cells and, of the same experiments and metrics, the open ones, in order of rows."""
    told = {(each.experiment, each.metric) for each in verdict.comparisons}
    compared = {
        (each.experiment, canonical(each.params), each.metric, each.machine): each
        for each in verdict.comparisons
    }
    told_machines = {_machine(row) for row in rows if _is_told(row)}

    def at(machine: str, params: dict[str, Any]) -> str:
        return ", ".join([*(machine,) * (machine in told_machines), _words(params)])

    cells: list[Cell] = []
    for each in compared.values():
        cells.append(Cell(each.experiment, each.machine.split(",")[0],
                          at(each.machine, each.params), each.metric, each.unit, each.measured,
                          each.published, each.error_percent, each.tolerance_percent,
                          each.is_within))
    open_rows: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if (row["experiment"], row["metric"]) in told and "published" not in row:
            key = (row["experiment"], canonical(row["params"]), row["metric"], _machine(row))
            open_rows.setdefault(key, []).append(row)
    for group in open_rows.values():
        row = group[0]
        values = [each["value"] for each in group]
        measured = statistics.median(values) if all(map(is_number, values)) else values[0]
        cells.append(Cell(row["experiment"], machine_name(row), at(_machine(row), row["params"]),
                          row["metric"], row["unit"], measured))
    order = {key: place for place, key in enumerate(
        dict.fromkeys((row["experiment"], row["metric"]) for row in rows))}
    return sorted(cells, key=lambda cell: order.get((cell.experiment, cell.metric), len(order)))


def worst(verdict: Verdict) -> str:
    """The cell that is furthest off, in words; empty if none is off."""
    off = [each for each in verdict.comparisons if each.error_percent]
    if not off:
        return ""
    most = max(off, key=lambda each: abs(each.error_percent or 0))
    has_several = len({each.machine for each in verdict.comparisons}) > 1
    where = f" on {most.machine}" if has_several else ""
    return (f"furthest off: {most.experiment}{where}, {_words(most.params)}, {most.metric}: "
            f"{most.error_percent:+.1f} %")
