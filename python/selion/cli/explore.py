# SPDX-License-Identifier: Apache-2.0
"""selion explore: a program under many orders of its messages, until one of them fails."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import sys
from typing import Annotated

import typer

from selion import job
from selion.cli import completion
from selion.cli.options import Program, ProgramArguments, before_a_program, program_line
from selion.cli.output import answers_mistakes, complain, is_terminal
from selion.mistake import Mistake
from selion.repeated_runs import Interrupted, RepeatedRuns

context_settings = before_a_program

_modes = ("random", "delays")
_ours = {"explore": "--mode", "seed": "--seeds"}  # options of the machine, and what gives them here
_hash_seed = "PYTHONHASHSEED"  # else every run of Python puts its sets in another order
_most_seed = 2**64 - 1


def _seeds(text: str) -> range:
    found = re.fullmatch(r"(\d{1,20})(?:-(\d{1,20}))?", text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if not first <= last <= _most_seed:
        raise Mistake(f"'{text}' is not a range of seeds such as 1-1000; legal: 0 to {_most_seed}.")
    return range(first, last + 1)


def _fixed_variables() -> dict[str, str]:
    """What must not differ from run to run, where the user has not chosen it."""
    return {} if os.environ.get(_hash_seed) else {_hash_seed: "0"}


def _check_machine(machine: str) -> None:
    """@error Mistake for one that is real, whose orders are chosen already, or whose times nobody
    can repeat."""
    if not machine.startswith("sim:"):
        raise Mistake(f"Nobody can choose the orders of '{machine}', a real machine; use sim:NAME.")
    for option in machine.split(",")[1:]:
        key, _, value = option.partition("=")
        if key in _ours:
            is_legal = value in _modes if key == "explore" else value.isdecimal()
            cure = f", or write {_ours[key]} {value}" if is_legal else ""
            raise Mistake(f"The machine '{machine}' has '{option}', which selion explore chooses; "
                          f"leave it out{cure}.")
        if key == "compute" and value.startswith("measured"):
            raise Mistake(f"The machine '{machine}' has '{option}', with which no run is like "
                          "another, so no seed replays a failure; leave it out.")


def _is_python(program: str) -> bool:
    """Whether it may run Python: machine code of another name does not."""
    path = shutil.which(program) or program
    if "python" in os.path.basename(path):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4) != b"\x7fELF"
    except OSError:
        return True


def _replay(machine: str, line: list[str]) -> str:
    fixed = _fixed_variables() if _is_python(line[0]) else {}
    variables = {"SELION_MACHINE": machine, **fixed}
    return shlex.join(["env", *(f"{name}={value}" for name, value in variables.items()), *line])


def _tell_mistake(spec: str, line: list[str], seed: int, output: bytes) -> None:
    """Of a first run with status 2, which may be a failure all the same."""
    said = "" if output else ", and said nothing"
    sys.stderr.buffer.write(output)
    sys.stderr.flush()
    complain("explore", f"'{job.name_of(line)}' ended with status 2 at the first seed, {seed}"
                        f"{said}; 2 counts as a mistake in how it is run. If it is none, seed "
                        f"{seed} fails; replay it: {_replay(spec, line)}")


def _explore(line: list[str], machine: str, seeds: range, time_limit: float) -> None:
    """@param machine with its mode."""
    runs = RepeatedRuns(time_limit)
    for run, seed in enumerate(seeds, 1):
        spec = f"{machine},seed={seed}"
        if is_terminal(sys.stderr) and run % 10 == 1:
            print(f"\rseed {seed} of {seeds[0]} to {seeds[-1]}", end="", file=sys.stderr)
        try:
            done = runs.run(line, {"SELION_MACHINE": spec, **_fixed_variables()})
        except Interrupted as end:
            complain("explore", f"Interrupted at seed {seed}; none before it fails.")
            raise typer.Exit(128 + end.number) from None
        if done.status == 2 and run == 1:
            _tell_mistake(spec, line, seed, done.output)
            raise typer.Exit(2)
        if done.status != 0:
            print(done.output.decode(errors="replace"), end="")
            why = f", its {time_limit:g} s are over," if done.is_late else ""
            print(f"seed {seed} fails with status {done.status}{why} after {run} "
                  f"run{'s' * (run > 1)}.")
            print(f"Replay it: {_replay(spec, line)}")
            raise typer.Exit(1)
    runs_text = "1 run, seed" if len(seeds) == 1 else f"{len(seeds)} runs, seeds"
    last = "" if len(seeds) == 1 else f" to {seeds[-1]}"
    print(f"{runs_text} {seeds[0]}{last}: none fails.")


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
    bit. The program reads no input. Exit status 0 if no run failed, 1 if one did, 2 if nothing
    could be run, 128 + the number of a signal that ended it.
    """
    _check_machine(machine)
    if mode not in _modes:
        raise Mistake(f"'{mode}' is not a mode; the modes are {' and '.join(_modes)}.")
    if not (time_limit > 0 and math.isfinite(time_limit)):
        raise Mistake(f"The time limit is {time_limit} seconds; legal: finite, above 0.")
    line = program_line(program, arguments)
    _explore(line, f"{machine},explore={mode}", _seeds(seeds), time_limit)
