# SPDX-License-Identifier: Apache-2.0
"""Runs a study's program for one point and reads the rows that it prints.

One thread may look after several runs: each is started, then fed with what its streams have.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from selion import job, launcher, spec
from selion.mistake import Failure, Mistake
from selion.study import data
from selion.study.plan import Point
from selion.study.rows import BadRow, Row, declared_metric, parse_printed, result_row

_kept_stderr_bytes = 1 << 16
_mistaken = 2  # exit status of a program that has not begun


def command_line(program: Path, point: Point, repetitions: int, seed: int) -> list[str]:
    """How a study's program is called."""
    return [
        str(program),
        "--experiment",
        point.experiment.name,
        "--params",
        json.dumps(dict(point.params)),
        "--repetitions",
        str(repetitions),
        "--seed",
        str(seed),
    ]


def _explain_end(point: Point, code: int, errors: str) -> str:
    how = (
        f"was ended by {signal.Signals(-code).name}"
        if code < 0
        else f"ended with exit status {code}"
    )
    if refusal := launcher.refusal_in(errors):
        return f"'{point.machine}' cannot be started: {refusal}"
    said = f"; it said:\n{errors}" if errors else " and said nothing."
    return f"The program of '{point.label}' on '{point.machine}' {how}{said}"


def _refusal(point: Point, code: int, errors: str) -> str | None:
    """Why a simulated machine could not be had, as the library says it; None if it was."""
    if code != _mistaken or spec.parse(point.machine).kind != "sim":
        return None
    found = re.search(rf'^selion: machine "{re.escape(point.machine)}": (.+)$', errors, re.M)
    return found[1].rstrip(".") if found else None


class PointRun:
    """One run of a study's program.

    @param on_row called for each row, as soon as it is printed.
    """

    def __init__(
        self,
        program: Path,
        point: Point,
        repetitions: int,
        seed: int,
        on_row: Callable[[Row], None],
    ) -> None:
        self.command = command_line(program, point, repetitions, seed)
        self.point = point
        self.warnings = ""
        self.skipped: str | None = None
        self.is_refused = False
        """Whether it was skipped because its machine cannot be had."""
        self.failure: Failure | None = None
        """Why it went wrong, once it is over."""
        self.seconds = 0.0
        self._began = 0.0
        self._repetitions = repetitions
        self._seed = seed
        self._on_row = on_row
        self._ranks = spec.parse(point.machine).ranks
        self._seen: set[tuple[str, int]] = set()
        self._resources = ExitStack()
        self._child: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._errors = b""
        self._open_streams = 0
        self._is_complete = False

    @property
    def is_over(self) -> bool:
        return self.failure is not None or (self._child is not None and self._open_streams == 0)

    @property
    def is_complete(self) -> bool:
        """Whether it came to a good end."""
        return self._is_complete

    def start(self, selector: selectors.BaseSelector) -> None:
        """Starts the program and registers its streams, each with this run as its data.

        Where that cannot be done, the run is over, and has failed.
        """
        try:
            self._start()
        except Mistake as problem:
            self._resources.close()
            self.failure = Failure(str(problem))
            return
        assert self._child is not None
        for stream in filter(None, (self._child.stdout, self._child.stderr)):
            self._resources.enter_context(stream)
            selector.register(stream, selectors.EVENT_READ, self)
            self._open_streams += 1

    def _start(self) -> None:
        env = job.environment({"SELION_MACHINE": self.point.machine})
        env.pop("SELION_PREFIX", None)  # a prefix would stand before the rows
        wanted = self.point.experiment.data
        if wanted:
            env["SELION_STUDY_DATA"] = str(self._resources.enter_context(data.file_of(wanted)))
        self._began = time.monotonic()
        self._child = job.start(
            launcher.line_for(self.command, env),
            env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def read(self, stream: IO[bytes], selector: selectors.BaseSelector) -> None:
        """Takes what a stream has; when both have ended, or a row is none, the run is over."""
        chunk = os.read(stream.fileno(), 1 << 16)
        assert self._child is not None
        try:
            if not chunk:
                selector.unregister(stream)
                self._open_streams -= 1
            elif stream is self._child.stderr:
                self._errors = (self._errors + chunk)[-_kept_stderr_bytes:]
            else:
                *whole, self._rest = (self._rest + chunk).split(b"\n")
                for line in whole:
                    self._take(line)
            if self._open_streams == 0:
                self._take(self._rest)
                self._finish(job.wait(self._child))
        except BadRow as problem:
            self.failure = Failure(f"The program of '{self.point.label}' printed {problem}.")
            self.end(selector)

    def end(self, selector: selectors.BaseSelector) -> None:
        """Ends the program if it still runs."""
        if self._child is None:
            return
        for stream in filter(None, (self._child.stdout, self._child.stderr)):
            if not stream.closed and stream in selector.get_map():
                selector.unregister(stream)
        self._open_streams = 0
        self._clean_up()

    def _clean_up(self) -> None:
        assert self._child is not None
        job.kill_group(self._child.pid)
        self._child.wait()
        self._resources.close()
        self.seconds = time.monotonic() - self._began

    def _finish(self, code: int) -> None:
        self.warnings = self._errors.decode(errors="replace").strip()
        self._clean_up()
        refusal = None if self._seen else _refusal(self.point, code, self.warnings)
        if refusal is not None:
            self.skipped, self.is_refused = refusal, True
        elif code != 0:
            self.failure = Failure(_explain_end(self.point, code, self.warnings))
        elif self.skipped is None:
            self.failure = self._missing_metric()
        self._is_complete = self.failure is None

    def _take(self, printed_line: bytes) -> None:
        line = printed_line.decode(errors="replace")
        if not line.strip():
            return
        printed = parse_printed(line)
        if "skipped" in printed:
            self.skipped = str(printed["skipped"])
            return
        declared_metric(self.point, printed)
        row = result_row(self.point, printed, self._ranks, self._seed)
        self._seen.add((row["metric"], row["repetition"]))
        self._on_row(row)

    def _missing_metric(self) -> Failure | None:
        for metric in self.point.experiment.metrics.values():
            if not metric.is_due(self.point.params):
                continue
            for repetition in range(self._repetitions):
                if (metric.name, repetition) not in self._seen:
                    return Failure(
                        f"The program of '{self.point.label}' ended without the metric "
                        f"'{metric.name}' of repetition {repetition}."
                    )
        return None
