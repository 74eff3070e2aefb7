# SPDX-License-Identifier: Apache-2.0
"""Finds the rows that a plot or a sentence speaks of."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selion import spec
from selion.mistake import Mistake
from selion.report.asked_for import is_measured_on
from selion.report.contents import Conclusion, Value
from selion.study.catalog import Experiment
from selion.study.plan import usual_seed
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


def seed_of(row: Row) -> int:
    """Rows without a seed are those of the usual one."""
    seed = row.get("seed")
    return seed if type(seed) is int else usual_seed


def of_one_seed(rows: Sequence[Row]) -> tuple[list[Row], list[int]]:
    """The rows that published figures are compared with, and the seeds of the others: as
    `selion study --compare` has it, those of the usual seed; where it has none, of the least."""
    seeds = sorted({seed_of(row) for row in rows})
    compared = usual_seed if usual_seed in seeds else seeds[0] if seeds else usual_seed
    return ([row for row in rows if seed_of(row) == compared],
            [seed for seed in seeds if seed != compared])


def measured_by(row: Row) -> tuple[Any, ...]:
    """What rows of one point must share to be repetitions of each other. Another seed is one more
    throw of the same dice: what varies with it is the spread that plots show."""
    return (row["machine"], row.get("ranks"), row.get("origin"))


def key_of(row: Row, key: str) -> Any:
    """A row's value of a param, or of what stands beside params; None if it has none."""
    if key == "machine":
        return shown_machine(row)
    if key == "metric":
        return row["metric"]
    return row["params"].get(key)


def matches(row: Row, where: Mapping[str, Sequence[Any]]) -> bool:
    """Whether each key has one of its values; of machines those of one name are all meant, as a
    plot tells them apart."""
    return all((machine_name(row) if key == "machine" else key_of(row, key)) in values
               for key, values in where.items())


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_on(row: Row, machine: str | None, experiments: Mapping[str, Experiment]) -> bool:
    """Whether a row was measured on a machine as it is, and not on one of its name with other
    options. @param machine None: one of those that the row's experiment is about."""
    experiment = experiments.get(row["experiment"])
    if experiment is None:
        return machine in (None, machine_name(row))
    return is_measured_on(experiment, experiment.machines if machine is None else [machine], row)


def find_value(rows: Iterable[Row], wanted: Value, experiments: Mapping[str, Experiment],
               machine: str | None = None) -> float | None:
    """The median over repetitions; None if it was not measured, or is no number.

    Where rows differ in what is not asked for, the first such point counts; what it is divided by
    is then of the same machine and run.

    @param experiments of the study, by name. @param machine that is meant where the value names
    none; None: its experiment's own ones.
    """
    rows = list(rows)
    where = {key: (value,) for key, value in wanted.where.items() if key != "machine"}
    machine = wanted.where.get("machine", machine)
    found = [
        row for row in rows
        if row["experiment"] == wanted.experiment and row["metric"] == wanted.metric
        and matches(row, where) and _is_on(row, machine, experiments) and is_number(row["value"])
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
    below = find_value(rows, wanted.over, experiments, machine)
    return value / below if below else None


def answer(rows: Sequence[Row], conclusion: Conclusion,
           experiments: Mapping[str, Experiment]) -> tuple[str | None, list[str]]:
    """The sentence with its numbers, or None and the experiments that it lacks.

    @param experiments of the study, by name.
    """
    values = {name: find_value(rows, value, experiments)
              for name, value in conclusion.values.items()}
    missing = [conclusion.values[name].experiment for name, value in values.items()
               if value is None]
    if missing:
        return None, list(dict.fromkeys(missing))
    return conclusion.answer.format(**values), []
