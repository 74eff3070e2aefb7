# SPDX-License-Identifier: Apache-2.0
"""What there is to be measured: a cell for each machine, collective and size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selion.explanation import size_text

_sizes = (8, 32, 128, 512, 2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 1 << 20)
_line_bytes = 112  # of a member: what the board takes
_most_bytes = 8 << 20  # of all members' blocks
_gives_all = ("reduce_scatter", "scatter", "exchange")
_has_all = (*_gives_all, "gather", "all_gather")


@dataclass(frozen=True)
class Cell:
    """@param size bytes of a block."""

    machine: str
    collective: str
    size: int

    def __str__(self) -> str:
        size = "" if self.collective == "barrier" else f" {size_text(self.size)}"
        return f"{self.machine} {self.collective}{size}"


def line_edge(collective: str, ranks: int) -> int:
    """The longest block for which a line is enough, or the shortest there is."""
    blocks = ranks if collective in _gives_all else 1
    return max(_line_bytes // blocks // 8 * 8, 8)


def sizes(collective: str, ranks: int) -> list[int]:
    """Sizes of blocks by four, and the longest for which a line is enough."""
    if collective == "barrier":
        return [0]
    blocks = ranks if collective in _has_all else 1
    most = max(_most_bytes // blocks, 8)
    return sorted({size for size in (*_sizes, line_edge(collective, ranks)) if size <= most})


def default_machines(cores: int) -> list[str]:
    """Teams of 2, 3, 4 and 8 ranks, and of 16, 32, … as far as there are cores."""
    ranks = [2, 3, 4, 8]
    while 2 * ranks[-1] <= cores:
        ranks.append(2 * ranks[-1])
    return [f"{kind}:{count}" for count in ranks for kind in ("threads", "processes")]


def cells(machines: Mapping[str, int], collectives: Sequence[str]) -> list[Cell]:
    """All cells; those first that say most where time is short: every third size and the last one
    for which a line is enough, then the rest. What has not been measured goes as the next longer
    one does, and what fills a line does not tell of what is in slots.

    @param machines specs, with their ranks.
    """
    made: list[tuple[int, Cell]] = []
    for machine, ranks in machines.items():
        for collective in collectives:
            edge = line_edge(collective, ranks)
            for number, size in enumerate(sizes(collective, ranks)):
                is_first = number % 3 == 0 or size == edge
                made.append((0 if is_first else 1, Cell(machine, collective, size)))
    return [cell for _, cell in sorted(made, key=lambda each: each[0])]

