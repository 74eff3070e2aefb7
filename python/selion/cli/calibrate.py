# SPDX-License-Identifier: Apache-2.0
"""selion calibrate: this host as a simulated machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from selion import calibration
from selion.cli.output import answers_mistakes, complain
from selion.mistake import Mistake

_interrupted = 130


def _as_spec(path: Path) -> str:
    """A spec tells files from names by a slash; a comma or space in the path needs quoting."""
    text = str(path)
    return f"sim:{text if '/' in text else './' + text}"


@answers_mistakes("calibrate")
def command(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Machine file to write.")
    ] = Path("this-host.toml"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the measurements: a first look.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Measure this host and write a machine file, to compare predictions with real runs.

    Nothing else should run meanwhile.
    """
    if output.suffix != ".toml" or "," in str(output):
        raise Mistake(
            f"'{output}' is no name of a machine file; legal are names that end in .toml and have "
            "no comma."
        )
    calibration.check_target(output, force)
    try:
        text = calibration.machine_file(calibration.measure(quick), quick)
    except KeyboardInterrupt:
        complain("calibrate", "Interrupted; nothing was written.")
        raise typer.Exit(_interrupted) from None
    calibration.write(output, text, force)
    print(f"SELION_MACHINE={shlex.quote(_as_spec(output))} ./program")
