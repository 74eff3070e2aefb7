# SPDX-License-Identifier: Apache-2.0
"""The table of measured collectives: its rows, and the file that the library reads.

The file is JSON, one row a line. The library reads these lines only, and compares them with a check
sum, so a file that was changed or cut is known to be damaged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selion.mistake import Mistake
from selion.whole_file import is_special, write_whole

format_name = "selion tuning 1"
# Of two ways that differ by less than the noise, trees grow slower with the ranks.
_flat_handicap = 1.03


@dataclass(frozen=True)
class Place:
    """What a row is for. @param machine kind. @param size bytes of a block, at most."""

    collective: str
    machine: str
    members: int
    size: int

    def __str__(self) -> str:
        return f"{self.collective} {self.machine} {self.members} {self.size}"


Row = Mapping[str, float]
"""Nanoseconds of each way, those that are to be chosen first in front."""


def is_flat(way: str) -> bool:
    """Whether its messages grow with the square of the ranks, or one rank has them all."""
    return way.split(":")[1:2] in (["flat"], ["pairwise"])


def row_of(measured: Mapping[str, Any]) -> tuple[Place, Row]:
    """From what the measuring program says of a cell."""
    place = Place(measured["collective"], measured["machine"], measured["members"],
                  measured["bytes"])

    def order(found: Mapping[str, Any]) -> tuple[bool, float]:
        handicap = _flat_handicap if is_flat(found["way"]) else 1.0
        return found["is_out"], found["ns"] * handicap

    return place, {each["way"]: each["ns"] for each in sorted(measured["rows"], key=order)}


def row_text(place: Place, row: Row) -> str:
    return " ".join([str(place), *(f"{way}={ns:g}" for way, ns in row.items())])


def _read_row(text: str) -> tuple[Place, Row]:
    collective, machine, members, size, *ways = text.split(" ")
    parts = [way.rpartition("=") for way in ways]
    return (Place(collective, machine, int(members), int(size)),
            {way: float(ns) for way, _, ns in parts})


def check_of(host: str, rows: list[str]) -> str:
    """FNV-1a over host and rows, each after a line feed."""
    value = 0xCBF29CE484222325
    for byte in "\n".join([host, *rows]).encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def write(path: Path, host: str, rows: Mapping[Place, Row], about: Mapping[str, Any]) -> None:
    """Replaces the file at once, so that nobody ever reads half of it.

    @param about where the rows come from; its keys are not those of the table, as the library
    tells them by the line.
    @error Failure if it cannot be written.
    """
    texts = [row_text(place, rows[place]) for place in sorted(rows, key=str)]
    content = {"format": format_name, "host": host, "about": dict(about), "rows": texts,
               "check": check_of(host, texts)}
    write_whole(path, json.dumps(content, indent=1) + "\n")


def searches(path: Path, rows: Iterable[Place]) -> list[dict[str, Any]]:
    """Those that the rows of a table come from: each with the places of its rows as `measured`.

    @param rows of the table; if it tells of one search only, all of them are of that one.
    """
    try:
        about = dict(json.loads(path.read_text(encoding="utf-8"))["about"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    if "searches" not in about:
        about.pop("violations", None)
        return [{**about, "measured": sorted(map(str, rows))}] if about else []
    return [each for each in about["searches"] if isinstance(each.get("measured"), list)]


def with_search(earlier: Iterable[Mapping[str, Any]], new: Mapping[str, Any],
                measured: Iterable[Place], rows: Iterable[Place]) -> list[dict[str, Any]]:
    """The searches of a table to which a new one has come: of each what is still its own, and those
    that nothing is left of not at all.

    @param measured by the new one. @param rows of the whole table then.
    """
    own = set(map(str, measured))
    left = set(map(str, rows)) - own
    kept = [{**each, "measured": [place for place in each["measured"] if place in left]}
            for each in earlier]
    return [*(each for each in kept if each["measured"]), {**new, "measured": sorted(own)}]


def read(path: Path, host: str) -> dict[Place, Row]:
    """The rows of a table; none where there is no file.

    @error Mistake for a file that is damaged, or another host's: it is not to be lost.
    """
    refusal = f"'{path}' %s; it is left as it is, so move it away or choose another --output."
    if is_special(path):
        raise Mistake(f"'{path}' is no ordinary file; choose another --output.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != format_name:
            raise Mistake(refusal % "is of another format")
        if content["check"] != check_of(content["host"], content["rows"]):
            raise Mistake(refusal % "is damaged")
        if content["host"] != host:
            raise Mistake(refusal % "is the table of another host")
        return dict(_read_row(text) for text in content["rows"])
    except Mistake:
        raise
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise Mistake(f"'{path}' cannot be read: {problem.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Mistake(refusal % "is damaged or no tuning table") from None
