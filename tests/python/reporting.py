# SPDX-License-Identifier: Apache-2.0
"""What the tests of reports share: rows as a study would write them, without running it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import root
from selion.report.collect import collect
from selion.report.page import Report
from selion.report.sections import sections_of
from selion.study import catalog
from selion.study.plan import Point, Request, points
from selion.study.published import Published

five = ("mesh-broadcast", "multicore-collectives", "software-cache", "one-sided", "offload")
header = {"selion": "0.1.0", "schema": 1, "commit": "abc", "host": "h", "cpu": "A processor",
          "cores": 2, "kernel": "6", "compiler": "g++", "knobs": {}}
Row = dict[str, Any]
# What programs add to a point's params.
_added: dict[tuple[str, ...], list[Row]] = {
    ("from", "to"): [{"from": core, "to": core ^ 1} for core in range(4)],
    ("rank",): [{"rank": 0}, {"rank": 1}],
    ("choice",): [{"choice": word} for word in ("flat", "independent", "dependent")],
}


def studies() -> dict[str, catalog.Study]:
    return catalog.read_all(root / "studies")


def _values(point: Point, number: int) -> list[Row]:
    """A row for each metric of a point; values are no measurements and differ between points."""
    rows = []
    for metric in point.experiment.metrics.values():
        if not metric.when.holds(point.params):
            continue
        params = {key: value for key, value in point.params.items() if key not in metric.without}
        for extra in _added.get(metric.extra, [{}]):
            rows.append({
                "study": point.study, "experiment": point.experiment.name,
                "machine": point.machine, "ranks": point.experiment.ranks or 2,
                "params": {**params, **extra}, "metric": metric.name,
                "value": 1.5 + number % 17, "unit": metric.unit,
                "repetition": 0, "seed": 1})  # fmt: skip
    return rows


def rows_of(study: catalog.Study, *, quick: bool = False) -> list[Row]:
    """Rows of all points of a study."""
    published = Published(study)
    rows = []
    for number, point in enumerate(points(study, Request(quick=quick))):
        for row in _values(point, number):
            cell = published.find(point.experiment, row["metric"], row["params"])
            rows.append({**row, "published": cell.value} if cell else row)
    return rows


def write(folder: Path, name: str, lines: list[Any]) -> Path:
    """A results file of such lines; text stands as it is."""
    path = folder / name / "results.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines]
    path.write_text("".join(texts), encoding="utf-8")
    return path


def make(folder: Path) -> Report:
    collected = collect([folder])
    return Report("A report", sections_of(collected.studies, studies()), [], collected.notes)
