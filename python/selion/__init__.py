# SPDX-License-Identifier: Apache-2.0
"""Selion: one program over a partitioned global address space, on any machine.

    import numpy as np
    import selion

    def main(world: selion.World) -> None:
        part = world.allocate(4, np.float64)
        part.put(np.full(4, float(world.rank)), rank=(world.rank + 1) % world.size)
        world.barrier()
        print(world.rank, part.local)

    selion.run(main)

`SELION_MACHINE=processes:4 python program.py` starts four ranks. From anywhere, a notebook too,
`selion.run(main, machine="processes:4")` sends the function to them. Importing this package starts
nothing and never fails because the compiled module is absent; `selion.run` then says what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from selion.launch import run
from selion.mistake import Failure, Mistake
from selion.rank_failed import RankFailed
from selion.version import version

if TYPE_CHECKING:
    from selion._core import (
        GlobalArray,
        Signal,
        Subteam,
        Team,
        World,
        knobs,
        machine_kinds,
        usable_cores,
    )
    from selion.spread import SpreadArray

__version__ = version()

__all__ = [
    "Failure",
    "GlobalArray",
    "Mistake",
    "RankFailed",
    "Signal",
    "SpreadArray",
    "Subteam",
    "Team",
    "World",
    "knobs",
    "machine_kinds",
    "run",
    "usable_cores",
]

_compiled = (
    "GlobalArray",
    "Signal",
    "Subteam",
    "Team",
    "World",
    "knobs",
    "machine_kinds",
    "usable_cores",
)


def __getattr__(name: str) -> Any:
    """Names of the compiled module are looked up when they are first used."""
    if name not in (*_compiled, "SpreadArray"):
        raise AttributeError(f"module 'selion' has no attribute '{name}'")
    from selion import native

    compiled = native.load()
    if name == "SpreadArray":
        from selion.spread import SpreadArray

        return SpreadArray
    return getattr(compiled, name)
