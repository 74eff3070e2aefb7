# SPDX-License-Identifier: Apache-2.0
"""selion scale: what a program gains by more ranks."""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer

from selion import job, launcher, scaling, spec
from selion.cli import completion
from selion.cli.options import Hosts, Program, ProgramArguments, before_a_program, program_line
from selion.cli.output import (
    answers_mistakes,
    complain,
    is_terminal,
    print_json_lines,
    print_table,
    printable,
)
from selion.drawing import speedup_chart
from selion.drawing.heat_map import length
from selion.drawing.svg import drawable
from selion.mistake import Failure, Mistake
from selion.repeated_runs import Interrupted, RepeatedRuns
from selion.scaling import Curve, Point
from selion.study.conditions import is_measured
from selion.whole_file import write_whole

context_settings = before_a_program

_most_ranks = 2**32 - 1
_ranks_of_simulated = (1, 2, 4, 8, 16)
_ps_in_s = 1e12


def _usual_ranks(machines: Sequence[str]) -> list[int]:
    """1, 2, 4, … as far as there are processors; where all time is virtual, up to 16."""
    if all(spec.parse(each).kind == "sim" for each in machines):
        return list(_ranks_of_simulated)
    processors = len(os.sched_getaffinity(0))
    return [2**power for power in range(max(processors, 2).bit_length())]


def _usual_rounds(machine: str) -> int:
    return 3 if is_measured(machine) else 1


def _ranks(text: str) -> list[int]:
    words = text.split(",")
    if not all(re.fullmatch(r"\d{1,10}", word) for word in words):
        raise Mistake(f"--ranks is '{text}'; legal are numbers of ranks such as 1,2,4,8.")
    numbers = sorted({int(word) for word in words})
    if not 1 <= numbers[0] <= numbers[-1] <= _most_ranks:
        raise Mistake(f"--ranks is '{text}'; legal are numbers from 1 to {_most_ranks}.")
    return numbers


