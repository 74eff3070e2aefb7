# SPDX-License-Identifier: Apache-2.0
"""selion bench: what Selion itself costs this host."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from selion import foreground, job, places
from selion.cli.output import answers_mistakes
from selion.mistake import Mistake, listing

# Name, script of bench/, a program that the script needs, and what it is about.
_benchmarks = {
    "simulator": (
        "run_simulator",
        "bench_simulator",
        "ranks of simulated machines: messages a second, memory, events; beside SimGrid",
    )
}


def _line(name: str, options: dict[str, object]) -> list[str]:
    """The script with its options, those left out that were not given."""
    if name not in _benchmarks:
        raise Mistake(f"'{name}' is not a benchmark; legal: {listing(_benchmarks)}.")
    script, program, _ = _benchmarks[name]
    given: list[str] = []
    for option, value in options.items():
        if value is True:
            given.append(option)
        elif value not in (None, False):
            given += [option, str(value)]
    path = places.bench_folder() / script
    programs = places.study_program(program).parent
    shown = shlex.join(["selion", "bench", name, *given])
    return [sys.executable, str(path), "--bin", str(programs), "--shown-as", shown, *given]


@answers_mistakes("bench")
def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Benchmark to run; none: list them.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the work, fewer ranks: a first look.")
    ] = False,
    repeat: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Times each program runs.")
    ] = None,
    most_ranks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Leave out what has more ranks.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Part of the names of the operations.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all rows to FILE, as JSON Lines.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw how time grows with ranks to FILE.")
    ] = None,
) -> None:
    """Measure Selion on this host and print tables: figures, goals, rivals.

    Nothing else should run meanwhile.
    """
    options = {
        "--quick": quick,
        "--repeat": repeat,
        "--most-ranks": most_ranks,
        "--only": only,
        "--json": json,
        "--svg": svg,
    }
    if name is None:
        if any(value for value in options.values()):
            raise Mistake("These options need the name of a benchmark; 'selion bench' lists them.")
        for each, (_, _, summary) in _benchmarks.items():
            print(f"{each}: {summary}")
        return
    raise typer.Exit(foreground.run(_line(name, options), job.environment()).status)
