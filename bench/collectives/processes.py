# SPDX-License-Identifier: Apache-2.0
"""Runs one program of a round to its end: the lines that it prints."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from children import end_groups, start
from collectives.plan import Heat
from surroundings import inherited_with_table

Row = dict[str, Any]
most_seconds = 300  # of one process
# What would change the machine, have Selion record, or the threads wait.
left_out = ("SELION_", "OMP_", "GOMP_")


class Trouble(Exception):
    """Why a program did not measure all, in words that fit into a line."""

    def __init__(self, words: str, rows: list[Row] | None = None) -> None:
        super().__init__(words)
        self.rows = rows or []  # what it had measured


def _run(command: tuple[str, ...], changes: dict[str, str]) -> tuple[str, str, str]:
    """How it ended, output, errors."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            child = start(command, env={**inherited_with_table(left_out), **changes},
                          stdout=out, stderr=errors, stdin=subprocess.DEVNULL)
        except OSError as problem:
            raise Trouble(f"{command[0]} cannot be run: {problem.strerror}") from None
        try:
            status = child.wait(most_seconds)
            end = (f"ended with status {status}" if status >= 0
                   else f"ended by {signal.Signals(-status).name}")
        except subprocess.TimeoutExpired:
            end_groups(child)
            end = f"ended after {most_seconds} s"
        except BaseException:
            end_groups(child)
            raise
        out.seek(0)
        errors.seek(0)
        return end, out.read().decode(errors="replace"), errors.read().decode(errors="replace")


def _parsed(text: str) -> list[Row]:
    """The lines; of a program that was ended, without one that it had only begun."""
    whole = text[:text.rfind("\n") + 1]
    try:
        return [json.loads(line) for line in whole.splitlines() if line.strip()]
    except ValueError:
        raise Trouble("did not print lines of JSON") from None


def measured(command: tuple[str, ...], changes: dict[str, str]) -> list[Row]:
    """One row for each operation. A program that has printed its last line has done its work, even
    if it then falls over its own end, as Debian's OpenSHMEM does.

    @error Trouble, with the program's own words on its second line.
    """
    end, text, errors = _run(command, changes)
    rows = _parsed(text)
    if not rows or rows[-1] != {"complete": True}:
        raise Trouble(f"{end} before all was measured\n{errors.strip()}".rstrip(), rows)
    return rows[:-1]


def lower_quartile(numbers: list[float]) -> float:
    return sorted(numbers)[(len(numbers) - 1) // 4]


def named(heat: Heat, rows: list[Row]) -> list[Row]:
    """Rows with who measured them, and one number for all blocks: a quarter were quicker. Other
    than the median it does not change when something else interrupts half of the blocks."""
    who = {"ranks": heat.ranks, "is_selion": heat.is_selion}
    return [{**row, **who, **({"contestant": heat.name} if heat.is_selion else {}),
             "median_ns": statistics.median(row["ns"]), "typical_ns": lower_quartile(row["ns"])}
            for row in rows]


def signal_ns(threads_program: Path) -> float | None:
    """One way of a flag between two cores now; None where that cannot be measured."""
    command = (str(threads_program), "2", "--only", "signal", "--blocks", "9", "--block-us", "200")
    try:
        rows = measured(command, {})
        [row] = [row for row in rows if row["contestant"] == "bare signal"]
    except (Trouble, ValueError):
        return None
    return lower_quartile(row["ns"])
