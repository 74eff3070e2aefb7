# SPDX-License-Identifier: Apache-2.0
"""By which commit, where and when rows were measured, in words for those who look at them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from selion.study.rows import Row

_dirty = "-dirty"  # behind a commit from which files differ
_short = 12  # letters of a commit
_most = 5  # runs in a sentence
_day = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Run:
    """What a header says of that. `day` is empty where it does not say when."""

    commit: str
    host: str
    day: str = ""

    def __str__(self) -> str:
        return f"{self.commit} on {self.host}" + (f", {self.day}" if self.day else "")


def commit_words(header: Mapping[str, Any]) -> str:
    """A commit, and which changes to it."""
    commit = str(header.get("commit") or "")
    if not commit:
        return "an unknown commit"
    words = f"commit {commit.removesuffix(_dirty)[:_short]}"
    changes = header.get("changes")
    if commit.endswith(_dirty) and (changes or "changes" not in header):
        words += f" with changes {str(changes)[:_short]}" if changes else " with changes"
    return words


def run_of(header: Mapping[str, Any], host: str) -> Run:
    """@param host its name, or what stands for it."""
    day = _day.match(str(header.get("begun") or ""))
    return Run(commit_words(header), host, day[0] if day else "")


def runs_of(rows: Iterable[Row]) -> list[Run]:
    """Each once, the earliest first as far as that is known."""
    found = dict.fromkeys(row["run"] for row in rows if "run" in row)
    return sorted(found, key=lambda run: run.day)


def listed(runs: Sequence[Run]) -> str:
    more = f"; and {len(runs) - _most} more" if len(runs) > _most else ""
    return "; ".join(map(str, runs[:_most])) + more


def told(rows: Iterable[Row]) -> str:
    """Where the rows of a plot or table come from; empty if nobody wants to know."""
    runs = runs_of(rows)
    if len(runs) > 1:
        return f"From several runs: {listed(runs)}."
    return f"From {runs[0]}." if runs else ""


def only_where_several(rows: Iterable[Row]) -> list[Run]:
    """Leaves out `run` of the rows of a study if all have the same, which its last line says.

    @return all runs.
    """
    rows = list(rows)
    runs = runs_of(rows)
    if len(runs) < 2:
        for row in rows:
            row.pop("run", None)
    return runs


def warning(studies: Mapping[str, Sequence[Run]]) -> list[str]:
    """A sentence if commits or hosts differ, within a study or between some.

    @param studies the runs of each.
    """
    where: dict[Run, dict[str, None]] = {}
    for study, runs in studies.items():
        for run in runs:
            where.setdefault(replace(run, day=""), {})[study] = None
    if len(where) < 2:
        return []
    parts = [f"{run} ({', '.join(names)})" for run, names in where.items()]
    more = f"; and {len(parts) - _most} more" if len(parts) > _most else ""
    return [f"Results of several commits or hosts stand in this report: {'; '.join(parts[:_most])}"
            f"{more}. Plots and tables of studies that have several say which are theirs."]
