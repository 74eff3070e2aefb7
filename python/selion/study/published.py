# SPDX-License-Identifier: Apache-2.0
"""The figures of a study's source: published.csv beside its study.toml."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selion.mistake import Failure, Mistake, listing, unknown
from selion.study import catalog
from selion.study.catalog import Experiment, Metric, Study
from selion.study.plan import canonical

_columns = ("study", "experiment", "params", "metric", "value", "unit")


@dataclass(frozen=True)
class Cell:
    """One published figure."""

    experiment: str
    params: Mapping[str, Any]
    metric: str
    value: Any
    unit: str
    place: str = ""
    """File and line."""

    def suits(self, measured: Any) -> bool:
        """Whether both are numbers, or neither is."""
        return is_number(self.value) == is_number(measured)


def is_number(value: Any) -> bool:
    """Whether it is one that can be calculated with: a truth is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _read_value(text: str) -> Any:
    """A number or list as JSON; anything else is text."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError:
        return text
    return text if isinstance(value, float) and not math.isfinite(value) else value


def _read_cells(path: Path) -> Iterator[tuple[str, Cell]]:
    """Each figure behind the name of its study."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames is None or tuple(reader.fieldnames) != _columns:
            raise Failure(f"{path}: the first line must be {','.join(_columns)}.")
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if None in row or None in row.values():
                raise Failure(f"{where}: the columns must be {listing(_columns)}.")
            try:
                params = json.loads(row["params"])
            except json.JSONDecodeError as problem:
                raise Failure(f"{where}: params is not JSON: {problem}.") from None
            if not isinstance(params, dict):
                raise Failure(f"{where}: params is {row['params']}; legal is a JSON object.")
            value = _read_value(row["value"])
            yield row["study"], Cell(
                row["experiment"], params, row["metric"], value, row["unit"], where
            )


def keys_of(experiment: Experiment, metric: Metric) -> list[str]:
    """The params of a metric's rows."""
    return [*(name for name in experiment.axes if name not in metric.without), *metric.extra]


def _check_params(experiment: Experiment, metric: Metric, params: Mapping[str, Any]) -> None:
    legal = keys_of(experiment, metric)
    for key, value in params.items():
        if key not in legal:
            raise unknown(key, f"a param of the metric '{metric.name}'", legal)
        if key in experiment.axes:
            experiment.axes[key].check(value)
    for key in legal:
        if key not in params and not _has_one_default(experiment, key):
            raise Mistake(
                f"the param '{key}' is missing; only one whose axis has one default can be left out"
            )


def _check(study: Study, cell: Cell) -> None:
    """@error Mistake if no row of the study can ever stand beside the figure."""
    experiment = study.experiment(cell.experiment)
    if cell.metric not in experiment.metrics:
        what = f"a metric of the experiment '{experiment.name}'"
        raise unknown(cell.metric, what, experiment.metrics)
    metric = experiment.metrics[cell.metric]
    if cell.unit != metric.unit:
        raise Mistake(f"the unit is '{cell.unit}'; legal: '{metric.unit}', that of '{metric.name}'")
    _check_params(experiment, metric, cell.params)


class Published:
    """Looks up the published figure for a row.

    A figure belongs to a row if experiment, metric and params agree. Where a row has params that
    the figure lacks, these must have the only default of their axis: the source had them fixed.

    `faults` has a sentence with file and line for each figure that no row can ever stand beside,
    as its experiment, metric, params or unit are none of the study's; it is not among `cells`.

    @error Failure if the file is no table of figures; the sentence names file and line.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self.cells: list[Cell] = []
        self.faults: list[str] = []
        self._exact: dict[tuple[str, str, str], Cell] = {}
        self._keys: dict[tuple[str, str], set[frozenset[str]]] = {}
        path = study.folder / "published.csv"
        for name, cell in _read_cells(path) if path.is_file() else ():
            try:
                if name == study.name:
                    self._take(cell)
                elif name not in (names := catalog.names(study.folder.parent)):
                    raise unknown(name, "a study", names)
            except Mistake as problem:
                self.faults.append(f"{cell.place}: {str(problem).rstrip('.')}; left out.")

    def _take(self, cell: Cell) -> None:
        _check(self._study, cell)
        key = (cell.experiment, cell.metric, canonical(cell.params))
        if key in self._exact:
            raise Mistake(f"the figure stands already in {self._exact[key].place}")
        self.cells.append(cell)
        self._exact[key] = cell
        keys = self._keys.setdefault((cell.experiment, cell.metric), set())
        keys.add(frozenset(cell.params))

    def of_row(self, row: Mapping[str, Any]) -> Cell | None:
        """The figure that a measured row is to be held against, or None: also where the study says
        for how many ranks its source's figures are, and the row has another number.
        """
        experiment = self._study.experiments.get(row["experiment"])
        if experiment is None or row["metric"] not in experiment.metrics:
            return None
        fixed = experiment.ranks
        if fixed is not None and "ranks" not in row["params"] and row.get("ranks") != fixed:
            return None
        return self.find(experiment, row["metric"], row["params"])

    def beside(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row with the figure of today as its `published`, or without one."""
        cell = self.of_row(row)
        rest = {key: value for key, value in row.items() if key != "published"}
        return {**rest, "published": cell.value} if cell and cell.suits(row["value"]) else rest

    def find(self, experiment: Experiment, metric: str, params: Mapping[str, Any]) -> Cell | None:
        """The figure for these params, or None."""
        for keys in self._keys.get((experiment.name, metric), ()):
            if not keys <= params.keys():
                continue
            rest = params.keys() - keys
            if not all(_is_fixed(experiment, key, params[key]) for key in rest):
                continue
            wanted = canonical({key: params[key] for key in keys})
            cell = self._exact.get((experiment.name, metric, wanted))
            if cell:
                return cell
        return None


def _has_one_default(experiment: Experiment, key: str) -> bool:
    return key in experiment.axes and len(experiment.axes[key].default) == 1


def _is_fixed(experiment: Experiment, key: str, value: Any) -> bool:
    axis = experiment.axes.get(key)
    return axis is not None and axis.default == (value,)
