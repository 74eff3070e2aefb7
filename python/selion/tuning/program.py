# SPDX-License-Identifier: Apache-2.0
"""The program that measures: what it is asked, and what it answers."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selion import places
from selion.explanation import Explanation
from selion.measuring_program import ask, said_by
from selion.mistake import Failure

_name = "study_tune"
_digest_letters = 12


def digest() -> str | None:
    """What tells this program, which has the library within it, from that of another build; None if
    it is not built."""
    try:
        content = places.study_program(_name).read_bytes()
    except (Failure, OSError):
        return None
    return hashlib.sha256(content).hexdigest()[:_digest_letters]


@dataclass(frozen=True)
class Place:
    """A short name of this host, and where its table belongs."""

    host: str
    path: Path


def place() -> Place:
    """@error Failure if the measuring program is not built."""
    found = ask(_name, ["place"], SELION_MACHINE="threads", SELION_TUNING="off")
    return Place(found["host"], Path(found["path"]))


@dataclass(frozen=True)
class Team:
    """The ranks of a machine. @param machine as tables name it."""

    machine: str
    members: int


def team_of(machine: str) -> Team:
    """@error Mistake for a machine that does not exist, Failure if it cannot be started."""
    found = ask(_name, ["explain", "barrier", "0"], SELION_MACHINE=machine, SELION_TUNING="off")
    return Team(found["machine"], found["members"])


def trouble_with(path: Path, machine: str) -> str:
    """Why jobs on a machine ignore a table, or rows of it, as the library says it after the file's
    name; empty if they use it."""
    absolute = str(path.absolute())
    said = said_by(_name, ["explain", "barrier", "0"], SELION_MACHINE=machine,
                   SELION_TUNING=absolute)
    found = re.search(rf"warning: the tuning file {re.escape(absolute)} (.+)$", said, re.M)
    return found[1].partition("; it is ignored")[0] if found else ""


def explain(machine: str, collective: str, size: int, table: str | None = None) -> Explanation:
    """What runs, why, and what was measured. @param size bytes of a block. @param table another
    one than programs use now.

    @error Mistake for a machine or collective that does not exist.
    """
    used = {} if table is None else {"SELION_TUNING": table}
    found = ask(_name, ["explain", collective, str(size)], SELION_MACHINE=machine, **used)
    candidates = [(each["way"], each["ns"]) for each in found["candidates"]]
    return Explanation(
        found["collective"], found["bytes"], found["members"], found["way"], found["reason"],
        found["why"], found["is_measured"], found["known_bytes"], found["known_members"],
        candidates,
    )


@dataclass(frozen=True)
class Effort:
    """How a cell is measured."""

    seconds: float
    seed: int = 1
    is_exhaustive: bool = False
    any_order: bool = False
    ways: tuple[str, ...] = ()  # none: all that there are

    def options(self) -> list[str]:
        return [
            "--seconds", f"{self.seconds:.4f}", "--seed", str(self.seed),
            *(["--exhaustive"] if self.is_exhaustive else []),
            *(["--any-order"] if self.any_order else []),
            *(["--ways", ",".join(self.ways)] if self.ways else []),
        ]


def measure(machine: str, collective: str, size: int, how: Effort,
            table: str = "off") -> dict[str, Any]:
    """Every way of a collective on a machine. @param table that tells the usual way."""
    return ask(
        _name,
        ["measure", collective, str(size), *how.options()],
        SELION_MACHINE=machine,
        SELION_TUNING=table,
    )
