# SPDX-License-Identifier: Apache-2.0
"""What `selion study` shows: lists, a progress bar, tables of rows and of comparisons."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from selion.cli.output import print_json, print_json_lines, print_table
from selion.study.catalog import Study
from selion.study.compare import Verdict
from selion.study.plan import Point
from selion.study.rows import Row


def _list_as_data(study: Study) -> dict[str, Any]:
    return {
        "name": study.name,
        "title": study.title,
        "experiments": {
            each.name: {
                "summary": each.summary,
                "machines": list(each.machines),
                "ranks": each.ranks,
                "axes": {
                    axis.name: {
                        "type": axis.type,
                        "default": list(axis.default),
                        "quick": list(axis.quick),
                        "legal": axis.describe_legal(),
                        "unit": axis.unit,
                    }
                    for axis in each.axes.values()
                },
                "metrics": {metric.name: metric.unit for metric in each.metrics.values()},
            }
            for each in study.experiments.values()
        },
    }


def print_list(studies: Mapping[str, Study], as_json: bool) -> None:
    """All studies with experiments, axes (default and legal values) and metrics."""
    if as_json:
        print_json([_list_as_data(study) for study in studies.values()])
        return
    for study in studies.values():
        print(f"{study.name}: {study.title}")
        for each in study.experiments.values():
            machines = ", ".join(each.machines)
            print(f"  {each.name}: {each.summary}  [machine: {machines}]")
            for axis in each.axes.values():
                default = ",".join(map(str, axis.default))
                unit = f" {axis.unit}" if axis.unit else ""
                print(f"    {axis.name}={default}{unit}  (legal: {axis.describe_legal()})")
            print(f"    -> {', '.join(f'{m.name} [{m.unit}]' for m in each.metrics.values())}")
    print("\n'selion study NAME' runs one; --set KEY=VALUE[,VALUE...] replaces an axis.")


class _Progress:
    """Draws a bar on standard error if that is a terminal; rows go to standard output if wanted."""

    def __init__(self, bar: Any, rows_to_stdout: bool) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None)
        self._rows_to_stdout = rows_to_stdout
        self._noted: set[str] = set()

    def start(self, total: int, done: int) -> None:
        self._bar.update(self._task, total=total, completed=done)

    def point(self, label: str) -> None:
        self._bar.update(self._task, description=label)

    def row(self, row: Row) -> None:
        if self._rows_to_stdout:
            print_json_lines([row])

    def note(self, sentence: str) -> None:
        if sentence not in self._noted:  # a warning of every point is news only once
            self._noted.add(sentence)
            self._bar.console.print(sentence, style="yellow", markup=False, highlight=False)

    def finish_point(self) -> None:
        self._bar.advance(self._task)


@contextlib.contextmanager
def progress(rows_to_stdout: bool) -> Iterator[_Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=sys.stderr)
    columns = (
        MofNCompleteColumn(),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar:
        yield _Progress(bar, rows_to_stdout)


def _number(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else f"{value}"


def print_rows(points: Sequence[Point], rows: Sequence[Row]) -> None:
    """One table for each experiment that was run."""
    for experiment in {point.experiment.name: point.experiment for point in points}.values():
        chosen = [row for row in rows if row["experiment"] == experiment.name]
        keys = list(dict.fromkeys(key for row in chosen for key in row["params"]))
        spread = any("p5" in row for row in chosen)
        columns = [*dict.fromkeys(("machine", "ranks", *keys)), "metric", "value", "unit"]
        columns += ["p5", "p95"] if spread else []
        columns += ["published"] if any("published" in row for row in chosen) else []
        lines = [
            [_number({**row, **row["params"]}.get(column, "")) for column in columns]
            for row in chosen
        ]
        print(f"{experiment.name}: {experiment.summary}")
        print_table(columns, lines)
        print()


def print_verdict(study: str, verdict: Verdict, as_json: bool) -> None:
    """Published beside measured, and the count of cells within tolerance."""
    if as_json:
        print_json_lines(each.as_row() for each in verdict.comparisons)
        print(verdict.sentence(study), file=sys.stderr)
        return
    names = {True: "yes", False: "no", None: "-"}
    lines = [
        [
            each.experiment,
            each.machine,
            json.dumps(each.params),
            each.metric,
            _number(each.published),
            _number(each.measured),
            each.unit,
            "-" if each.error_percent is None else f"{each.error_percent:+.2f}",
            names[each.is_within],
        ]
        for each in verdict.comparisons
    ]
    if lines:
        columns = "experiment machine params metric published measured unit error_% within".split()
        print_table(columns, lines)
        print()
    print(verdict.sentence(study))
