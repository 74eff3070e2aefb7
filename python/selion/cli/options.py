# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have, and what they choose together."""

from __future__ import annotations

import os
import sys
from pathlib import PurePath
from typing import Annotated

import typer

from selion import job, spec
from selion.cli import completion
from selion.mistake import Mistake

# Everything after a program is the program's.
before_a_program = {"allow_interspersed_args": False}

Program = Annotated[str, typer.Argument(metavar="PROGRAM", help="Program to run.")]
ProgramArguments = Annotated[
    list[str] | None, typer.Argument(metavar="ARGUMENTS", help="Its arguments.")
]
Machine = Annotated[
    str | None,
    typer.Option("-m", "--machine", metavar="SPEC",
                 help="Machine: threads, threads:N@C, processes:N, fabric, sim:NAME, ... Default: "
                      "SELION_MACHINE, else the program's own: fabric under a launcher, threads "
                      "otherwise, processes in Python.",
                 autocompletion=completion.machines),
]
Ranks = Annotated[
    int | None,
    typer.Option("-n", "--ranks", metavar="N", help="Ranks, where SPEC leaves them open."),
]
Hosts = Annotated[
    str | None,
    typer.Option("--hosts", metavar="LIST",
                 help="Hosts for the machine fabric, as a,b or a:4,b:2 (ranks of each); the site's "
                      "launcher starts the ranks."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


_sources = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")


def _path(name: str) -> str:
    """The path of a program, looked up as a shell would."""
    if PurePath(name).suffix in _sources and os.path.isfile(name) and not os.access(name, os.X_OK):
        raise Mistake(f"'{name}' is source code; compile it, and name the program that this makes.")
    return job.find_program(name)


def program_line(program: str, arguments: list[str] | None) -> list[str]:
    """The command: a Python file runs with this interpreter, whether or not it is executable.

    @error Mistake if there is no such program that can be executed, or it is source code.
    """
    if program.endswith(".py") and os.path.isfile(program):
        return [sys.executable, program, *(arguments or [])]
    return [_path(program), *(arguments or [])]


def chosen_machine(machine: str | None, ranks: int | None) -> str | None:
    """The machine that is asked for here or in the environment; None: the library's own choice.

    @error Mistake if it has another number of ranks.
    """
    chosen = (
        machine or os.environ.get("SELION_MACHINE") or ("threads" if ranks is not None else None)
    )
    return spec.with_ranks(chosen, ranks) if chosen and ranks is not None else chosen
