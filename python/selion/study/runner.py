# SPDX-License-Identifier: Apache-2.0
"""Runs a study's program for one point and reads the rows that it prints."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

from selion import job, spec
from selion.mistake import Failure
from selion.study import data
from selion.study.plan import Point
from selion.study.rows import BadRow, Row, declared_metric, parse_printed, result_row

_kept_stderr_bytes = 1 << 16


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


class _Output:
    """Both streams of a program, read as they come: whole lines of one, the end of the other."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.errors = b""
        self._rest = b""
        self._selector = selectors.DefaultSelector()
        self._err = child.stderr
        for stream in filter(None, (child.stdout, child.stderr)):
            self._selector.register(stream, selectors.EVENT_READ)

    def lines(self) -> Iterator[str]:
        while self._selector.get_map():
            for key, _ in self._selector.select():
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    self._selector.unregister(key.fileobj)
                elif key.fileobj is self._err:
                    self.errors = (self.errors + chunk)[-_kept_stderr_bytes:]
                else:
                    *whole, self._rest = (self._rest + chunk).split(b"\n")
                    yield from (line.decode(errors="replace") for line in whole if line.strip())
        if self._rest.strip():
            yield self._rest.decode(errors="replace")

    def error_text(self) -> str:
        return self.errors.decode(errors="replace").strip()


def _end(child: subprocess.Popen[bytes]) -> None:
    job.kill_group(child.pid)
    child.wait()


def _explain_end(point: Point, code: int, errors: str) -> str:
    how = (
        f"was ended by {signal.Signals(-code).name}"
        if code < 0
        else f"ended with exit status {code}"
    )
    said = f"; it said:\n{errors}" if errors else " and said nothing."
    return f"The program of '{point.label}' on '{point.machine}' {how}{said}"


class PointRun:
    """One run of a study's program."""

    def __init__(self, program: Path, point: Point, repetitions: int, seed: int) -> None:
        self.command = command_line(program, point, repetitions, seed)
        self._point = point
        self._repetitions = repetitions
        self._seed = seed
        self._ranks = spec.parse(point.machine).ranks
        self._seen: set[tuple[str, int]] = set()
        self.warnings = ""
        self.skipped: str | None = None

    def run(self, on_row: Callable[[Row], None]) -> None:
        """Calls `on_row` for each row, as soon as it is printed.

        @error Failure if the program cannot be started, fails, or prints other than its study says.
        An interruption ends the program and is passed on.
        """
        wanted = self._point.experiment.data
        with data.file_of(wanted) if wanted else nullcontext() as path:
            self._run_with({"SELION_STUDY_DATA": str(path)} if path else {}, on_row)

    def _run_with(self, variables: dict[str, str], on_row: Callable[[Row], None]) -> None:
        env = job.environment({"SELION_MACHINE": self._point.machine, **variables})
        env.pop("SELION_PREFIX", None)  # a prefix would stand before the rows
        child = job.start(
            self.command,
            env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        output = _Output(child)
        try:
            for line in output.lines():
                self._take(line, on_row)
            code = child.wait()
        except BadRow as problem:
            _end(child)
            raise Failure(f"The program of '{self._point.label}' printed {problem}.") from None
        finally:
            _end(child)
        self.warnings = output.error_text()
        if code != 0:
            raise Failure(_explain_end(self._point, code, self.warnings))
        if self.skipped is None:
            self._check_complete()

    def _take(self, line: str, on_row: Callable[[Row], None]) -> None:
        printed = parse_printed(line)
        if "skipped" in printed:
            self.skipped = str(printed["skipped"])
            return
        declared_metric(self._point, printed)
        row = result_row(self._point, printed, self._ranks, self._seed)
        self._seen.add((row["metric"], row["repetition"]))
        on_row(row)

    def _check_complete(self) -> None:
        for metric in self._point.experiment.metrics.values():
            if not metric.is_due(self._point.params):
                continue
            for repetition in range(self._repetitions):
                if (metric.name, repetition) not in self._seen:
                    raise Failure(
                        f"The program of '{self._point.label}' ended without the metric "
                        f"'{metric.name}' of repetition {repetition}."
                    )
