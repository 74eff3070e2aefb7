# SPDX-License-Identifier: Apache-2.0
"""selion machines: what a program can run on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from selion import native
from selion.cli.output import answers_mistakes, print_json
from selion.mistake import Mistake, listing


def _as_data(kind: Any) -> dict[str, Any]:
    return {
        "name": kind.name,
        "forms": list(kind.forms),
        "summary": kind.summary,
        "capabilities": dict(kind.facts),
        "available": kind.available,
        "reason": kind.reason,
    }


def _print_overview(kinds: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("machine", "spec", "what it is"):
        table.add_column(column)
    for kind in kinds:
        text = kind["summary"]
        if not kind["available"]:
            text += f"\nnot available: {kind['reason']}"
        table.add_row(kind["name"], "\n".join(kind["forms"]), text)
    Console(soft_wrap=False).print(table)
    print("\n'selion machines --explain NAME' says what one can do.")


def _print_one(kind: dict[str, Any]) -> None:
    print(f"{kind['name']}: {kind['summary']}")
    print(f"  spec: {listing(kind['forms'])}")
    print(f"  available: {'yes' if kind['available'] else 'no: ' + kind['reason']}")
    for name, value in kind["capabilities"].items():
        print(f"  {name}: {value}")


@answers_mistakes("machines")
def command(
    explain: Annotated[
        str | None, typer.Option(metavar="NAME", help="All about one machine.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the machines, what each can do, and why one is not available."""
    kinds = [_as_data(kind) for kind in native.load().machine_kinds()]
    if explain is not None:
        chosen = [kind for kind in kinds if kind["name"] == explain]
        if not chosen:
            names = listing(kind["name"] for kind in kinds)
            raise Mistake(f"'{explain}' is not a machine; legal: {names}.")
        if as_json:
            print_json(chosen[0])
        else:
            _print_one(chosen[0])
    elif as_json:
        print_json(kinds)
    else:
        _print_overview(kinds)
