# SPDX-License-Identifier: Apache-2.0
"""Reads results files for a report: whatever can be used is, and what cannot is told by line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selion.mistake import Failure
from selion.report.runs import Run, commit_words, run_of
from selion.study import conditions
from selion.study.header import schema
from selion.study.rows import Row, tables

_needed = {
    "study": str,
    "experiment": str,
    "machine": str,
    "params": dict,
    "metric": str,
    "unit": str,
}
_measures = ("p5", "p95")
_results = ("value", "published")
_marks = ("ranks", "repetition", "seed")
_of_builds = {"selion": "version", "compiler": "compiler", "kernel": "kernel",
              "tuning": "table of collectives"}  # fmt: skip
_largest = 1e300  # of numbers: charts need room for sums and products of them
_numbers = "numbers between -1e300 and 1e300"
# A report's files have a study's name in theirs.
_study_name = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
# Half a surrogate pair, and what XML does not allow.
_no_text = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
file_name = "results.jsonl"
field_name = "field.json"  # what `em3d --field` writes


@dataclass(frozen=True)
class Origin:
    """Where rows were measured, as far as a header says."""

    host: str
    processor: str
    settings: tuple[str, ...] = ()
    """Variables that were set, which constants a simulated machine had, and by what code and
    programs and under which kernel it was."""


@dataclass
class Results:
    """What is known of one study: rows of all files, and under which headers they were measured."""

    study: str
    rows: list[Row] = field(default_factory=list)
    headers: list[Row] = field(default_factory=list)


@dataclass
class Collected:
    """All studies by name, pictures of fields, and what could not be used, in sentences."""

    studies: dict[str, Results] = field(default_factory=dict)
    fields: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    """All that have been looked at, as absolute paths."""


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _texts(content: Any) -> Iterator[str]:
    """All texts within, keys as well."""
    rest = [content]
    while rest:
        each = rest.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            rest += each
        elif isinstance(each, dict):
            rest += [*each, *each.values()]


def _is_number(value: Any) -> bool:
    """Whether it is one, and one that charts can draw."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) \
        and abs(value) < _largest


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool)) or _is_number(value)


def _fault_of_values(row: Row) -> str | None:
    for key in _results:
        value = row.get(key)
        if not all(map(_is_scalar, value if isinstance(value, list) else [value])):
            return (f"is no row: its '{key}' is not legal; legal are text, {_numbers}, and lists "
                    "of them")
    for key in _measures:
        if row.get(key) is not None and not _is_number(row[key]):
            return f"is no row: its '{key}' is not legal; legal are {_numbers}"
    if not all(map(_is_scalar, [*row["params"].values(), *map(row.get, _marks)])):
        return (f"is no row: its 'params', {', '.join(map(repr, _marks))} are not all legal; "
                f"legal are text and {_numbers}")
    return None


def _fault(content: dict[str, Any] | None) -> str | None:
    """Why a line is no row; None if it is one."""
    if content is None:
        return "is not a JSON object"
    if any(map(_no_text.search, _texts(content))):
        return "is no text: it holds control characters or half a surrogate pair"
    if "value" not in content:
        return "is no row: it has no 'value'"
    for key, kind in _needed.items():
        if not isinstance(content.get(key), kind):
            return f"is no row: it has no '{key}'"
    if not _study_name.fullmatch(content["study"]):
        return ("is no row: its 'study' is no name of one; legal are letters, digits, '_', '-' "
                "and, but for the beginning, '.'")
    return _fault_of_values(content)


def _origin_of(header: Row, path: Path, row: Row) -> Origin:
    """@param path of the file, which stands for a host that nobody noted."""
    processor = f"{header.get('cpu', 'a processor that nobody noted')}, " \
                f"{header.get('cores', '?')} processors"
    settings = [f"{name}={value}" for name, value in conditions.settings(header).items()]
    known = header.get("constants", {})
    own = row["machine"].partition(",")[0]
    if own in known:
        settings.append(f"constants {known[own]}")
    named = {each.partition(",")[0] for each in conditions.specs_of(own, row["params"])} - {own}
    settings += [f"constants of {each} {known[each]}" for each in sorted(named) if each in known]
    settings.append(commit_words(header))
    settings += [f"programs of {folder}"
                 for folder in sorted(set(header.get("programs", {}).values()))]
    settings += [f"{words} {header[key]}" for key, words in _of_builds.items()
                 if header.get(key, "none") not in ("", "none", None)]
    return Origin(_host_of(header, path), processor, tuple(settings))


def _host_of(header: Row, path: Path) -> str:
    return str(header.get("host") or f"the host of {path}")


def _is_table(content: Any) -> bool:
    """Whether it is an object of texts."""
    return isinstance(content, dict) and all(isinstance(each, str) for each in content.values())


def _listing(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(each) for each in numbers[:5])
    rest = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{rest}"


