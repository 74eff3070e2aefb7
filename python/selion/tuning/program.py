# SPDX-License-Identifier: Apache-2.0
"""The program that measures: what it is asked, and what it answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selion import job, places
from selion.explanation import Explanation
from selion.mistake import Failure, Mistake

_name = "study_tune"
_usage_status = 2


def _ask(arguments: Sequence[str], **changes: str) -> dict[str, Any]:
    line = [str(places.study_program(_name)), *arguments]
    child = job.start(
        line, job.environment(changes), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        out, errors = child.communicate()
    except BaseException:
        job.kill_group(child.pid)
        child.wait()
        raise
    said = errors.decode(errors="replace").strip()
    if child.returncode == _usage_status:
        raise Mistake(said.removeprefix("study_tune: ").removeprefix("selion: "))
    if child.returncode != 0:
        raise Failure(
            f"The measuring program ended with exit status {job.exit_status(child.returncode)}: "
            f"{said or 'it said nothing'}"
        )
    if said:
        print(said, file=sys.stderr)
    return dict(json.loads(out))


@dataclass(frozen=True)
class Place:
    """A short name of this host, and where its table belongs."""

    host: str
    path: Path


def place() -> Place:
    """@error Failure if the measuring program is not built."""
    found = _ask(["place"], SELION_TUNING="off")
    return Place(found["host"], Path(found["path"]))


def explain(machine: str, collective: str, size: int, table: str | None = None) -> Explanation:
    """What runs, why, and what was measured. @param size bytes of a block. @param table another
    one than programs use now.

    @error Mistake for a machine or collective that does not exist.
    """
    used = {} if table is None else {"SELION_TUNING": table}
    found = _ask(["explain", collective, str(size)], SELION_MACHINE=machine, **used)
    measured = [(each["way"], each["ns"]) for each in found["measured"]]
    return Explanation(
        found["collective"], found["bytes"], found["members"], found["way"], found["reason"],
        found["why"], found["measured_bytes"], found["measured_members"], measured,
    )


@dataclass(frozen=True)
class Effort:
    """How a cell is measured."""

    seconds: float
    seed: int = 1
    is_exhaustive: bool = False
    any_order: bool = False

    def options(self) -> list[str]:
        return [
            "--seconds", f"{self.seconds:.4f}", "--seed", str(self.seed),
            *(["--exhaustive"] if self.is_exhaustive else []),
            *(["--any-order"] if self.any_order else []),
        ]


def measure(machine: str, collective: str, size: int, how: Effort,
            table: str = "off") -> dict[str, Any]:
    """Every way of a collective on a machine. @param table that tells the usual way."""
    return _ask(
        ["measure", collective, str(size), *how.options()],
        SELION_MACHINE=machine,
        SELION_TUNING=table,
    )
