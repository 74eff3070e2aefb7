# SPDX-License-Identifier: Apache-2.0
"""Reads results files for a report: whatever can be used is, and what cannot is told by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selion.mistake import Failure
from selion.study.header import schema
from selion.study.rows import Row

_needed = {
    "study": str,
    "experiment": str,
    "machine": str,
    "params": dict,
    "metric": str,
    "unit": str,
}
file_name = "results.jsonl"
field_name = "field.json"  # what `em3d --field` writes


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


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(line, parse_constant=_no_constant)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _fault(content: dict[str, Any] | None) -> str | None:
    """Why a line is no row; None if it is one."""
    if content is None:
        return "is not a JSON object"
    if "value" not in content:
        return "is no row: it has no 'value'"
    for key, kind in _needed.items():
        if not isinstance(content.get(key), kind):
            return f"is no row: it has no '{key}'"
    return None


def _listing(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(each) for each in numbers[:5])
    rest = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{rest}"


class _File:
    """One results file as it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._faults: dict[str, list[int]] = {}
        self.header: Row | None = None
        self.notes: list[str] = []

    def rows(self) -> Iterator[Row]:
        lines = self._path.read_bytes().split(b"\n")
        is_cut = lines[-1] != b""
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            content = _object(line)
            if content is not None and "selion" in content and "metric" not in content:
                self._take_header(number, content)
                continue
            fault = _fault(content)
            if fault is None and content is not None:
                yield content
            elif is_cut and number == len(lines):
                self.notes.append(f"{self._path}, line {number} is cut off in the middle.")
            else:
                self._faults.setdefault(fault or "", []).append(number)
        for fault, numbers in self._faults.items():
            verb = fault if len(numbers) == 1 else fault.replace("is ", "are ", 1)
            self.notes.append(f"{self._path}, {_listing(numbers)} {verb}; left out.")
        if self.header is None:
            self.notes.append(
                f"{self._path} has no header: nobody knows where its rows were measured."
            )

    def _take_header(self, number: int, content: Row) -> None:
        if self.header is not None:
            self.notes.append(
                f"{self._path}, line {number} is a second header: files were joined, or two runs "
                "wrote to one."
            )
            return
        self.header = content
        version = content.get("schema", 1)
        if version != schema:
            self.notes.append(
                f"{self._path}, line {number}: rows of schema {version}, and this version of "
                f"selion knows {schema}; shown as far as they are understood."
            )


def _take(path: Path, into: Collected) -> None:
    file = _File(path)
    found: dict[str, int] = {}
    try:
        for row in file.rows():
            name = row["study"]
            into.studies.setdefault(name, Results(name)).rows.append(row)
            found[name] = found.get(name, 0) + 1
    except OSError as problem:
        into.notes.append(f"{path} cannot be read: {problem.strerror}.")
        return
    into.notes += file.notes
    if len(found) > 1:
        parts = ", ".join(f"{count} of '{name}'" for name, count in found.items())
        into.notes.append(f"{path} mixes rows of studies ({parts}); each is shown with its own.")
    if not found and file.header is None:
        into.notes.append(f"{path} has no rows.")
    for name in found:
        if file.header is not None:
            into.studies[name].headers.append(file.header)


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
        else:
            raise Failure(f"There is no folder or file '{place}'; 'selion study all --quick' "
                          "makes selion-out with results.")
    for path in dict.fromkeys(file.resolve() for file in files):
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
