# SPDX-License-Identifier: Apache-2.0
"""Result rows: made from what a program prints, kept in results.jsonl, read again to go on."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selion.mistake import Failure, Mistake, listing
from selion.study.catalog import Experiment, Metric
from selion.study.plan import Point, canonical
from selion.whole_file import replace_whole

Row = dict[str, Any]

#: What a row of a file needs so that its point can be told; beside them a value of any type.
_needed_types = {
    "study": str,
    "experiment": str,
    "machine": str,
    "params": dict,
    "metric": str,
    "repetition": int,
    "seed": int,
}
#: Beside a results file, what a new run has put aside.
previous_name = "results.previous.jsonl"
#: Keys of a header whose values are texts by names.
tables = ("constants", "knobs", "programs")
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


@contextlib.contextmanager
def _usable(path: Path) -> Iterator[None]:
    """@error Mistake where the system refuses a file or folder."""
    try:
        yield
    except OSError as problem:
        raise Mistake(
            f"{path} cannot hold results: {problem.strerror}; choose another --out."
        ) from None


@dataclass(frozen=True)
class Part:
    """Rows that were measured under one header."""

    header: Row
    rows: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Results:
    """What a results file holds; without parts if it does not exist or is empty.

    `is_cut` if an interruption cut its last line short, which is left out. Rows before it may then
    lack others of their point.
    """

    parts: Sequence[Part] = ()
    is_cut: bool = False

    @property
    def rows(self) -> list[Row]:
        return [row for part in self.parts for row in part.rows]


class ResultFile:
    """DIR/results.jsonl: a header, then rows, those of a point appended together. A run that goes
    on under other conditions puts a header of its own before its rows.

    While open, the folder is locked against a second run.
    @error Mistake if another run writes there, or the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.jsonl"
        with _usable(folder):
            with contextlib.suppress(FileExistsError):  # what is no folder cannot be opened as one
                folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with _usable(folder):
                self._take_lock(folder)
        except Mistake:
            os.close(self._lock)
            raise
        self._file: int | None = None

    def _take_lock(self, folder: Path) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Mistake(f"Another run writes to {folder}; choose another --out.") from None

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
        os.close(self._lock)

    def read(self) -> Results:
        """What earlier runs have left.

        @error Mistake if a line other than a last one that was cut short is damaged.
        """
        with _usable(self.path):
            text = self.path.read_bytes() if self.path.exists() else b""
        *lines, rest = text.split(b"\n")
        parts: list[Part] = []
        for number, line in enumerate(lines, start=1):
            content = _parsed(line)
            if _is_header(content):
                parts.append(Part(content))
            elif parts and _is_row(content):
                parts[-1].rows.append(content)
            else:
                raise Mistake(
                    f"{self.path}, line {number} is no {'row' if parts else 'header'} of "
                    "results; move the file away or choose another --out."
                )
        return Results(parts, bool(rest) and bool(parts))

    def begin(self, header: Row) -> None:
        """Starts anew. Rows of an earlier file are kept beside it as results.previous.jsonl, which
        a file without rows does not replace.

        @error Mistake, Failure
        """
        with _usable(self.path):
            if self._lacks_rows():
                self.path.unlink()
            elif self.path.exists() and not self.path.is_dir():
                self.path.replace(self.path.with_name(previous_name))
            self._open()
        self.append([header])

    def _lacks_rows(self) -> bool:
        """Whether there is a file, with nothing but a header."""
        if not self.path.is_file():
            return False
        first, _, rest = self.path.read_bytes().partition(b"\n")
        return not rest and (not first or _is_header(_parsed(first)))

    def go_on(self, parts: Sequence[Part]) -> None:
        """Keeps `parts` and appends after them.

        @error Mistake
        """
        lines = [line for part in parts for line in (part.header, *part.rows)]
        with _usable(self.path):
            replace_whole(self.path, _text_of(lines))
            self._open()

    def append(self, lines: Sequence[Row]) -> None:
        """All of them, or none.

        @error Failure if there is no room for them.
        """
        assert self._file is not None
        text = _text_of(lines)
        before = os.fstat(self._file).st_size
        try:
            while text:
                text = text[os.write(self._file, text) :]
        except OSError as problem:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            raise Failure(f"{self.path} cannot be written: {problem.strerror}.") from None

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def _text_of(lines: Iterable[Row]) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _parsed(line: bytes) -> Any:
    """What a line says; None if it is not JSON, or is nested more deeply than can be read."""
    try:
        return json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None


def _is_header(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and "selion" in content
        and "metric" not in content
        and all(isinstance(content.get(key, {}), dict) for key in tables)
    )


def _is_row(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and "value" in content
        and all(isinstance(content.get(key), kind) for key, kind in _needed_types.items())
    )


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

    A repetition is complete if every metric that is due has a row: rows of a point are written
    together. In a file that was cut short, the last point may lack rows that nobody can count,
    those of a metric with extra params or of an optional one; such a point is not trusted.
    """

    def __init__(self, found: Results, experiments: Mapping[str, Experiment], seed: int) -> None:
        self._experiments = experiments
        self._metrics: dict[tuple[tuple[str, str, str], int], set[str]] = {}
        self._seed = seed
        self._distrusted = self._last_point(found.rows[-1]) if found.is_cut and found.rows else None
        for row in found.rows:
            if row["seed"] == seed and not self._distrusts(row):
                key = (_point_of(row, experiments), row["repetition"])
                self._metrics.setdefault(key, set()).add(row["metric"])

    def holds(self, point: Point, repetition: int) -> bool:
        metrics = point.experiment.metrics.values()
        found = self._metrics.get((point.identity, repetition), set())
        return bool(found) and all(m.name in found for m in metrics if m.is_due(point.params))

    def keeps(self, row: Row, points: Mapping[tuple[str, str, str], Point]) -> bool:
        """Whether a row stays when the run goes on: all but those of points to be run again."""
        if self._distrusts(row):
            return False
        point = points.get(_point_of(row, self._experiments))
        return point is None or row["seed"] != self._seed or self.holds(point, row["repetition"])

    def _last_point(self, row: Row) -> tuple[tuple[str, str, str], int] | None:
        """Point and seed of the last row, unless its metrics tell whether rows are missing."""
        experiment = self._experiments.get(row["experiment"])
        metrics = experiment.metrics.values() if experiment else ()
        is_open = any(metric.extra or metric.optional for metric in metrics)
        return (_point_of(row, self._experiments), row["seed"]) if is_open else None

    def _distrusts(self, row: Row) -> bool:
        return self._distrusted == (_point_of(row, self._experiments), row["seed"])
