# SPDX-License-Identifier: Apache-2.0
"""What `selion study` shows: lists, a progress bar, tables of rows and of comparisons."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from selion.cli.output import (
    complain,
    is_terminal,
    print_json,
    print_json_lines,
    print_table,
    printable,
)
from selion.study.catalog import Study
from selion.study.compare import Comparison, Verdict
from selion.study.pace import Pace
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


def duration(seconds: float) -> str:
    """A time as people say it: 8.4 s, 75 s, 12 min, 2 h 5 min."""
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class StudyProgress:
    """Draws one bar over all points on standard error if that is a terminal; rows go to standard
    output if wanted."""

    def __init__(self, bar: Any, points: Sequence[Point], rows_to_stdout: bool) -> None:
        self._bar = bar
        self._pace = Pace(points)
        self._left = Counter(point.study for point in points)
        self._task = bar.add_task("", total=len(points), pace=self._pace)
        self._rows_to_stdout = rows_to_stdout
        self._noted: set[str] = set()
        self._left_out: Counter[tuple[str, str, str, str]] = Counter()

    def skip(self, points: Iterable[Point]) -> None:
        for point in points:
            self._advance(point, None)

    def under_way(self, points: Sequence[Point]) -> None:
        if points:  # between two points nothing flickers
            more = f" and {len(points) - 1} more" if len(points) > 1 else ""
            self._bar.update(self._task, description=points[0].label + more)

    def row(self, row: Row) -> None:
        if self._rows_to_stdout:
            print_json_lines([row])

    def note(self, sentence: str) -> None:
        if sentence not in self._noted:  # a warning of every point is news only once
            self._noted.add(sentence)
            console = self._bar.console
            console.print(sentence, style="yellow", markup=False, highlight=False, soft_wrap=True)

    def left_out(self, point: Point, reason: str) -> None:
        self._left_out[point.study, point.experiment.name, point.machine, reason] += 1

    def tell_of_left_out(self) -> None:
        """One line for all points of an experiment that a machine cannot do for the same reason."""
        for (study, experiment, machine, reason), count in self._left_out.items():
            points = "one point" if count == 1 else f"{count} points"
            self.note(f"{study} {experiment}: {points} left out on '{machine}': {reason}.")

    def over(self, point: Point, seconds: float) -> None:
        self._advance(point, seconds)

    def abandon(self, study: str) -> None:
        """The points of a study that are left are not run."""
        self._pace.abandon(study)
        self._bar.advance(self._task, self._left.pop(study, 0))

    def _advance(self, point: Point, seconds: float | None) -> None:
        self._pace.over(point, seconds)
        self._left[point.study] -= 1
        self._bar.advance(self._task)


def _columns() -> tuple[Any, ...]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.table import Column
    from rich.text import Text

    class LeftColumn(ProgressColumn):
        """What is left, by the pace so far."""

        def render(self, task: Any) -> Text:
            left = task.fields["pace"].seconds_left(task.elapsed or 0)
            words = f"{duration(left)} left" if left and not task.finished else ""
            return Text(words, style="progress.remaining")

    label = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    return (
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        BarColumn(bar_width=16),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        LeftColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.description}", markup=False, table_column=label),
    )


@contextlib.contextmanager
def progress(points: Sequence[Point], rows_to_stdout: bool) -> Iterator[StudyProgress]:
    """A bar over all points, on standard error."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(file=sys.stderr)
    bar = Progress(
        *_columns(),
        console=console,
        transient=True,
        expand=True,
        disable=not console.is_terminal,
        redirect_stdout=is_terminal(sys.stdout),  # else it would draw what is meant for a pipe
    )
    with bar:
        told = StudyProgress(bar, points, rows_to_stdout)
        try:
            yield told
        finally:
            told.tell_of_left_out()


def _number(value: Any) -> str:
    if value is None:  # what a program has not said
        return "-"
    return f"{value:,.6g}" if isinstance(value, float) else f"{value}"


def print_rows(points: Sequence[Point], rows: Sequence[Row]) -> None:
    """One table for each experiment that was run; which run a row is of where there are several."""
    for experiment in {point.experiment.name: point.experiment for point in points}.values():
        chosen = [row for row in rows if row["experiment"] == experiment.name]
        keys = list(dict.fromkeys(key for row in chosen for key in row["params"]))
        spread = any("p5" in row for row in chosen)
        runs = [key for key in ("seed", "repetition") if len({row[key] for row in chosen}) > 1]
        columns = [*dict.fromkeys(("machine", "ranks", *keys, *runs)), "metric", "value", "unit"]
        columns += ["p5", "p95"] if spread else []
        columns += ["published"] if any("published" in row for row in chosen) else []
        lines = [
            [_number({**row, **row["params"]}.get(column, "")) for column in columns]
            for row in chosen
        ]
        print(f"{experiment.name}: {experiment.summary}")
        print_table(columns, lines)
        print()


def print_verdicts(verdicts: Sequence[Verdict], as_json: bool) -> None:
    """Published beside measured, and the count of cells within tolerance; figures that cannot be
    compared on standard error."""
    if as_json:
        print_json_lines(each.as_row() for verdict in verdicts for each in verdict.comparisons)
    else:
        for verdict in verdicts:
            print_comparisons(verdict.comparisons)
    for fault in (each for verdict in verdicts for each in verdict.faults):
        complain("study", fault)
    for verdict in verdicts:
        print(verdict.sentence(), file=sys.stderr if as_json else sys.stdout)
    if len(verdicts) > 1:
        within = sum(verdict.within for verdict in verdicts)
        judged = sum(verdict.judged for verdict in verdicts)
        published = sum(verdict.published for verdict in verdicts)
        line = f"all: {within} of {judged} cells within tolerance; {published} are published."
        print(line, file=sys.stderr if as_json else sys.stdout)


def _cells(one: Comparison) -> dict[str, str]:
    """By column. What holds for all lines of a table stands above it."""
    verdict = {True: "yes", False: "no", None: "-"}[one.is_within]
    return {
        "machine": one.machine,
        **{key: _number(value) for key, value in one.params.items()},
        "metric": one.metric,
        "measured": _number(one.measured),
        "published": _number(one.published),
        "unit": one.unit,
        "error_%": "-" if one.error_percent is None else f"{one.error_percent:+.2f}",
        "tolerance_%": "-" if one.tolerance_percent is None else f"{one.tolerance_percent:.6g}",
        "within": verdict,
    }


_always_columns = ("measured", "published", "error_%", "tolerance_%", "within")


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """A table for each experiment, a line for each cell."""
    for experiment in dict.fromkeys(each.experiment for each in comparisons):
        lines = [_cells(each) for each in comparisons if each.experiment == experiment]
        columns = list(dict.fromkeys(key for line in lines for key in line))
        columns = [key for key in columns if key not in _always_columns[-3:]]
        columns += _always_columns[-3:]
        same = {
            key: lines[0].get(key, "")
            for key in columns
            if key not in _always_columns and len({line.get(key, "") for line in lines}) == 1
        }
        if len(lines) == 1:
            same = {key: same[key] for key in ("machine",) if key in same}
        told = "  ".join(f"{key}={value}" for key, value in same.items() if value)
        print(f"{comparisons[0].study} {experiment}  {printable(told)}")
        shown = [key for key in columns if key not in same]
        print_table(shown, [[line.get(key, "") for key in shown] for line in lines])
        print()
