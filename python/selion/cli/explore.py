# SPDX-License-Identifier: Apache-2.0
"""selion explore: a program under many orders of its messages, until one of them fails."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import Annotated

import typer

from selion import job
from selion.cli import completion
from selion.cli.options import Program, ProgramArguments, before_a_program
from selion.cli.output import answers_mistakes
from selion.mistake import Mistake

context_settings = before_a_program

_modes = ("random", "delays")
_time_is_over = 124


def _seeds(text: str) -> range:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if first > last:
        raise Mistake(f"'{text}' is not a range of seeds such as 1-1000.")
    return range(first, last + 1)


def _replay(machine: str, line: list[str]) -> str:
    return shlex.join(["env", f"SELION_MACHINE={machine}", *line])


@answers_mistakes("explore")
def command(
    program: Program,
    arguments: ProgramArguments = None,
    machine: Annotated[
        str,
        typer.Option("-m", "--machine", metavar="SPEC", help="A simulated machine.",
                     autocompletion=completion.machines),
    ] = "sim:crossbar",
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="FIRST-LAST", help="Seeds, one run for each.")
    ] = "1-1000",
    mode: Annotated[
        str, typer.Option("--mode", metavar="random|delays", help="How messages are made late.")
    ] = "random",
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="Longest time of one run of the host.")
    ] = 60.0,
) -> None:
    """Run a program under one order of messages after another, and stop at the first that fails.

    A run fails when its exit status is not 0 or its time is over. Its seed replays it, bit for
    bit. Exit status 0 if no run failed, 1 if one did, 2 if nothing could be run.
    """
    if not machine.startswith("sim:"):
        raise Mistake(f"Nobody can choose the orders of '{machine}', a real machine; use sim:NAME.")
    if mode not in _modes:
        raise Mistake(f"'{mode}' is not a mode; the modes are {' and '.join(_modes)}.")
    chosen = _seeds(seeds)
    line = [job.find_program(program), *(arguments or [])]
    for run, seed in enumerate(chosen, 1):
        spec = f"{machine},explore={mode},seed={seed}"
        if sys.stderr.isatty() and run % 10 == 1:
            print(f"\rseed {seed} of {chosen[0]} to {chosen[-1]}", end="", file=sys.stderr)
        try:
            done = subprocess.run(line, env=job.environment({"SELION_MACHINE": spec}),
                                  capture_output=True, timeout=time_limit)
            status, output = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as late:
            status, output = _time_is_over, (late.stdout or b"") + (late.stderr or b"")
        if status == 2 and run == 1:
            sys.stderr.buffer.write(output)
            raise typer.Exit(2)
        if status != 0:
            print(output.decode(errors="replace"), end="")
            print(f"seed {seed} fails with status {status} after {run} run{'s' * (run > 1)}.")
            print(f"Replay it: {_replay(spec, line)}")
            raise typer.Exit(1)
    print(f"{len(chosen)} runs, seeds {chosen[0]} to {chosen[-1]}: none fails.")
