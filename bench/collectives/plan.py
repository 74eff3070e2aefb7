# SPDX-License-Identifier: Apache-2.0
"""What `bench/run_collectives` runs: each program once in a round, for all operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from collectives.peers import Peer

_large = tuple(f"{name} {size}" for size in ("4 KiB", "64 KiB", "1 MiB")
               for name in ("broadcast", "all_reduce"))
operations = ("barrier", "broadcast 8 B", "all_reduce 8 B", "exchange 8 B", "all_gather 8 B",
              *_large)
program = "bench_collectives"


@dataclass(frozen=True)
class Heat:
    """One program with the number of its ranks."""

    name: str  # a machine of Selion, or a peer
    ranks: int
    command: tuple[str, ...]
    is_selion: bool
    environment: dict[str, str] = field(default_factory=dict, hash=False)


def block_options(have_processors: bool, quick: bool) -> tuple[str, ...]:
    """How many blocks of an operation, and how long each: ranks that share processors need longer
    ones, so that all have had their turns."""
    blocks, micros = (21, 500) if have_processors else (7, 20_000)
    if quick:
        blocks, micros = (7, 200) if have_processors else (3, 5_000)
    return ("--blocks", str(blocks), "--block-us", str(micros))


def _selion_heats(programs: Path, ranks: int, more: tuple[str, ...]) -> Iterator[Heat]:
    for kind in ("threads", "processes"):
        machine = f"{kind}:{ranks}"
        for memory, name in (("own", machine), ("symmetric", f"{machine}, symmetric")):
            yield Heat(name, ranks, (str(programs / program), memory, *more), True,
                       {"SELION_MACHINE": machine})


@dataclass(frozen=True)
class Scope:
    """What is wanted, and where the programs lie."""

    programs: Path
    peers_folder: Path
    peers: list[Peer]
    only: str = ""
    quick: bool = False
    processors: int = 2  # that all ranks share


def _takes_part(peer: Peer, have_processors: bool, turn: int, quick: bool) -> bool:
    """Who holds its processor while it waits takes minutes as soon as ranks share one."""
    return have_processors or peer.yields or (turn == 0 and not quick)


def heats(scope: Scope, ranks: int, turn: int) -> list[Heat]:
    """Of one number of ranks in one round. The threads' program has few operations, and does them
    all."""
    have_processors = ranks <= scope.processors
    options = block_options(have_processors, scope.quick)
    wanted = (*options, *(("--only", scope.only) if scope.only else ()))
    found = list(_selion_heats(scope.programs, ranks, wanted))
    for peer in scope.peers:
        if not _takes_part(peer, have_processors, turn, scope.quick):
            continue
        asked = options if peer.source == "threads.cpp" else wanted
        command = peer.command(scope.peers_folder, ranks, have_processors)
        found.append(Heat(peer.name, ranks, (*command, *asked), False,
                          peer.environment(ranks, have_processors)))
    return found
