# SPDX-License-Identifier: Apache-2.0
"""selion calibrate: this host as a simulated machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from selion import calibration, launcher, network_calibration, spec
from selion.cli.options import Hosts
from selion.cli.output import answers_mistakes, complain
from selion.mistake import Mistake

_interrupted = 130
_ranks = 2  # of a network that is measured


def _as_spec(path: Path) -> str:
    """A spec tells files from names by a slash; a comma or space in the path needs quoting."""
    text = str(path)
    return f"sim:{text if '/' in text else './' + text}"


def _host_file(quick: bool) -> str:
    return calibration.machine_file(calibration.measure(quick), quick)


def _network_file(hosts: str | None, quick: bool) -> str:
    found = network_calibration.measure(f"fabric:{_ranks}", quick)
    where = f"on {hosts}" if hosts else "where the launcher put them"
    return network_calibration.machine_file(calibration.measure(quick), found, where, quick)


@answers_mistakes("calibrate")
def command(
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE",
                     help="Machine file to write; default: this-host.toml, or this-network.toml."),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option("-m", "--machine", metavar="SPEC",
                     help="fabric: measure the network between two ranks, in place of the cores."),
    ] = None,
    hosts: Hosts = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the measurements: a first look.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Measure this host and write a machine file, to compare predictions with real runs.

    With -m fabric it is the network that is measured. Nothing else should run meanwhile.
    """
    chosen = spec.parse(machine or "")
    kind = chosen.kind
    if kind not in ("", "fabric"):
        raise Mistake(f"'{machine}' is not calibrated; legal is fabric, or no machine: this host.")
    if chosen.options:
        raise Mistake(f"'{machine}' has options; networks are calibrated without any.")
    if chosen.ranks not in (None, _ranks):
        raise Mistake(f"'{machine}' has {chosen.ranks} ranks, but two are measured: fabric:2.")
    if chosen.per_process > 1:
        raise Mistake(f"'{machine}' puts ranks into one process, but the network between two is "
                      "measured: fabric:2.")
    launcher.use_hosts(hosts, [machine] if machine else [])
    output = output or Path("this-network.toml" if kind else "this-host.toml")
    if output.suffix != ".toml" or "," in str(output):
        raise Mistake(
            f"'{output}' is no name of a machine file; legal are names that end in .toml and have "
            "no comma."
        )
    calibration.check_target(output, force)
    try:
        text = _network_file(hosts, quick) if kind else _host_file(quick)
    except KeyboardInterrupt:
        complain("calibrate", "Interrupted; nothing was written.")
        raise typer.Exit(_interrupted) from None
    calibration.write(output, text, force)
    print(f"SELION_MACHINE={shlex.quote(_as_spec(output))} ./program")
