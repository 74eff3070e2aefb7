# SPDX-License-Identifier: Apache-2.0
"""Result rows: made from what a program prints, kept in results.jsonl, read again to go on."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from selion.mistake import Mistake, listing
from selion.study.catalog import Experiment, Metric
from selion.study.plan import Point, canonical

Row = dict[str, Any]

_needed_keys = {"experiment", "machine", "params", "metric", "value", "repetition", "seed"}
_printed_keys = {"params", "metric", "value", "unit", "p5", "p95", "n", "repetition", "ranks"}


class BadRow(Exception):
    """A program printed something that is no row of its experiment."""


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def parse_printed(line: str) -> Row:
    """One line of a study program's standard output.

    @error BadRow if it is not a JSON object with the keys of a row.
    """
    try:
        printed = json.loads(line, parse_constant=_no_constant)
    except ValueError as problem:
        raise BadRow(f"a line that is not JSON ({problem}): {line.rstrip()}") from None
    if not isinstance(printed, dict):
        raise BadRow(f"a line that is no JSON object: {line.rstrip()}")
    if "skipped" in printed:
        return printed
    for key in ("params", "metric", "value", "unit"):
        if key not in printed:
            raise BadRow(f"a row without '{key}': {line.rstrip()}")
    unknown = sorted(set(printed) - _printed_keys)
    if unknown:
        raise BadRow(f"a row with the unknown key '{unknown[0]}': {line.rstrip()}")
    return printed


def declared_metric(point: Point, printed: Row) -> Metric:
    """The metric that a printed row belongs to.

    @error BadRow if study.toml says otherwise than the program.
    """
    metrics = point.experiment.metrics
    metric = metrics.get(printed["metric"])
    if metric is None:
        raise BadRow(f"the metric '{printed['metric']}'; study.toml declares {listing(metrics)}")
    if printed["unit"] != metric.unit:
        raise BadRow(
            f"'{metric.name}' in the unit '{printed['unit']}'; study.toml says '{metric.unit}'"
        )
    extra = {key: printed["params"][key] for key in metric.extra if key in printed["params"]}
    kept = {key: value for key, value in point.params.items() if key not in metric.without}
    if canonical(printed["params"]) != canonical({**kept, **extra}):
        raise BadRow(
            f"a row for {json.dumps(printed['params'])} when it was run for "
            f"{json.dumps(dict(point.params))}"
        )
    return metric


def result_row(point: Point, printed: Row, ranks: int | None, seed: int) -> Row:
    """A row as it is kept, in the order in which people read it. `published` is added elsewhere."""
    row: Row = {
        "study": point.study,
        "experiment": point.experiment.name,
        "machine": point.machine,
        "ranks": printed.get("ranks", ranks),
        "params": printed["params"],
        "metric": printed["metric"],
        "value": printed["value"],
        "unit": printed["unit"],
    }
    row.update({key: printed[key] for key in ("p5", "p95", "n") if key in printed})
    row.update(repetition=printed.get("repetition", 0), seed=seed)
    return row


class ResultFile:
    """DIR/results.jsonl: a header, then rows, appended whole as they are measured.

    While open, the folder is locked against a second run.
    @error Mistake if another run writes there.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise Mistake(f"Another run writes to {folder}; choose another --out.") from None
        self._file: int | None = None

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
        os.close(self._lock)

    def begin(self, header: Row) -> None:
        """Starts anew; an earlier file is kept beside it as results.previous.jsonl."""
        if self.path.exists():
            self.path.replace(self.path.with_name("results.previous.jsonl"))
        self._open()
        self._write([header])

    def go_on(self, header: Row, rows: Sequence[Row]) -> None:
        """Keeps `rows` (and the header they were written under) and appends after them."""
        unfinished = self.path.with_name("results.unfinished.jsonl")
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (header, *rows))
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self.path)
        self._open()

    def append(self, row: Row) -> None:
        self._write([row])

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def _write(self, lines: Iterable[Row]) -> None:
        assert self._file is not None
        for line in lines:
            os.write(self._file, (json.dumps(line, ensure_ascii=False) + "\n").encode())


def read_results(path: Path) -> tuple[Row | None, list[Row]]:
    """Header and rows of a results.jsonl; (None, []) if it does not exist or is empty.

    A last line that an interruption cut short is left out.
    @error Mistake if another line is damaged.
    """
    if not path.exists():
        return None, []
    lines = path.read_bytes().split(b"\n")
    objects: list[Row] = []
    for number, line in enumerate(lines, start=1):
        is_cut = number == len(lines)
        if is_cut:  # what follows the last line feed: nothing, or a line without its end
            break
        try:
            content = json.loads(line)
        except ValueError:
            content = None
        needed = _needed_keys if objects else {"selion"}
        if not isinstance(content, dict) or not needed <= content.keys():
            raise Mistake(
                f"{path}, line {number} is no {'row' if objects else 'header'} of results; "
                "move the file away or choose another --out."
            )
        objects.append(content)
    return (objects[0], objects[1:]) if objects else (None, [])


def _point_of(row: Row, experiments: Mapping[str, Experiment]) -> tuple[str, str, str]:
    params = row["params"]
    experiment = experiments.get(row["experiment"])
    if experiment and row["metric"] in experiment.metrics:
        metric = experiment.metrics[row["metric"]]
        params = {key: value for key, value in params.items() if key not in metric.extra}
        params = {**params, **metric.without}
    return (row["experiment"], row["machine"], canonical(params))


class Finished:
    """Which repetitions of which points a results file holds completely.

    A repetition is complete if every metric that is due has a row. A metric with extra params has
    an unknown number of rows; there the point is complete if rows of another one follow it, since a
    run stops at a point that fails.
    """

    def __init__(
        self, rows: Sequence[Row], experiments: Mapping[str, Experiment], seed: int
    ) -> None:
        self._experiments = experiments
        self._metrics: dict[tuple[tuple[str, str, str], int], set[str]] = {}
        self._seed = seed
        self._last: tuple[str, str, str] | None = None
        for row in rows:
            point = _point_of(row, experiments)
            self._last = point
            if row["seed"] == seed:
                self._metrics.setdefault((point, row["repetition"]), set()).add(row["metric"])

    def holds(self, point: Point, repetition: int) -> bool:
        metrics = point.experiment.metrics.values()
        due = [m for m in metrics if m.is_due(point.params)]
        if point.identity == self._last and any(metric.extra for metric in due):
            return False
        found = self._metrics.get((point.identity, repetition), set())
        return bool(found) and all(metric.name in found for metric in due)

    def keeps(self, row: Row, points: Mapping[tuple[str, str, str], Point]) -> bool:
        """Whether a row stays when the run goes on: all but those of points to be run again."""
        point = points.get(_point_of(row, self._experiments))
        return point is None or row["seed"] != self._seed or self.holds(point, row["repetition"])
