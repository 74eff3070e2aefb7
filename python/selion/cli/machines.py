# SPDX-License-Identifier: Apache-2.0
"""selion machines: what a program can run on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from selion import known_machines, native, spec
from selion.cli import completion
from selion.cli.output import answers_mistakes, print_json
from selion.mistake import listing


def _as_data(kind: Any) -> dict[str, Any]:
    return {
        "name": kind.name,
        "forms": list(kind.forms),
        "summary": kind.summary,
        "capabilities": dict(kind.facts),
        "available": kind.available,
        "reason": kind.reason,
    }


def _as_simulated(machine: Any) -> dict[str, Any]:
    return {
        "name": f"sim:{machine.name}",
        "summary": machine.summary,
        "ranks": machine.ranks,
        "options": list(machine.options),
    }


def _table(*columns: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column)
    return table


def _print_overview(kinds: list[dict[str, Any]], simulated: list[dict[str, Any]]) -> None:
    from rich.console import Console

    table = _table("machine", "spec", "what it is")
    for kind in kinds:
        text = kind["summary"]
        if not kind["available"]:
            text += f"\nnot available: {kind['reason']}"
        table.add_row(kind["name"], "\n".join(kind["forms"]), text)
    Console(soft_wrap=False).print(table)
    print()
    table = _table("simulated", "ranks", "what it is")
    for machine in simulated:
        table.add_row(machine["name"], str(machine["ranks"]), machine["summary"])
    Console(soft_wrap=False).print(table)
    print(
        "\n'selion machines --explain NAME' says what one can do; of a simulated one, where each "
        "of its constants comes from."
    )


def _print_one(kind: dict[str, Any]) -> None:
    print(f"{kind['name']}: {kind['summary']}")
    print(f"  spec: {listing(kind['forms'])}")
    print(f"  available: {'yes' if kind['available'] else 'no: ' + kind['reason']}")
    for name, value in kind["capabilities"].items():
        print(f"  {name}: {value}")


def _simulated_text(name: str, names: list[str]) -> str:
    """What a simulated machine is.

    @param name its name, a path of a file, or a spec that begins with "sim:".
    """
    plain = name.removeprefix("sim:").partition(",")[0]
    if not (known_machines.is_file(name) or name.startswith("sim:") or f"sim:{plain}" in names):
        raise known_machines.unknown_machine(name, names)
    return known_machines.explain(name)


def _kind_of(machine: str, kinds: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Of its name, or of a spec of a real machine. @error Mistake for a malformed spec."""
    for kind in kinds:
        if machine == kind["name"]:
            return kind
        if kind["name"] == spec.parse(machine).kind != "sim":
            known_machines.expect_form(machine, kind["forms"])
            return kind
    return None


@answers_mistakes("machines")
def command(
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="All about one machine: 'threads:4', 'sim:epiphany-iii,rows=8', './mine.toml'.",
            autocompletion=completion.machines,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the machines, what each can do, and why one is not available."""
    module = native.load()
    kinds = [_as_data(kind) for kind in module.machine_kinds()]
    simulated = [_as_simulated(machine) for machine in module.simulated_machines()]
    if explain is None:
        if as_json:
            print_json([one | {"machines": simulated} if one["name"] == "sim" else one
                        for one in kinds])
        else:
            _print_overview(kinds, simulated)
        return
    if kind := _kind_of(explain, kinds):
        print_json(kind) if as_json else _print_one(kind)
        return
    names = [one["name"] for one in (*kinds, *simulated)]
    text = _simulated_text(explain, names)
    if as_json:
        print_json({"name": explain, "text": text})
    else:
        print(text, end="")
