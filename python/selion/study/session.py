# SPDX-License-Identifier: Apache-2.0
"""One run of one study: its points, in order, into its results file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

from selion import places
from selion.mistake import Mistake, listing
from selion.study import conditions, header
from selion.study.catalog import Study
from selion.study.crew import Crew
from selion.study.plan import Point, Request, points, unused_machines
from selion.study.published import Published
from selion.study.rows import Finished, Part, ResultFile, Results, Row
from selion.study.runner import PointRun


class Watcher(Protocol):
    """Told what happens during a run."""

    def skip(self, points: Iterable[Point]) -> None:
        """These are not run: an earlier run has done so, or their machine cannot have them."""

    def under_way(self, points: Sequence[Point]) -> None: ...
    def row(self, row: Row) -> None: ...
    def note(self, sentence: str) -> None: ...
    def left_out(self, point: Point, reason: str) -> None: ...
    def over(self, point: Point, seconds: float) -> None: ...


class Others(Enum):
    """What becomes of missing points where earlier rows were measured under other conditions."""

    REFUSED = "the run ends before anything is written"
    LEFT = "they are not measured"
    MIXED = "they are measured, under a header of their own"


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
    published: Published = field(init=False)
    lacks_machines: bool = field(init=False)
    """Whether points were left out because their simulated machines cannot be had."""
    has_left_out_all: bool = field(init=False, default=False)
    """Whether that became of every point, for whichever reason; known when it has run."""
    rows: list[Row] = field(init=False, default_factory=list)
    """Those of the file, old and new, once it runs, beside the figures of today; also of a run that
    fails."""

    def __post_init__(self) -> None:
        self.points = points(self.study, self.request)
        programs = dict.fromkeys(point.experiment.program for point in self.points)
        self._programs = {name: places.study_program(name) for name in programs}
        self.published = Published(self.study)
        self.lacks_machines = any(point.is_refused for point in self.points)

    def run(
        self, watcher: Watcher, go_on: bool, jobs: int = 1, others: Others = Others.REFUSED
    ) -> list[Row]:
        """Runs what is to be run and returns `rows`.

        @param go_on keep the complete points of an earlier run instead of starting anew.
        @param jobs points of simulated machines that are run at a time; rows stay in the order of
        points.
        @error Mistake if the folder cannot be used, or what it holds cannot be gone on with.
        @error Failure at the first point that fails; what was measured before is kept.
        """
        for sentence in unused_machines(self.study, self.request):
            watcher.note(sentence)
        with ResultFile(self.folder) as file:
            found = file.read() if go_on else Results()  # locked: it stays true
            self._expect_known_schema(found.parts, file.path)
            self._expect_own_rows(found.rows, file.path)
            finished = Finished(found, self.study.experiments, self.request.seed)
            missing: Sequence[Point] = [
                point
                for point in self.points
                if not point.obstacle and self._missing(finished, point)
            ]
            now = header.header(self._machines(self.points), self._programs.values())
            parts = [part for part in found.parts if part.rows]
            to_run = missing
            if differing := self._differences(parts, now, missing):
                to_run = self._despite(differing, missing, others, file.path, watcher)
            if to_run or not parts:  # else the file stays as it is
                parts = self._kept(found, finished)
                self._start(file, parts, now, bool(found.parts), bool(to_run))
            missing = to_run
            self.rows = [self.published.beside(row) for part in parts for row in part.rows]
            self._skip(missing, watcher)
            left_out = self._run_points(missing, finished, watcher, jobs,
                                        self._keep(self.rows, file, watcher))
            left_out += sum(bool(point.obstacle) for point in self.points)
            self.has_left_out_all = left_out == len(self.points)
        return self.rows

    @staticmethod
    def _expect_known_schema(parts: Iterable[Part], path: Path) -> None:
        """@error Mistake for rows that may mean something else than ours of the same words."""
        for part in parts:
            found = part.header.get("schema", header.schema)
            if isinstance(found, bool) or found != header.schema:
                raise Mistake(
                    f"{path} has rows of schema {json.dumps(found)}, and this version of selion "
                    f"knows {header.schema}. Without --resume all is measured anew, and that file "
                    "kept as results.previous.jsonl; --out DIR takes another folder."
                )

    def _expect_own_rows(self, rows: Iterable[Row], path: Path) -> None:
        """@error Mistake for rows of another study, which may have experiments of the same name."""
        others = sorted({row["study"] for row in rows} - {self.study.name})
        if others:
            raise Mistake(
                f"{path} has rows of {'another study' if len(others) == 1 else 'other studies'}, "
                f"{listing(others)}, and this is '{self.study.name}'; choose another --out."
            )

    @staticmethod
    def _machines(points: Iterable[Point]) -> set[str]:
        found = (conditions.specs_of(point.machine, point.params) for point in points)
        return set().union(*found)

    def _kept(self, found: Results, finished: Finished) -> list[Part]:
        """What stays of an earlier run, without headers that no row has."""
        by_identity = {point.identity: point for point in self.points}
        parts = [
            Part(part.header, [row for row in part.rows if finished.keeps(row, by_identity)])
            for part in found.parts
        ]
        return [part for part in parts if part.rows]

    def _differences(self, parts: Sequence[Part], now: Row, missing: Sequence[Point]) -> list[str]:
        """What keeps new rows from standing beside earlier ones; of all points, if none is new."""
        new = self._machines(missing or self.points)
        found: dict[str, None] = {}
        for part in parts:
            old: set[str] = set()
            for row in part.rows:
                old |= conditions.specs_of(row["machine"], row["params"])
            found.update(dict.fromkeys(conditions.differences(part.header, old, now, new)))
        return list(found)

    @staticmethod
    def _despite(
        differing: Sequence[str],
        missing: Sequence[Point],
        others: Others,
        path: Path,
        watcher: Watcher,
    ) -> Sequence[Point]:
        """The points to be run although conditions are others than those of earlier rows."""
        sentence = f"{path} has rows of other conditions: {', '.join(differing)}."
        points = "a point" if len(missing) == 1 else f"{len(missing)} points"
        if missing and others is Others.REFUSED:
            raise Mistake(
                f"{sentence} Rows of both would stand side by side. Without --resume all is "
                "measured anew, and that file kept as results.previous.jsonl; --out DIR takes "
                "another folder; --mix goes on, and notes which rows are whose."
            )
        if missing and others is Others.LEFT:
            sentence += f" So {points} that it lacks were not measured; --mix measures them."
            missing = []
        elif missing:
            sentence += f" Those of {points} are added under a header of their own."
        watcher.note(sentence)
        return missing

    @staticmethod
    def _start(
        file: ResultFile, parts: Sequence[Part], now: Row, has_begun: bool, has_more: bool
    ) -> None:
        if not has_begun:
            file.begin(now)
        elif not parts:
            file.go_on([Part(now)])
        elif has_more and not conditions.holds_for(parts[-1].header, now):
            file.go_on([*parts, Part({**now, "resumed": True})])
        else:
            file.go_on(parts)

    def _skip(self, missing: Iterable[Point], watcher: Watcher) -> None:
        """Tells of the points that are not run."""
        to_run = {point.identity for point in missing}
        for point in self.points:
            if point.obstacle:
                watcher.left_out(point, point.obstacle)
            if point.identity not in to_run:
                watcher.skip([point])

    def _missing(self, finished: Finished, point: Point) -> list[int]:
        return [r for r in range(self.request.repetitions) if not finished.holds(point, r)]

    @staticmethod
    def _keep(
        kept: list[Row], file: ResultFile, watcher: Watcher
    ) -> Callable[[Sequence[Row]], None]:
        def keep(rows: Sequence[Row]) -> None:
            file.append(rows)
            kept.extend(rows)
            for row in rows:
                watcher.row(row)

        return keep

    def _run_points(
        self,
        points: Sequence[Point],
        finished: Finished,
        watcher: Watcher,
        jobs: int,
        keep: Callable[[Sequence[Row]], None],
    ) -> int:
        """The rows of a point are kept together, when it is complete: no file has a part of it.

        @return how many were left out.
        """
        left_out = 0
        held: dict[int, list[Row]] = {}

        def prepare(place: int, point: Point) -> PointRun:
            wanted = self._missing(finished, point)
            held[place] = []

            def on_row(row: Row) -> None:
                if row["repetition"] in wanted:
                    held[place].append(self.published.beside(row))

            program = self._programs[point.experiment.program]
            return PointRun(program, point, self.request.repetitions, self.request.seed, on_row)

        runs = [prepare(place, point) for place, point in enumerate(points)]
        crew = Crew(runs, jobs, lambda some: watcher.under_way([run.point for run in some]))
        try:
            with closing(crew.results()) as results:
                for place, run in enumerate(results):
                    if run.failure:
                        raise run.failure
                    keep(held.pop(place))
                    self.lacks_machines |= run.is_refused
                    left_out += run.skipped is not None
                    self._tell(run, watcher)
        finally:
            for place, run in enumerate(runs):
                if run.is_complete and place in held:
                    keep(held.pop(place))
        return left_out

    @staticmethod
    def _tell(run: PointRun, watcher: Watcher) -> None:
        if run.skipped is not None:
            watcher.left_out(run.point, run.skipped)
        elif run.warnings:
            watcher.note(run.warnings)
        watcher.over(run.point, run.seconds)