def _pattern(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        return re.compile(text)
    except re.error as problem:
        raise Mistake(f"--figure is '{text}', which is no regular expression: {problem}.") from None


class _Measurement:
    """All runs, by turns: what makes the host slow for a while meets all numbers of ranks."""

    def __init__(self, line: list[str], machines: dict[str, dict[int, str]],
                 figure: re.Pattern[str] | None, time_limit: float) -> None:
        """@param machines the spec of each, by its name and the number of ranks."""
        self._line = line
        self._name = PurePath(job.name_of(line)).name
        self._machines = machines
        self._figure = figure
        self._runs = RepeatedRuns(time_limit)
        self._virtual: set[str] = set()
        self._times: dict[tuple[str, int], list[float]] = {
            (name, ranks): [] for name, specs in machines.items() for ranks in specs}

    def run(self, rounds: Mapping[str, int]) -> None:
        """@param rounds of each machine. @error Failure if a run fails; Interrupted."""
        todo = [(name, ranks) for turn in range(max(rounds.values()))
                for name, ranks in self._times if turn < rounds[name]]
        for number, (name, ranks) in enumerate(todo, 1):
            machine = self._machines[name][ranks]
            if is_terminal(sys.stderr):
                print(f"\r\x1b[Krun {number} of {len(todo)}: {machine}", end="", file=sys.stderr,
                      flush=True)
            try:
                seconds, is_virtual = self._time_of(machine)
                self._times[name, ranks].append(seconds)
                if is_virtual:
                    self._virtual.add(name)
            finally:
                if is_terminal(sys.stderr):
                    print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def curves(self, is_weak: bool) -> list[Curve]:
        return [
            Curve(name, tuple(Point(each, tuple(self._times[name, each])) for each in specs),
                  is_weak, name in self._virtual)
            for name, specs in self._machines.items()
        ]

    def _time_of(self, machine: str) -> tuple[float, bool]:
        """Of one run, and whether it is virtual."""
        # Other hosts may share this folder, but hardly /tmp.
        folder = "." if spec.parse(machine).kind == "fabric" else None
        if folder is not None and not os.access(folder, os.W_OK):
            raise Failure("Ranks of the machine fabric tell their time in a file in this folder, "
                          "which cannot be written; run it in one that all hosts share.")
        with tempfile.NamedTemporaryFile(prefix="selion-time-", dir=folder) as file:
            changes = {"SELION_MACHINE": machine, "SELION_TIME": os.path.abspath(file.name)}
            line = launcher.line_for(self._line, job.environment(changes))
            done = self._runs.run(line, changes)
            try:
                if done.is_late:
                    raise Failure("its time limit was over")
                if done.status != 0:
                    raise Failure(f"it ended with status {done.status}")
                seconds, is_virtual = scaling.times_of_jobs(Path(file.name))
                if self._figure is not None:
                    seconds = scaling.printed_time(self._figure,
                                                   done.output.decode(errors="replace"))
                elif not seconds > 0:
                    raise Failure("its job takes no virtual time, as nothing in it is charged; "
                                  "compute=measured would time it by the host's clock")
                return seconds, is_virtual
            except Failure as reason:
                sys.stderr.buffer.write(done.output)
                sys.stderr.flush()
                raise Failure(f"'{self._name}' on '{machine}' gives no time: {reason}.") from None


def _time(value: float, has_unit: bool) -> str:
    return length(value * _ps_in_s, "ps") if has_unit else f"{value:,.4g}"


def _serial(part: float | None) -> str:
    if part is None:
        return ""
    return f"{100 * part:.1f} %" if part <= 1 else "> 100 %"


def _line_of(curve: Curve, point: Point, has_unit: bool) -> list[str]:
    return [str(point.ranks), _time(point.time, has_unit), _time(min(point.times), has_unit),
            _time(max(point.times), has_unit), f"{curve.speedup(point):.2f}",
            f"{100 * curve.efficiency(point):.0f} %",
            _serial(curve.serial_part(point))]  # fmt: skip


def _print_curve(curve: Curve, has_unit: bool) -> None:
    columns = ["ranks", "time" if has_unit else "figure", "least", "most", "speed-up", "efficiency",
               "serial part"]
    lines = [_line_of(curve, point, has_unit) for point in curve.points]
    clock = f"{'virtual' if curve.is_virtual else 'real'} time, " if has_unit else ""
    runs = len(curve.points[0].times)
    how = f"median of {runs} runs" if runs > 1 else "one run"
    print(f"\n{printable(curve.machine)}: {clock}{how}")
    if not any(line[-1] for line in lines):
        columns, lines = columns[:-1], [line[:-1] for line in lines]
    print_table(columns, lines)


def _draw(curves: Sequence[Curve], program: str, path: Path) -> None:
    again = drawable(shlex.join(["selion", *sys.argv[1:]]))
    write_whole(path, speedup_chart.draw(curves, program, again))


def _print_all(curves: Sequence[Curve], program: str, has_unit: bool, drawn: Path | None) -> None:
    work = "work that grows with the ranks" if curves[0].is_weak else "the same work"
    print(f"{program}: {work}")
    for curve in curves:
        _print_curve(curve, has_unit)
    if note := _crowded(curves):
        print(f"\n{note}")
    if drawn is not None:
        print(f"\ndrawn to {printable(str(drawn))}")


def _rows(curves: Sequence[Curve]) -> Iterator[dict[str, Any]]:
    for curve in curves:
        for point in curve.points:
            yield {"machine": curve.machine, "ranks": point.ranks,
                   "clock": "virtual" if curve.is_virtual else "real",
                   "times": list(point.times), "time": point.time,
                   "speedup": curve.speedup(point), "efficiency": curve.efficiency(point),
                   "serial_part": curve.serial_part(point)}


def _crowded(curves: Sequence[Curve]) -> str:
    """Whether ranks of this host shared processors."""
    processors = len(os.sched_getaffinity(0))
    most = max((point.ranks for curve in curves for point in curve.points
                if spec.parse(curve.machine).kind in ("threads", "processes")), default=0)
    if most <= processors:
        return ""
    return f"More than {processors} ranks share the {processors} processors that are usable here."


@answers_mistakes("scale")
def command(
    program: Program,
    arguments: ProgramArguments = None,
    machine: Annotated[
        list[str] | None,
        typer.Option("-m", "--machine", metavar="SPEC",
                     help="Machine, without its ranks; several are compared (default: threads, "
                          "processes in Python).",
                     autocompletion=completion.machines),
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option("-n", "--ranks", metavar="LIST",
                     help="Numbers of ranks (default: 1,2,4,... as far as there are processors; "
                          "simulated: 1,2,4,8,16)."),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(min=1, metavar="N",
                     help="Runs of each (default: 3; in virtual time 1, as all are equal)."),
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="The program's work grows with its ranks.")
    ] = False,
    figure: Annotated[
        str | None,
        typer.Option(metavar="REGEX",
                     help="A time that the program prints, in place of the job's: the number in "
                          "brackets, as in 'iteration +([0-9.]+)'."),
    ] = None,
    hosts: Hosts = None,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="Longest time of one run of the host.")
    ] = 600.0,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the curves.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON Lines, one object for each number of ranks.")
    ] = False,
) -> None:
    """Run a program on more and more ranks, and say what it gains: speed-up and efficiency.

    The time is that of the job, from when its ranks begin until all have returned; on a simulated
    machine virtual. What the program prints is not shown, unless it fails.
    """
    if not (time_limit > 0 and math.isfinite(time_limit)):
        raise Mistake(f"The time limit is {time_limit} seconds; legal: finite, above 0.")
    pattern = _pattern(figure)
    line = program_line(program, arguments)
    usual = "processes" if line[0] == sys.executable else "threads"
    names = list(dict.fromkeys(machine or [os.environ.get("SELION_MACHINE") or usual]))
    numbers = _ranks(ranks) if ranks is not None else _usual_ranks(names)
    machines = {name: {each: spec.with_ranks(name, each, "--ranks") for each in numbers}
                for name in names}
    launcher.use_hosts(hosts, names)
    measured = _Measurement(line, machines, pattern, time_limit)
    try:
        measured.run({each: repeat or _usual_rounds(each) for each in names})
    except Interrupted as end:
        complain("scale", "Interrupted; nothing is told of a part of the runs.")
        raise typer.Exit(128 + end.number) from None
    curves = measured.curves(weak)
    shown = printable(shlex.join([PurePath(job.name_of(line)).name, *(arguments or [])]))
    if svg is not None:
        _draw(curves, shown, svg)
    if as_json:
        return print_json_lines(_rows(curves))
    _print_all(curves, shown, pattern is None, svg)
