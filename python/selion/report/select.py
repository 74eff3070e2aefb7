# SPDX-License-Identifier: Apache-2.0
"""Finds the rows that a plot or a sentence speaks of."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selion import spec
from selion.mistake import Mistake
from selion.report.contents import Conclusion, Value
from selion.study.catalog import Experiment
from selion.study.rows import Row


def machine_name(row: Row) -> str:
    """A machine without what a point has set: the name of a simulated one, the kind of a real one.

    Several machines may have one name: `machines.told_apart` finds those that params do not tell
    apart.
    """
    try:
        kind = spec.parse(row["machine"]).kind
    except Mistake:
        return str(row["machine"])
    return str(row["machine"]).split(",")[0] if kind == "sim" else kind


def shown_machine(row: Row) -> str:
    """The name by which a machine is known among those of its study."""
    return str(row.get("machine_shown") or machine_name(row))


def measured_by(row: Row) -> tuple[Any, ...]:
    """What rows of one point must share to be repetitions of each other."""
    return (row["machine"], row.get("ranks"), row.get("origin"))


def key_of(row: Row, key: str) -> Any:
    """A row's value of a param, or of what stands beside params; None if it has none."""
    if key == "machine":
        return shown_machine(row)
    if key == "metric":
        return row["metric"]
    return row["params"].get(key)


def matches(row: Row, where: Mapping[str, Sequence[Any]]) -> bool:
    """Whether each key has one of its values; of machines those of one name are all meant."""
    return all((machine_name(row) if key == "machine" else key_of(row, key)) in values
               for key, values in where.items())


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def find_value(rows: Iterable[Row], wanted: Value) -> float | None:
    """The median over repetitions; None if it was not measured, or is no number.

    Where rows differ in what is not asked for, the first such point counts; what it is divided by
    is then of the same machine and run.
    """
    rows = list(rows)
    where = {key: (value,) for key, value in wanted.where.items()}
    found = [
        row for row in rows
        if row["experiment"] == wanted.experiment and row["metric"] == wanted.metric
        and matches(row, where) and is_number(row["value"])
    ]
    if not found:
        return None
    same = [row["value"] for row in found
            if row["params"] == found[0]["params"] and measured_by(row) == measured_by(found[0])]
    value = statistics.median(same)
    if wanted.over is None:
        return float(value)
    if "machine" not in wanted.over.where:
        rows = [row for row in rows if machine_name(row) == machine_name(found[0])
                and row.get("origin") == found[0].get("origin")]
    below = find_value(rows, wanted.over)
    return value / below if below else None


def _is_of_study(row: Row, experiments: Mapping[str, Experiment]) -> bool:
    """Whether it was measured on a machine that its experiment is about, and not on one that
    somebody has asked for as well."""
    experiment = experiments.get(row["experiment"])
    return experiment is None or machine_name(row) in {
        machine_name({"machine": machine}) for machine in experiment.machines}


def answer(rows: Sequence[Row], conclusion: Conclusion,
           experiments: Mapping[str, Experiment]) -> tuple[str | None, list[str]]:
    """The sentence with its numbers, or None and the experiments that it lacks. Where a value names
    no machine, its experiment's own ones are meant.

    @param experiments of the study, by name.
    """
    own = [row for row in rows if _is_of_study(row, experiments)]
    values = {name: find_value(rows if "machine" in value.where else own, value)
              for name, value in conclusion.values.items()}
    missing = [conclusion.values[name].experiment for name, value in values.items()
               if value is None]
    if missing:
        return None, list(dict.fromkeys(missing))
    return conclusion.answer.format(**values), []
