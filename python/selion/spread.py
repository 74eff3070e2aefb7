# SPDX-License-Identifier: Apache-2.0
"""Arrays with one index space whose elements lie with all ranks.

    from selion.layout import tiles

    a = world.spread((1000, 1000), layout=tiles(100, 100))
    a[3, 4] = 5.0                 # wherever it lies
    block = a[10:20, ::2]         # a copy, by as few transfers as the layout allows
    for tile in a.my_tiles():     # views of own memory
        tile.array += 1
"""

from __future__ import annotations

import hashlib
import operator
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from selion import _core, arrays, layout, registry
from selion._core import GlobalArray, World
from selion.spread_index import Part, is_integer, part_of, whole_index

_Array = NDArray[Any]


@dataclass(frozen=True)
class Tile:
    """Elements of the calling rank that lie together in its memory."""

    first: tuple[int, ...]
    """Index of its first element in the whole array."""
    array: _Array
    """The elements themselves, not a copy."""

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where it lies in the whole array."""
        extents = zip(self.first, self.array.shape, strict=True)
        return tuple(slice(first, first + extent) for first, extent in extents)


class SpreadArray:
    """An array of 1 to 4 dimensions that lies with all ranks, zeroed at first.

    Reading and writing elements and parts by index is one-sided, and waits until it is done; order
    such accesses against other ranks' by a barrier. Made by `World.spread`.
    """

    def __init__(
        self, world: World, shape: tuple[int, ...], dealt: layout.Layout, parts: GlobalArray | Any
    ) -> None:
        """Of memory that is there; `World.spread` allocates it.

        @param parts the memory, or its dtype: then it is allocated, and all ranks call this.
        """
        self._shape = shape
        self._dealt = dealt
        self._how = _layout_of(shape, dealt, world.size)
        self._rank = world.rank
        if not isinstance(parts, GlobalArray):
            _expect_alike(world, self._how, arrays.movable_dtype(parts))
            parts = arrays.allocate(world, self._how.local_size, parts)
        self._parts: GlobalArray = parts

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the whole array."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Elements of the whole array."""
        return int(np.prod(self._shape, dtype=np.int64))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of the elements."""
        return self._parts.dtype

    @property
    def parts(self) -> GlobalArray:
        """The memory of all ranks: element `local_index(i, j)` of rank `owner(i, j)` is (i, j).

        For atomics, signals and transfers in two phases.
        """
        return self._parts

    @property
    def local(self) -> _Array:
        """All memory of this rank, one-dimensional and no copy: its tiles one behind the other,
        each row by row. Tiles at the end of a dimension may have unused elements."""
        return self._parts.local

    def __len__(self) -> int:
        return self._shape[0]

    def __repr__(self) -> str:
        return f"<selion.SpreadArray of shape {self._shape}, dtype {self.dtype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._shape, self._dealt, self._parts)

    # --- places -----------------------------------------------------------------------------------

    def owner(self, *index: int) -> int:
        """The rank that has an element. @error IndexError"""
        return self._place(index)[0]

    def local_index(self, *index: int) -> int:
        """The element's number among those of its owner. @error IndexError"""
        return self._place(index)[1]

    def my_tiles(self) -> list[Tile]:
        """This rank's tiles, in the order in which they lie in its memory."""
        extents = self._how.tile_extents
        size = int(np.prod(extents, dtype=np.int64))
        local = self.local
        made = []
        for first, count, start in self._how.tiles_of(self._rank):
            whole = local[start : start + size].reshape(extents)
            made.append(Tile(tuple(first), whole[tuple(slice(n) for n in count)]))
        return made

    def mine(self) -> Iterator[tuple[int, ...]]:
        """Indices of this rank's elements, tile by tile and row by row."""
        for tile in self.my_tiles():
            for index in np.ndindex(tile.array.shape):
                yield tuple(a + b for a, b in zip(tile.first, index, strict=True))

    def _place(self, index: tuple[Any, ...]) -> tuple[int, int]:
        if len(index) != len(self._shape):
            raise IndexError(
                f"{len(index)} indices are given; the array has {len(self._shape)} dimensions."
            )
        whole = [whole_index(index[d], extent, d) for d, extent in enumerate(self._shape)]
        return self._how.place_of(whole)

    # --- elements and parts ---------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """`a[i, j]` is a number; with slices or `...` an array, which is a copy."""
        element = self._element(index)
        if element is not None:
            return self._parts.item(*self._place(element))
        return self.read(index)

    def __setitem__(self, index: Any, values: Any) -> None:
        """Values are broadcast to the part as NumPy does; they may be of the array itself."""
        element = self._element(index)
        if element is not None:
            has_fields = self.dtype.names is not None and isinstance(values, tuple)
            if not has_fields and np.ndim(values) != 0:
                raise ValueError(f"An element is one value; this has shape {np.shape(values)}.")
            if self.dtype.kind in "SU":  # a text, not the bytes of one
                values = arrays.conform(values, self.dtype)
            self._parts.put(values, *self._place(element))
            return
        part = part_of(index, self._shape)
        given = arrays.conform(values, self.dtype)
        shape = given.shape
        while given.ndim > len(part.shape) and given.shape[0] == 1:
            given = given[0]
        try:
            given = np.broadcast_to(given, part.shape)
        except ValueError:
            raise ValueError(
                f"Values of shape {shape} do not fit a part of shape {part.shape}."
            ) from None
        source = np.ascontiguousarray(part.turned(given))
        if np.may_share_memory(source, self.local):  # to which ranks write, this one as well
            source = source.copy()
        self._move(part, source, is_written=True)

    def __iter__(self) -> Iterator[Any]:
        """`a[0]`, `a[1]` and so on, each read when its turn comes."""
        return (self[index] for index in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        """Whether any element equals a value, as with NumPy: all of them are read, once."""
        return value in self.read()

    def _element(self, index: Any) -> tuple[Any, ...] | None:
        """The indices, if they are of one element."""
        all_of_them = index if isinstance(index, tuple) else (index,)
        if len(all_of_them) != len(self._shape):
            return None
        return all_of_them if all(is_integer(each) for each in all_of_them) else None

    def read(self, index: Any = ..., out: Any = None) -> _Array:
        """What `a[index]` returns; with `out`, a contiguous array of its shape and the same dtype,
        into that.

        @error IndexError, and ValueError or TypeError for what `out` cannot be.
        """
        part = part_of(index, self._shape)
        if out is None:
            into = np.empty(part.shape, self.dtype)
        else:
            into = self._checked_out(out, part.shape)
        if any(part.is_backward) or np.may_share_memory(into, self.local):
            got = np.empty(part.shape, self.dtype)
            self._move(part, got, is_written=False)
            into[...] = part.turned(got)
        else:
            self._move(part, into, is_written=False)
        return into if out is None else out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> _Array:
        """A copy of all of it, for NumPy. @error ValueError where a copy is not wanted."""
        if copy is False:
            raise ValueError("A spread array becomes an array of NumPy's by a copy only.")
        whole = self.read()
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def _checked_out(self, out: Any, shape: tuple[int, ...]) -> _Array:
        into = _core.as_array(out, True)
        if into is None:
            raise TypeError(f"out is an array; this is {type(out).__name__}.")
        if into.shape != shape or not into.flags.c_contiguous or not into.flags.writeable:
            raise ValueError(f"out must be a contiguous array of shape {shape} that may change.")
        if into.dtype != self.dtype:
            raise TypeError(f"out is of dtype {into.dtype}; the array is of {self.dtype}.")
        return into

    def _move(self, part: Part, memory: _Array, *, is_written: bool) -> None:
        strides, inner = [0] * len(self._shape), 1
        for d in reversed(range(len(self._shape))):
            strides[d] = inner
            inner *= part.count[d]
        _core.move_part(self._how, self._parts, memory, part.first, part.count, part.step, strides,
                        is_written)

    def free(self) -> None:
        """Gives the memory back; all ranks call it."""
        self._parts.free()


def spread(world: World, shape: Any, dtype: DTypeLike, dealt: Any) -> SpreadArray:
    """What `World.spread` does."""
    extents = arrays.shape_of(shape)
    if not 1 <= len(extents) <= 4:
        raise ValueError("A spread array has 1 to 4 dimensions.")
    if dealt is None:
        others = (layout.whole() for _ in extents[1:])
        dealt = layout.on_grid(layout.block(world.size), *others)
    return SpreadArray(world, extents, dealt, arrays.movable_dtype(dtype))


def _again(shape: tuple[int, ...], dealt: layout.Layout, parts: GlobalArray) -> SpreadArray:
    return SpreadArray(registry.world(), shape, dealt, parts)


def _layout_of(shape: tuple[int, ...], dealt: layout.Layout, ranks: int) -> _core.Layout:
    none = [0] * len(shape)
    if isinstance(dealt, layout.Along):
        dealt = layout.on_grid(dealt)
    if isinstance(dealt, layout.Runs):
        run = operator.index(dealt.length)
        if not 0 <= run <= sys.maxsize:
            raise ValueError(f"A run has {run} elements; legal: 0 to {sys.maxsize}.")
        return _core.make_layout(shape, none, none, run, ranks)
    if isinstance(dealt, layout.Tiles):
        numbers = [operator.index(n) for n in dealt.extents]
        grid = [0] * len(numbers)
    elif isinstance(dealt, layout.Grid):
        _expect_along(dealt)
        numbers = [operator.index(each.tile) for each in dealt.dimensions]
        grid = [operator.index(each.ranks) for each in dealt.dimensions]
    else:
        raise TypeError(
            f"A layout is made by tiles, runs or on_grid of selion.layout; this is "
            f"{type(dealt).__name__}."
        )
    if not all(0 <= n <= sys.maxsize for n in (*numbers, *grid)):
        raise ValueError(f"Numbers of a layout are 0 to {sys.maxsize}; this has {dealt}.")
    return _core.make_layout(shape, numbers, grid, -1, ranks)


def _expect_along(dealt: layout.Grid) -> None:
    for each in dealt.dimensions:
        if not isinstance(each, layout.Along):
            raise TypeError(
                f"A grid's dimensions are made by block, cyclic, block_cyclic or whole; this is "
                f"{type(each).__name__}."
            )
        if operator.index(each.ranks) == 0:
            raise ValueError(f"A dimension is dealt out to 1 or more ranks; this has {each}.")


def _expect_alike(world: World, how: _core.Layout, dtype: np.dtype[Any]) -> None:
    """@error ValueError, on all ranks, where they have asked for different arrays."""
    elements = hashlib.blake2b(str(dtype).encode(), digest_size=8).digest()
    own = (how.fingerprint ^ int.from_bytes(elements, "little")) & (2**63 - 1)
    least, most = world.all_reduce(own, "minimum"), world.all_reduce(own, "maximum")
    if least != most:
        raise ValueError(
            "Ranks have asked for spread arrays of different shapes, layouts or dtypes."
        )
