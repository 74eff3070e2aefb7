# SPDX-License-Identifier: Apache-2.0
"""How the elements of a spread array are dealt out to ranks.

Elements that lie together on a rank are a *tile*: so many of each dimension. Tiles go to all ranks
in turn (`tiles`, `runs`), or along the dimensions of a grid of ranks (`on_grid`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Tiles:
    """See `tiles`."""

    extents: tuple[int, ...]


@dataclass(frozen=True)
class Runs:
    """See `runs`."""

    length: int


@dataclass(frozen=True)
class Along:
    """One dimension of a grid: elements of a tile (0: by the ranks), and ranks that share it."""

    tile: int
    ranks: int


@dataclass(frozen=True)
class Grid:
    """See `on_grid`."""

    dimensions: tuple[Along, ...]


Layout = Union[Tiles, Runs, Grid, Along]


def tiles(*elements: int) -> Tiles:
    """Tiles of so many elements of each dimension go to all ranks in turn, the last dimension
    first: rank 0 has the first tile of the first row."""
    return Tiles(tuple(elements))


def runs(length: int) -> Runs:
    """Runs of so many elements in the order of memory go to all ranks in turn; 0: one run, rank
    0's. Of several dimensions a run is a part of a row that divides it, whole rows that divide a
    plane, and so on."""
    return Runs(length)


def block(ranks: int) -> Along:
    """A piece for each of so many ranks; the last ones may have fewer elements, or none."""
    return Along(0, ranks)


def cyclic(ranks: int) -> Along:
    """One element for each of so many ranks in turn."""
    return Along(1, ranks)


def block_cyclic(elements: int, ranks: int) -> Along:
    """So many elements for each of so many ranks in turn."""
    return Along(elements, ranks)


def whole() -> Along:
    """Not divided."""
    return Along(0, 1)


def on_grid(*dimensions: Along) -> Grid:
    """Each dimension by itself, over a grid of ranks that are numbered row by row.

    Ranks beyond the grid have no elements.
    """
    return Grid(tuple(dimensions))
