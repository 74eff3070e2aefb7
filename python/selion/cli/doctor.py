# SPDX-License-Identifier: Apache-2.0
"""selion doctor: what is amiss here, and its cure."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Annotated

import typer

from selion import launcher
from selion.cli.output import answers_mistakes, print_json
from selion.doctor import Check, all_checks, fabric_checks
from selion.mistake import Mistake

_styles = {"ok": "green", "warn": "yellow", "fail": "red"}


def _print_checks(checks: list[Check]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    width = max(len(check.name) for check in checks)
    for check in checks:
        line = Text(f"{check.status:4}", style=_styles[check.status])
        line.append(f"  {check.name:{width}}  {check.found}", style="default")
        console.print(line)
        if check.cure:
            console.print(Text(f"      cure: {check.cure}", style=_styles[check.status]))
    counts = Counter(check.status for check in checks)
    print(f"{counts['ok']} ok, {counts['warn']} to look at, {counts['fail']} failed.")


@answers_mistakes("doctor")
def command(
    fabric: Annotated[
        bool, typer.Option("--fabric", help="What jobs on many hosts need and would use.")
    ] = False,
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", "-n", min=1, metavar="N",
                     help="With --fabric: start so many ranks, and tell how each is reached."),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option("--hosts", metavar="LIST", help="With --fabric: on these hosts, as a,b or "
                                                     "a:4,b:2."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check this host, what is installed, and the environment; name the cures.

    The exit status is 1 if a check failed, which means that programs will not run.
    """
    if not fabric and (ranks is not None or hosts is not None):
        raise Mistake("-n and --hosts are for a job on the machine fabric: add --fabric.")
    if hosts is not None:
        launcher.parse_hosts(hosts)  # a mistake in it is told before anything is started
    checks = fabric_checks(ranks, hosts) if fabric else all_checks()
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        _print_checks(checks)
    if any(check.status == "fail" for check in checks):
        raise typer.Exit(1)
