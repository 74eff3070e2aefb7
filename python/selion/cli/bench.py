# SPDX-License-Identifier: Apache-2.0
"""selion bench: what Selion itself costs this host."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from selion import foreground, job, places
from selion.benchmarks import benchmarks
from selion.cli import completion
from selion.cli.output import answers_mistakes
from selion.mistake import Mistake, listing, unknown


_options_of_all = ("--quick", "--repeat", "--only", "--json")


def _line(name: str, options: Mapping[str, object]) -> list[str]:
    """The script with its options, those left out that were not given."""
    if name not in benchmarks:
        raise unknown(name, "a benchmark", benchmarks)
    chosen = benchmarks[name]
    legal = (*_options_of_all, *chosen.options)
    given: list[str] = []
    for option, value in options.items():
        if value in (None, False):
            continue
        if value == "":
            raise Mistake(f"{option} is empty; name something or leave it out.")
        if option not in legal:
            raise Mistake(f"{option} is not an option of '{name}'; legal: {listing(legal)}.")
        given += [option] if value is True else [option, str(value)]
    path = places.bench_folder() / chosen.script
    programs = places.study_program(chosen.program).parent
    shown = shlex.join(["selion", "bench", name, *given])
    return [sys.executable, str(path), "--bin", str(programs), "--shown-as", shown, *given]


@answers_mistakes("bench")
def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Benchmark to run; none: list them.",
                       autocompletion=completion.benchmarks),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A fraction of the work: a first look.")
    ] = False,
    repeat: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Times each program runs.")
    ] = None,
    most_ranks: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Simulator: leave out what has more ranks."),
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Collectives: numbers of ranks (default: 2,16,64)."),
    ] = None,
    processors: Annotated[
        int | None,
        typer.Option(min=1, metavar="N",
                     help="Collectives: processors that all ranks share (default: 2)."),
    ] = None,
    busy: Annotated[
        int | None,
        typer.Option(min=0, max=1024, metavar="N",
                     help="Operations, collectives: programs that compute meanwhile on the same "
                          "processors (default: 0)."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Part of the names of the operations.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all rows to FILE, as JSON Lines.")
    ] = None,
    mpi_python: Annotated[
        str | None,
        typer.Option(metavar="PROGRAM", help="Python: the interpreter that has mpi4py."),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Simulator: draw how time grows with ranks to FILE."),
    ] = None,
) -> None:
    """Measure Selion on this host and print tables: figures, goals, rivals.

    Nothing else should run meanwhile.
    """
    options = {
        "--quick": quick,
        "--repeat": repeat,
        "--most-ranks": most_ranks,
        "--ranks": ranks,
        "--processors": processors,
        "--busy": busy,
        "--only": only,
        "--json": json,
        "--mpi-python": mpi_python,
        "--svg": svg,
    }
    if name is None:
        if any(value for value in options.values()):
            raise Mistake("These options need the name of a benchmark; 'selion bench' lists them.")
        for each, benchmark in benchmarks.items():
            print(f"{each}: {benchmark.summary}")
        return
    raise typer.Exit(foreground.run(_line(name, options), job.environment()).status)
