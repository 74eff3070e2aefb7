# SPDX-License-Identifier: Apache-2.0
"""The figures of a study's source: published.csv beside its study.toml."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selion.mistake import Failure, listing
from selion.study.catalog import Experiment, Study
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


def _read_value(text: str) -> Any:
    """A number or list as JSON; anything else is text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _read_cells(path: Path, study: str) -> Iterator[Cell]:
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
            if row["study"] == study:
                yield Cell(
                    row["experiment"], params, row["metric"], _read_value(row["value"]), row["unit"]
                )


class Published:
    """Looks up the published figure for a row.

    A figure belongs to a row if experiment, metric and params agree. Where a row has params that
    the figure lacks, these must have the only default of their axis: the source had them fixed.
    """

    def __init__(self, study: Study) -> None:
        path = study.folder / "published.csv"
        self.cells = list(_read_cells(path, study.name)) if path.is_file() else []
        self._study = study
        self._exact: dict[tuple[str, str, str], Cell] = {}
        self._keys: dict[tuple[str, str], set[frozenset[str]]] = {}
        for cell in self.cells:
            self._exact[cell.experiment, cell.metric, canonical(cell.params)] = cell
            keys = self._keys.setdefault((cell.experiment, cell.metric), set())
            keys.add(frozenset(cell.params))

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


def _is_fixed(experiment: Experiment, key: str, value: Any) -> bool:
    axis = experiment.axes.get(key)
    return axis is not None and axis.default == (value,)
