# SPDX-License-Identifier: Apache-2.0
"""What `bench/run_simulator` runs: every operation at every size, by Selion and by SimGrid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# SimGrid at its fastest: the smallest stacks that these programs need, no protected page behind
# each (Linux maps too few for 100,000), and flows that do not slow down those of the other way.
_stacks = ("--cfg=contexts/stack-size:8", "--cfg=contexts/guard-size:0")
_simgrid = (*_stacks, "--cfg=network/crosstraffic:0")
# MPI's functions need more stack. What a rank computes between its calls is not simulated.
_smpi = ("--cfg=contexts/stack-size:16", *_simgrid[1:],
         "--cfg=smpi/simulate-computation:no", "--cfg=smpi/host-speed:1Gf")
# Of few flows it is faster to compute all than to find out which have changed.
_few_flows = "--cfg=network/optim:Full"


@dataclass(frozen=True)
class Heat:
    """One program with its arguments; one process each time that it is run."""

    operation: str
    ranks: int  # or what else grows: nodes of a mesh, pending events
    contestant: str  # as the program calls itself
    program: str
    arguments: tuple[str, ...]
    machine: str = ""  # for SELION_MACHINE; empty: the program chooses
    most_runs: int = 1000

    @property
    def is_selion(self) -> bool:
        return self.contestant == "selion"


@dataclass(frozen=True)
class Scale:
    """How much work: `quick` gives a first look in half a minute."""

    quick: bool = False
    most_ranks: int = 100_000

    def sizes(self, *wanted: int) -> Iterator[int]:
        most = min(self.most_ranks, 10_000) if self.quick else self.most_ranks
        return (size for size in wanted if size <= most)

    def work(self, count: int) -> int:
        return max(1, count // 10 if self.quick else count)


def _ping_pong(scale: Scale) -> Iterator[Heat]:
    rounds = scale.work(1_000_000)
    fewer = f"rounds={rounds // 10}"
    for ranks in scale.sizes(2):
        yield Heat("ping-pong", ranks, "selion", "bench_simulator",
                   ("ping_pong", f"rounds={rounds}"))
        yield Heat("ping-pong", ranks, "SimGrid", "bench_simgrid",
                   ("ping_pong", fewer, *_simgrid, _few_flows))
        yield Heat("ping-pong", ranks, "SMPI", "bench_smpi",
                   ("ping_pong", fewer, *_smpi, _few_flows))


def _ring(scale: Scale) -> Iterator[Heat]:
    for ranks in scale.sizes(1_000, 10_000, 100_000):
        yield Heat("ring", ranks, "selion", "bench_simulator", ("ring", f"ranks={ranks}"))
        yield Heat("ring", ranks, "SimGrid", "bench_simgrid", ("ring", f"ranks={ranks}", *_simgrid))


def _barrier(scale: Scale) -> Iterator[Heat]:
    for ranks in scale.sizes(1_000, 10_000, 100_000):
        size = f"ranks={ranks}"
        rounds = f"rounds={max(1, scale.work(100_000) // ranks)}"
        yield Heat("barrier", ranks, "selion", "bench_simulator", ("barrier", size, rounds))
        yield Heat("barrier", ranks, "SimGrid, built in", "bench_simgrid",
                   ("barrier", size, rounds, *_simgrid))
    # Their time grows with the square of the ranks: 100,000 would take minutes.
    for ranks in scale.sizes(1_000, *(() if scale.quick else (10_000,))):
        size = f"ranks={ranks}"
        yield Heat("barrier", ranks, "SimGrid, messages", "bench_simgrid",
                   ("dissemination", size, *_simgrid), most_runs=3)
        yield Heat("barrier", ranks, "SMPI", "bench_smpi", ("barrier", size, *_smpi), most_runs=3)


def _curves(scale: Scale) -> Iterator[Heat]:
    for ranks in scale.sizes(10, 100, 1_000, 10_000, 100_000):
        rounds = max(3, scale.work(1_000_000) // ranks)
        yield Heat("messages", ranks, "selion", "bench_simulator",
                   ("messages", f"ranks={ranks}", f"rounds={rounds}"))
    for pending in scale.sizes(10, 100, 1_000, 10_000, 100_000):
        rounds = max(3, scale.work(5_000_000) // pending)
        yield Heat("events", pending, "selion", "bench_simulator",
                   ("events", f"pending={pending}", f"rounds={rounds}"))


def _mesh(scale: Scale) -> Iterator[Heat]:
    for nodes in scale.sizes(16, 64):
        side = math.isqrt(nodes)
        cycles = scale.work(16_000_000 // nodes)
        yield Heat("mesh traffic", nodes, "selion", "bench_mesh",
                   (f"rows={side}", f"columns={side}", "load=0.2", f"cycles={cycles}"))


def _em3d(scale: Scale) -> Iterator[Heat]:
    for ranks in scale.sizes(1_000, 10_000):
        # One electric and one magnetic node on every rank.
        yield Heat("em3d", ranks, "selion", "em3d",
                   ("--random", "--graph-processors", str(ranks), "--nodes", "1", "--degree", "4",
                    "--iterations", "1", "--json"),
                   machine=f"sim:crossbar,ranks={ranks}", most_runs=3)


def heats(scale: Scale, only: str = "") -> list[Heat]:
    """All of them, or those of the operations whose names contain `only`."""
    parts: Iterable[Iterator[Heat]] = (
        _ping_pong(scale), _ring(scale), _barrier(scale), _curves(scale), _mesh(scale),
        _em3d(scale))
    return [heat for part in parts for heat in part if only in heat.operation]
