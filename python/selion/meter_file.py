# SPDX-License-Identifier: Apache-2.0
"""What a job wrote with SELION_METERS, and what a study says of links: read and added up.

    found = read(Path("meters.jsonl"))
    rows = aggregate(found.readings)
    mesh = mesh_of(found.links)

Times of links are picoseconds in a file of meters and ticks in a study's results; `Recorded.unit`
says which.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selion.mistake import Mistake, listing

directions = ("east", "south", "west", "north")
inward = "into core"
outward = ("from core", "from DMA", "from events")

_format = 1  # of files of meters that are read here
_most_listed = 12
_most_cores = 16_384
_too_large = 2**64
_most_digits = 19  # of a core's row or column: as many as a whole number of 64 bits may have
_Row = dict[str, Any]
_link_metrics = {
    "link_messages": "messages",
    "link_bytes": "bytes",
    "link_busy_ticks": "busy",
    "link_wait_ticks": "wait",
}
_run_metric = "ticks"
_to_itself = outward[0]  # what a link is in a study that leads from a core to the same one
_identity_keys: tuple[str, ...] = ("experiment", "machine", "seed")  # and the params
_half_pair = re.compile("[\ud800-\udfff]")  # of two surrogates, which no file and no terminal takes
_mesh_name = re.compile(rf"\((\d+),(\d+)\) ({'|'.join((*directions, inward, *outward))})")


@dataclass(frozen=True, slots=True)
class Reading:
    """One meter of one rank."""

    rank: int
    name: str
    unit: str
    """Of timers and operations "ns"; of counters "events", or what else they count."""
    count: int
    """How often."""
    total: int
    """Sum of the amounts; of timers nanoseconds."""
    bytes: int
    site: str
    """File and line where it was used first; "" of waits."""
    kind: str = ""
    """What a program's own meter is not mixed up with: "timer", "count", "operation", "collective",
    "wait", "message"; "" in older files."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One meter of all ranks that have it. `mean`, `min` and `max` are of their totals."""

    name: str
    unit: str
    ranks: int
    """How many have it."""
    mean: float
    min: int
    min_rank: int
    """The first one with that total."""
    max: int
    max_rank: int
    count: int
    """Of all ranks together."""
    bytes: int
    site: str
    """Of the first rank that has one."""
    kind: str
    """As of a reading."""


@dataclass(frozen=True, slots=True)
class Link:
    """What one link of a simulated network has carried."""

    name: str
    messages: int | None
    """None where nobody has written it down."""
    bytes: float
    busy: float
    """Time that something was on it."""
    wait: float
    """Time that messages have waited for it: in meters summed, so it may be longer than the run; in
    a study the time in which one did."""

    @property
    def is_idle(self) -> bool:
        """Nothing was sent over it."""
        return not (self.bytes or self.busy) if self.messages is None else self.messages == 0


@dataclass(frozen=True, slots=True)
class Job:
    """What the first line of a file of meters says; older files have none."""

    machine: str
    ranks: int
    is_virtual: bool
    """Whether times are of the machine's own clock."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a file holds."""

    readings: list[Reading]
    links: list[Link]
    run: float | None
    """Length of the run; None where nobody has written it down."""
    unit: str
    """Of the times of links and of the run: "ps" or "ticks"."""
    note: str = ""
    """A sentence on what was left out."""
    job: Job | None = None

    def percent(self, time: float) -> float | None:
        """Of the run."""
        return 100 * time / self.run if self.run else None


@dataclass(frozen=True, slots=True)
class Mesh:
    """Links by row and column of their core and by what they are: "east", "into core", ..."""

    rows: int
    columns: int
    links: dict[tuple[int, int, str], Link]


