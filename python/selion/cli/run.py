# SPDX-License-Identifier: Apache-2.0
"""selion run: one program on one machine."""

from __future__ import annotations

import math
import os
import shlex
import sys
from typing import Annotated

import typer

from selion import foreground, job, launcher
from selion.cli.options import (
    Hosts,
    Machine,
    Program,
    ProgramArguments,
    Ranks,
    before_a_program,
    chosen_machine,
    program_line,
)
from selion.cli.output import answers_mistakes, complain
from selion.mistake import Mistake

context_settings = before_a_program

_time_is_over = 124
_most_seconds = 1e8  # three years, which the system's clocks can count


def _changes(
    machine: str | None, ranks: int | None, verbose: bool, trace: str | None, prefix: bool
) -> dict[str, str]:
    chosen = chosen_machine(machine, ranks)
    changes = {"SELION_PREFIX": "1" if prefix else "0"}
    if chosen:
        changes["SELION_MACHINE"] = chosen
    if verbose:
        changes["SELION_VERBOSE"] = "1"
    if trace:
        changes["SELION_TRACE"] = os.path.abspath(trace)
    return changes


@answers_mistakes("run")
def command(
    program: Program,
    arguments: ProgramArguments = None,
    machine: Machine = None,
    ranks: Ranks = None,
    hosts: Hosts = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Say what the runtime chose.")
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="End the job after this time, exit status 124."),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a trace for Perfetto or chrome://tracing."),
    ] = None,
    prefix: Annotated[
        bool, typer.Option(help="Put the rank before each line (ranks that are processes).")
    ] = True,
    show: Annotated[
        bool, typer.Option("--show", help="Print what would be run, and do not run it.")
    ] = False,
) -> None:
    """Run a program on a machine, and end as it ends.

    A Python file needs no leading 'python'. The exit status is the program's, or 128 + the number
    of the signal that ended it.
    """
    if time_limit is not None and not (time_limit > 0 and math.isfinite(time_limit)):
        raise Mistake(f"The time limit is {time_limit} seconds; legal: finite, above 0.")
    line = program_line(program, arguments)
    if not machine and not os.environ.get("SELION_MACHINE"):
        if hosts is not None:
            machine = "fabric"
        elif line[0] == sys.executable and ranks is not None:
            machine = "processes"  # ranks in Python are no threads
    changes = _changes(machine, ranks, verbose, trace, prefix)
    launcher.use_hosts(hosts, [changes.get("SELION_MACHINE", "")])
    line = launcher.line_for(line, job.environment(changes))
    if show:
        print(shlex.join(["env", *(f"{key}={value}" for key, value in changes.items()), *line]))
        return
    limit = None if time_limit is None else min(time_limit, _most_seconds)
    outcome = foreground.run(line, job.environment(changes), limit)
    if outcome.timed_out:
        complain("run", f"The time limit of {time_limit:g} s is over; the job was ended.")
        raise typer.Exit(_time_is_over)
    raise typer.Exit(outcome.status)
