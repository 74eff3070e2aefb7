# SPDX-License-Identifier: Apache-2.0
"""The command `selion`: one file for each of its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from selion.cli import (
    bench,
    cache_advice,
    calibrate,
    doctor,
    explain,
    explore,
    machines,
    meters,
    report,
    run,
    schedule,
    study,
    tune,
)
from selion.version import version

app = typer.Typer(
    name="selion",
    help="One program over a partitioned global address space, on any machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", context_settings=run.context_settings)(run.command)
app.command("explore", context_settings=explore.context_settings)(explore.command)
app.command("machines")(machines.command)
app.command("schedule")(schedule.command)
app.command("study")(study.command)
app.command("report")(report.command)
app.command("bench")(bench.command)
app.command("calibrate")(calibrate.command)
app.command("tune")(tune.command)
app.command("explain")(explain.command)
app.command("cache-advice", context_settings=cache_advice.context_settings)(cache_advice.command)
app.command("meters")(meters.command)
app.command("doctor")(doctor.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"selion {version()}")
        raise typer.Exit


@app.callback()
def _common(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """What the installed command calls."""
    app()