class _File:
    """One results file as it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._faults: dict[str, list[int]] = {}
        self.headers: list[Row] = []
        self._have_rows: set[int] = set()  # numbers of headers
        self._headless: list[int] = []  # lines of rows before any header
        self._first_header = 0  # its line
        self.notes: list[str] = []

    def rows(self) -> Iterator[Row]:
        """Each with its `origin` and its `run`, as the last header before it says."""
        lines = self._path.read_bytes().split(b"\n")
        is_cut = lines[-1] != b""
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            content = _object(line)
            fault = _fault(content)
            if content is not None and "selion" in content and "metric" not in content:
                self._take_header(number, content)
            elif fault is None and content is not None:
                if self.headers:
                    self._have_rows.add(len(self.headers) - 1)
                else:
                    self._headless.append(number)
                yield {**content, "origin": self._origin(content), "run": self._run()}
            elif is_cut and number == len(lines) and content is None:
                self.notes.append(f"{self._path}, line {number} is cut off in the middle.")
            else:
                self._faults.setdefault(fault or "", []).append(number)
        for fault, numbers in self._faults.items():
            verb = fault if len(numbers) == 1 else fault.replace("is ", "are ", 1)
            self.notes.append(f"{self._path}, {_listing(numbers)} {verb}; left out.")
        if not self.headers:
            self.notes.append(
                f"{self._path} has no header: nobody knows where its rows were measured."
            )
        elif self._headless:
            first, last = self._headless[0], self._headless[-1]
            where = f"line {first} comes" if first == last else f"lines {first} to {last} come"
            self.notes.append(
                f"{self._path}, {where} before the header in line {self._first_header}: nobody "
                "knows where such rows were measured."
            )

    def _take_header(self, number: int, content: Row) -> None:
        if self.headers and content.get("resumed") is not True:
            self.notes.append(
                f"{self._path}, line {number} is a second header: files were joined, or two runs "
                "wrote to one."
            )
        header = {key: value for key, value in content.items()
                  if (_is_table(value) if key in tables else _is_scalar(value))
                  and not any(map(_no_text.search, _texts({key: value})))}
        self._first_header = self._first_header or number
        self.headers.append(header)
        version = header.get("schema", 1)
        if version != schema:
            self.notes.append(
                f"{self._path}, line {number}: rows of schema {version}, and this version of "
                f"selion knows {schema}; shown as far as they are understood."
            )

    def headers_of_rows(self) -> list[Row]:
        return [header for number, header in enumerate(self.headers) if number in self._have_rows]

    def _origin(self, row: Row) -> Origin:
        """What the last header so far says."""
        return _origin_of(self.headers[-1] if self.headers else {}, self._path, row)

    def _run(self) -> Run:
        """As `_origin`."""
        header = self.headers[-1] if self.headers else {}
        return run_of(header, _host_of(header, self._path))


def _take(path: Path, into: Collected) -> None:
    file = _File(path)
    found: dict[str, int] = {}
    try:
        rows = list(file.rows())
    except OSError as problem:
        into.notes.append(f"{path} cannot be read: {problem.strerror}.")
        return
    for row in rows:
        name = row["study"]
        into.studies.setdefault(name, Results(name)).rows.append(row)
        found[name] = found.get(name, 0) + 1
    into.notes += file.notes
    if len(found) > 1:
        parts = ", ".join(f"{count} of '{name}'" for name, count in found.items())
        into.notes.append(f"{path} mixes rows of studies ({parts}); each is shown with its own.")
    if not found and not file.headers:
        into.notes.append(f"{path} has no rows.")
    for name in found:
        into.studies[name].headers += file.headers_of_rows()


def _inside(place: Path, name: str) -> list[Path]:
    """Files of that name in a folder or in its folders."""
    return sorted({*place.glob(name), *place.glob(f"*/{name}")})


def collect(places: Sequence[Path]) -> Collected:
    """@param places folders of `selion study`, or folders of such folders, or results files.

    @error Failure if one does not exist, or if no row is found in any.
    """
    collected = Collected()
    files: list[Path] = []
    for place in places:
        if place.is_dir():
            files += _inside(place, file_name)
            collected.fields += _inside(place, field_name)
        elif place.is_file():
            files.append(place)
        elif place.exists():
            raise Failure(f"'{place}' is neither a folder nor a file; legal are folders of "
                          f"'selion study', and {file_name} in them.")
        else:
            raise Failure(f"There is no folder or file '{place}'; 'selion study all --quick' "
                          "makes selion-out with results.")
    collected.files = list(dict.fromkeys(file.resolve() for file in files))
    for path in collected.files:
        _take(_shown(path), collected)
    if not collected.studies:
        where = ", ".join(str(place) for place in places)
        raise Failure(" ".join([
            f"No results were found in {where}; 'selion study all --quick' makes some.",
            *collected.notes]))
    return collected


def _shown(path: Path) -> Path:
    """As people want to read it: from here, if it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
