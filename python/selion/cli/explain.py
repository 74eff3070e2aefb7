# SPDX-License-Identifier: Apache-2.0
"""selion explain: how a collective would be carried out, and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from selion import launcher, schedules
from selion.cli import completion
from selion.cli.options import AsJson, Hosts, Machine, Ranks, chosen_machine
from selion.cli.output import answers_mistakes, print_json
from selion.mistake import Mistake, did_you_mean, listing
from selion.tuning import program


_most_bytes = 2**63 - 1  # less may be too much as well: the library judges that


def _size(text: str) -> int:
    factors = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    factor = factors.get(text[-1:].upper(), 1)
    number = text[:-1] if factor > 1 else text
    if not number.isdecimal():
        raise Mistake(f"'{text}' is no size; legal are 64, 4K, 1M and their like.")
    digits = number.lstrip("0") or "0"
    if len(digits) > len(str(_most_bytes)) or int(digits) * factor > _most_bytes:
        raise Mistake(f"{text} is more than there can be; at most {_most_bytes:,} bytes.")
    return int(digits) * factor


@answers_mistakes("explain")
def command(
    collective: Annotated[
        str,
        typer.Argument(metavar="COLLECTIVE", help="Such as all_reduce.",
                       autocompletion=completion.collectives),
    ],
    size: Annotated[
        str, typer.Option("--bytes", metavar="N", help="Bytes of one block (K, M, G).")
    ] = "8",
    machine: Machine = None,
    ranks: Ranks = None,
    hosts: Hosts = None,
    as_json: AsJson = False,
) -> None:
    """Say which way a collective goes, why, and what the alternatives have taken."""
    legal = schedules.collectives()
    if collective not in legal:
        near = did_you_mean(collective, legal)
        raise Mistake(f"There is no collective '{collective}'{near}; legal: {listing(legal)}.")
    chosen = chosen_machine(machine, ranks) or "threads"
    launcher.use_hosts(hosts, [chosen])
    found = program.explain(chosen, collective, _size(size))
    if as_json:
        print_json({"machine": chosen, **asdict(found)})
    else:
        print(found)
