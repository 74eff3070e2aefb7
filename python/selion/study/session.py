# SPDX-License-Identifier: Apache-2.0
"""One run of one study: its points, in order, into its results file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from selion import places
from selion.study import header
from selion.study.catalog import Study
from selion.study.plan import Point, Request, points
from selion.study.published import Published
from selion.study.rows import Finished, ResultFile, Row, read_results
from selion.study.runner import PointRun


class Watcher(Protocol):
    """Told what happens during a run."""

    def start(self, total: int, done: int) -> None: ...
    def point(self, label: str) -> None: ...
    def row(self, row: Row) -> None: ...
    def note(self, sentence: str) -> None: ...
    def finish_point(self) -> None: ...


@dataclass
class Session:
    """Points and programs are found, and so every name and value checked, before anything is
    written.

    @error Mistake, Failure
    """

    study: Study
    request: Request
    folder: Path
    points: Sequence[Point] = field(init=False)

    def __post_init__(self) -> None:
        self.points = points(self.study, self.request)
        programs = dict.fromkeys(point.experiment.program for point in self.points)
        self._programs = {name: places.study_program(name) for name in programs}
        self._published = Published(self.study)

    def run(self, watcher: Watcher, go_on: bool) -> list[Row]:
        """Runs what is to be run and returns the rows of the file, old and new.

        @param go_on keep the complete points of an earlier run instead of starting anew.
        @error Failure at the first point that fails; what was measured before is kept.
        """
        begun, old = read_results(self.folder / "results.jsonl") if go_on else (None, [])
        finished = Finished(old, self.study.experiments, self.request.seed)
        by_identity = {point.identity: point for point in self.points}
        kept = [row for row in old if finished.keeps(row, by_identity)]
        missing = [point for point in self.points if self._missing(finished, point)]
        with ResultFile(self.folder) as file:
            now = header.header()
            if begun is None:
                file.begin(now)
            else:
                for difference in header.differences(begun, now):
                    watcher.note(f"These results were begun under other conditions: {difference}.")
                file.go_on(begun, kept)
            watcher.start(len(self.points), len(self.points) - len(missing))
            for point in missing:
                self._run_point(point, finished, watcher, self._keep(kept, file, watcher))
        return kept

    def _missing(self, finished: Finished, point: Point) -> list[int]:
        return [r for r in range(self.request.repetitions) if not finished.holds(point, r)]

    @staticmethod
    def _keep(rows: list[Row], file: ResultFile, watcher: Watcher) -> Callable[[Row], None]:
        def keep(row: Row) -> None:
            file.append(row)
            rows.append(row)
            watcher.row(row)

        return keep

    def _run_point(
        self, point: Point, finished: Finished, watcher: Watcher, keep: Callable[[Row], None]
    ) -> None:
        watcher.point(point.label)
        missing = self._missing(finished, point)
        program = self._programs[point.experiment.program]
        run = PointRun(program, point, self.request.repetitions, self.request.seed)

        def on_row(row: Row) -> None:
            if row["repetition"] in missing:
                self._add_published(point, row)
                keep(row)

        run.run(on_row)
        if run.skipped is not None:
            watcher.note(f"{point.label}: left out on '{point.machine}': {run.skipped}.")
        elif run.warnings:
            watcher.note(run.warnings)
        watcher.finish_point()

    def _add_published(self, point: Point, row: Row) -> None:
        fixed = point.experiment.ranks
        if fixed is not None and "ranks" not in row["params"] and row["ranks"] != fixed:
            return  # the source's figures are for its own number of ranks
        cell = self._published.find(point.experiment, row["metric"], row["params"])
        if cell:
            row["published"] = cell.value