# --- lines ----------------------------------------------------------------------------------------


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _lines(path: Path) -> tuple[list[tuple[str, _Row]], str]:
    """The objects of a file, each with its place, FILE:LINE; and a sentence if the last line was
    cut off, as on a full disk, and is none of them."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise Mistake(f"'{path}' cannot be read: {problem.strerror}.") from None
    found: list[tuple[str, _Row]] = []
    lines = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(line, parse_constant=_no_constant)
            text = json.dumps(row, ensure_ascii=False)
        except (ValueError, RecursionError):
            if found and number == len(lines):
                return found, f"{where} is cut off; left out, and more may be missing."
            raise Mistake(f"{where} is not JSON; legal is one JSON object a line.") from None
        if not isinstance(row, dict):
            raise Mistake(f"{where} is no JSON object; legal is one JSON object a line.")
        if _half_pair.search(text):
            raise Mistake(f"{where} holds half a surrogate pair; legal are whole characters.")
        found.append((where, row))
    return found, ""


def _value(row: _Row, key: str, kind: type, where: str) -> Any:
    """@error Mistake if a row lacks it or has something else there."""
    if key not in row:
        raise Mistake(f"{where} has no '{key}'.")
    value = row[key]
    kinds = (int, float) if kind is float else kind
    is_legal = isinstance(value, kinds) and not isinstance(value, bool)
    if isinstance(value, (int, float)):
        is_legal = is_legal and abs(value) < _too_large
    if not is_legal:
        words = {str: "a text", int: "a whole number of 64 bits", float: "a number of 64 bits",
                 dict: "an object"}
        raise Mistake(f"{where}: '{key}' is {json.dumps(value)}; legal is {words[kind]}.")
    return value


def _amount(row: _Row, key: str, kind: type, where: str) -> Any:
    """As `_value`, of what cannot be negative."""
    value = _value(row, key, kind, where)
    if value < 0:
        raise Mistake(f"{where}: '{key}' is {value}; legal is 0 or more.")
    return value


def _job(row: _Row, where: str) -> Job:
    form = _value(row, "format", int, where)
    if form != _format:
        raise Mistake(f"{where}: meters of format {form} are not known.")
    return Job(machine=_value(row, "machine", str, where),
               ranks=_amount(row, "ranks", int, where),
               is_virtual=_value(row, "time", str, where) == "virtual")


def _rank(row: _Row, where: str, job: Job | None) -> int:
    rank = int(_amount(row, "rank", int, where))
    if job is not None and rank >= job.ranks:
        raise Mistake(f"{where}: 'rank' is {rank}; there are {job.ranks} ranks.")
    return rank


def _reading(row: _Row, where: str, job: Job | None) -> Reading:
    return Reading(
        rank=_rank(row, where, job),
        name=_value(row, "name", str, where),
        unit=_value(row, "unit", str, where),
        count=_amount(row, "count", int, where),
        total=_value(row, "total", int, where),
        bytes=_amount(row, "bytes", int, where),
        site=_value(row, "site", str, where),
        kind=_value(row, "kind", str, where) if "kind" in row else "",
    )


def _link_name(row: _Row, where: str) -> str:
    name = _value(row, "link", str, where)
    named = _mesh_name.fullmatch(name)
    digits = max(len(named[1]), len(named[2])) if named else 0
    if digits > _most_digits:
        raise Mistake(f"{where}: 'link' has a row or column of {digits:,} digits; legal are at "
                      f"most {_most_digits}.")
    return str(name)


def _link(row: _Row, where: str) -> Link:
    return Link(
        name=_link_name(row, where),
        messages=_amount(row, "messages", int, where),
        bytes=_amount(row, "bytes", int, where),
        busy=_amount(row, "busy_ps", int, where),
        wait=_amount(row, "wait_ps", int, where),
    )


# --- a study's results ----------------------------------------------------------------------------


class _Run:
    """Rows of a study that belong to one run: links by their two ends, and its length."""

    def __init__(self, identity: _Row) -> None:
        self.identity = identity
        self.links: dict[tuple[int, int], _Row] = {}
        self.ticks: float | None = None

    def add(self, row: _Row, where: str) -> None:
        metric, params = _value(row, "metric", str, where), row["params"]
        if metric == _run_metric and "from" not in params:
            self.ticks = _amount(row, "value", float, where)
        elif metric in _link_metrics:
            ends = (_amount(params, "from", int, where), _amount(params, "to", int, where))
            value = _amount(row, "value", float, where)
            exact = int(value) if value == int(value) else value
            self.links.setdefault(ends, {})[_link_metrics[metric]] = exact


def _check_size(path: Path, cores: int) -> None:
    if cores > _most_cores:
        raise Mistake(f"{path} has links of a mesh of {cores:,} cores; legal are at most "
                      f"{_most_cores:,}.")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _runs(rows: Sequence[tuple[str, _Row]]) -> list[_Run]:
    """Those with links. Of several repetitions the first."""
    runs: dict[str, _Run] = {}
    first: dict[str, Any] = {}
    for where, row in rows:
        params = _value(row, "params", dict, where)
        identity: _Row = {key: row[key] for key in _identity_keys if key in row}
        identity |= {key: each for key, each in params.items() if key not in ("from", "to")}
        key = json.dumps(identity, sort_keys=True)
        if first.setdefault(key, row.get("repetition")) == row.get("repetition"):
            runs.setdefault(key, _Run(identity)).add(row, where)
    return [run for run in runs.values() if run.links]


def _choices(runs: Sequence[_Run]) -> dict[str, list[str]]:
    """What runs differ in, and the values."""
    keys = dict.fromkeys(key for run in runs for key in run.identity)
    found = {key: list(dict.fromkeys(_text(run.identity[key]) for run in runs
                                     if key in run.identity)) for key in keys}
    return {key: values for key, values in found.items()
            if len(values) > 1 or any(key not in run.identity for run in runs)}


def _listed(values: Sequence[str]) -> str:
    more = len(values) - _most_listed
    return listing(values[:_most_listed]) + (f", and {more} more" if more > 0 else "")


def _chosen(path: Path, runs: list[_Run], select: Sequence[str]) -> _Run:
    """@error Mistake if not exactly one run is left."""
    for each in select:
        key, found, value = each.partition("=")
        if not found:
            raise Mistake(f"--select is '{each}'; legal is KEY=VALUE.")
        has = list(dict.fromkeys(_text(run.identity[key]) for run in runs if key in run.identity))
        if not has:
            keys = dict.fromkeys(name for run in runs for name in run.identity)
            raise Mistake(f"{path} has no '{key}' to select by; legal are {listing(keys)}.")
        if value not in has:
            raise Mistake(f"{path} has no run with {each}; legal for {key} are {_listed(has)}.")
        runs = [run for run in runs if key in run.identity and _text(run.identity[key]) == value]
    if len(runs) > 1:
        words = "; ".join(f"{key}={_listed(values)}" for key, values in _choices(runs).items())
        raise Mistake(f"{path} holds {len(runs)} runs with links; choose one with --select "
                      f"KEY=VALUE: {words}.")
    return runs[0]


def _direction(source: int, target: int, shape: tuple[int, int], wraps: bool) -> str | None:
    """The name of a link between two cores of a mesh; None if they are not neighbours."""
    rows, columns = shape
    if max(source, target) >= rows * columns:
        return None
    if source == target:
        return _to_itself
    down = target // columns - source // columns
    across = target % columns - source % columns
    if wraps:
        down = {rows - 1: -1, 1 - rows: 1}.get(down, down) if rows > 2 else down
        across = {columns - 1: -1, 1 - columns: 1}.get(across, across) if columns > 2 else across
    steps = {(0, 1): "east", (1, 0): "south", (0, -1): "west", (-1, 0): "north"}
    return steps.get((down, across))


def _shape(path: Path, run: _Run) -> tuple[tuple[int, int], bool]:
    """Rows and columns, and whether the mesh closes: as given, else the most square shape that
    has room for all cores and in which all links join neighbours."""
    cores = max(max(ends) for ends in run.links) + 1
    _check_size(path, cores)
    rows, columns = (run.identity.get(key) for key in ("rows", "columns"))
    for key, value in (("rows", rows), ("columns", columns)):
        if value is not None and (type(value) is not int or value < 1):
            raise Mistake(f"{path}: '{key}' is {_text(value)}; legal is a whole number from 1.")
    if rows is not None:
        shapes = [(rows, columns or math.ceil(cores / rows))]
    elif columns is not None:
        shapes = [(math.ceil(cores / columns), columns)]
    else:
        shapes = [(math.ceil(cores / wide), wide) for wide in range(1, cores + 1)]
        shapes.sort(key=lambda shape: (math.prod(shape), abs(shape[0] - shape[1]), shape))
    for wraps in (False, True):
        for shape in shapes:
            if all(_direction(*ends, shape, wraps) for ends in run.links):
                return shape, wraps
    tried = f"of {shapes[0][0]} x {shapes[0][1]} cores" if len(shapes) == 1 else "of any shape"
    raise Mistake(f"{path}: the links do not join neighbours of a mesh {tried}; "
                  "legal are 'from' and 'to' numbered row by row.")


def of_study(path: Path, rows: Sequence[tuple[str, _Row]], select: Sequence[str]) -> Recorded:
    """The links of one run of a study.

    @param path where the rows come from, for sentences. @param rows each behind the words that say
        where it stands.
    @error Mistake as `read`.
    """
    runs = _runs(rows)
    if not runs:
        raise Mistake(f"{path} holds results of a study, but none of them is of links "
                      f"({listing(_link_metrics)}).")
    run = _chosen(path, runs, select)
    shape, wraps = _shape(path, run)
    links = []
    for (source, target), figures in run.links.items():
        place = f"({source // shape[1]},{source % shape[1]})"
        direction = _direction(source, target, shape, wraps)
        links.append(Link(f"{place} {direction}",
                          **{"messages": None, "bytes": 0, "busy": 0, "wait": 0, **figures}))
    return Recorded([], links, run.ticks, "ticks")


# --- what others call -----------------------------------------------------------------------------


def read(path: Path, select: Sequence[str] = ()) -> Recorded:
    """Reads a file of meters, or a study's results.jsonl with figures of links.

    @param select KEY=VALUE, each: which run of a study, where there are several.
    @error Mistake if it cannot be read or holds neither, if a line is wrong, or if not exactly one
    run is selected.
    """
    readings: list[Reading] = []
    links: list[Link] = []
    study = []
    run = job = None
    lines, note = _lines(path)
    for where, row in lines:
        if "link" in row:
            links.append(_link(row, where))
            run = _amount(row, "run_ps", int, where) if "run_ps" in row else run
        elif "metric" in row:
            study.append((where, row))
        elif "name" in row:
            readings.append(_reading(row, where, job))
        elif row.get("file") == "meters":
            if job or readings or links:
                raise Mistake(f"{where} begins the meters of a second job; legal are those of one "
                              "in a file.")
            job = _job(row, where)
        elif "selion" not in row:  # the header of a study's results
            raise Mistake(f"{where} is no line of meters: it has neither 'name' nor 'link'.")
    if study and not readings and not links:
        return replace(of_study(path, study, select), note=note)
    if not readings and not links:
        raise Mistake(f"{path} holds no meters: with SELION_METERS={path} the ranks of a job write "
                      "them when they end; those of one that fails may not.")
    if select:
        raise Mistake(f"{path} holds the meters of one job; --select chooses among the runs of a "
                      "study's results.jsonl.")
    return Recorded(readings, links, run, "ps", note, job)


def aggregate(readings: Iterable[Reading]) -> list[Summary]:
    """One summary for each name, unit and kind: times first, and of a unit the largest sum first.

    What one rank has several times is added up before ranks are compared.
    """
    groups: dict[tuple[str, str, str], list[Reading]] = {}
    for reading in readings:
        groups.setdefault((reading.name, reading.unit, reading.kind), []).append(reading)
    found = [_summary(group) for group in groups.values()]
    return sorted(found, key=lambda each: (each.unit != "ns", each.unit, -each.mean * each.ranks,
                                           each.name, each.kind))


def _summary(group: Sequence[Reading]) -> Summary:
    ordered = sorted(group, key=lambda reading: reading.rank)
    totals: dict[int, int] = {}
    for reading in ordered:
        totals[reading.rank] = totals.get(reading.rank, 0) + reading.total
    least, most = min(totals, key=lambda rank: totals[rank]), max(totals, key=lambda r: totals[r])
    return Summary(
        name=group[0].name,
        unit=group[0].unit,
        ranks=len(totals),
        mean=sum(totals.values()) / len(totals),
        min=totals[least],
        min_rank=least,
        max=totals[most],
        max_rank=most,
        count=sum(reading.count for reading in ordered),
        bytes=sum(reading.bytes for reading in ordered),
        site=next((reading.site for reading in ordered if reading.site), ""),
        kind=group[0].kind,
    )


def mesh_of(links: Iterable[Link]) -> Mesh | None:
    """The links with names of a mesh, such as "(2,3) east"; None if there are none."""
    found: dict[tuple[int, int, str], Link] = {}
    for link in links:
        named = _mesh_name.fullmatch(link.name)
        if named:
            found[int(named[1]), int(named[2]), named[3]] = link
    if not found:
        return None
    rows = 1 + max(row for row, _, _ in found)
    columns = 1 + max(column for _, column, _ in found)
    return Mesh(rows, columns, found)
