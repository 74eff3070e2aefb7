# SPDX-License-Identifier: Apache-2.0
"""What collectives of blocks leave to Python: shapes, dtypes, and single values."""

from __future__ import annotations

import ast
import operator as operators
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from selion._core import World, combine, move_blocks

_Array = np.ndarray[Any, Any]

# A single value travels as its kind and eight bytes, so that ranks may pass values of any kind.
_cell = np.dtype([("kind", "u1"), ("bits", "V8")])
_none, _truth, _integer, _floating = range(4)


def _pack(value: Any, what: str) -> tuple[int, bytes]:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return _none, bytes(8)
    if isinstance(value, bool):
        return _truth, struct.pack("=q", value)
    if isinstance(value, int):
        try:
            return _integer, struct.pack("=q", value)
        except struct.error:
            raise OverflowError("Integers that ranks exchange must fit 64 bits.") from None
    if isinstance(value, float):
        return _floating, struct.pack("=d", value)
    raise TypeError(
        f"{what} moves None, bools, ints, floats and NumPy arrays; this is "
        f"{type(value).__name__}."
    )


def _unpack(cell: Any) -> Any:
    kind, bits = int(cell["kind"]), bytes(cell["bits"])
    if kind == _none:
        return None
    if kind == _floating:
        return struct.unpack("=d", bits)[0]
    number = struct.unpack("=q", bits)[0]
    return bool(number) if kind == _truth else number


def _cells(values: Sequence[Any], what: str) -> _Array:
    return np.array([_pack(value, what) for value in values], _cell)


def _movable(array: _Array, what: str) -> _Array:
    if array.dtype.hasobject:
        raise TypeError(f"{what} cannot move dtype {array.dtype}: it holds references.")
    return np.asarray(array, order="C")


def _root(world: World, root: Any) -> int:
    number = operators.index(root)
    if not 0 <= number < world.size:
        raise ValueError(f"The root is {number}; legal: 0 to {world.size - 1}.")
    return number


def _shared(world: World, values: Any, what: str) -> _Array:
    """One value, or part of an array, for each rank."""
    is_array = isinstance(values, np.ndarray)
    array = _movable(values, what) if is_array else _cells(list(values), what)
    is_even = array.ndim != 0 and len(array) % world.size == 0
    if not is_even or (not is_array and len(array) != world.size):
        raise ValueError(
            f"{what} needs one value for each of the {world.size} ranks, or an array whose first "
            f"extent is a multiple of that; this has the shape {array.shape}."
        )
    return array


def _returned(array: _Array) -> Any:
    return [_unpack(cell) for cell in array] if array.dtype == _cell else array


def gather(world: World, value: Any, root: Any) -> Any:
    """What `World.gather` does."""
    number = _root(world, root)
    own = _movable(value, "gather") if isinstance(value, np.ndarray) else _cells([value], "gather")
    shape = own.shape if own.dtype != _cell else ()
    target = np.empty((world.size, *shape), own.dtype) if world.rank == number else None
    move_blocks(world, "gather", own, target, number)
    return None if target is None else _returned(target)


def all_gather(world: World, value: Any) -> Any:
    """What `World.all_gather` does."""
    is_array = isinstance(value, np.ndarray)
    own = _movable(value, "all_gather") if is_array else _cells([value], "all_gather")
    shape = own.shape if is_array else ()
    target = np.empty((world.size, *shape), own.dtype)
    move_blocks(world, "all_gather", own, target, 0)
    return _returned(target)


def scatter(world: World, values: Any, root: Any) -> Any:
    """What `World.scatter` does."""
    number = _root(world, root)
    # Others must know what comes: the root tells shape and dtype first.
    given, trouble = None, None
    if world.rank == number:
        try:
            given = _shared(world, values, "scatter")
        except (TypeError, ValueError, OverflowError) as mistake:
            trouble = mistake
    told = None
    if given is not None:
        share = (len(given) // world.size, *given.shape[1:])
        told = repr((np.lib.format.dtype_to_descr(given.dtype), share)).encode()
    told = world.broadcast(told, number)
    if trouble is not None:
        raise trouble
    if told is None:
        raise ValueError(f"The root, rank {number}, has nothing that can be scattered.")
    description, extents = ast.literal_eval(told.decode())
    own = np.empty(extents, np.lib.format.descr_to_dtype(description))
    move_blocks(world, "scatter", given, own, number)
    return _unpack(own[0]) if own.dtype == _cell else own


def exchange(world: World, values: Any) -> Any:
    """What `World.exchange` does."""
    given = _shared(world, values, "exchange")
    got = np.empty_like(given)
    move_blocks(world, "exchange", given, got, 0)
    return _returned(got)


def _combined(world: World, what: str, value: Any, operation: str, root: int) -> Any:
    if isinstance(value, np.ndarray):
        data = value.copy("C")
        combine(world, what, data, operation, root)
        return data
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise TypeError(f"{what} combines an int, a float or a NumPy array of numbers.")
    if isinstance(number, int):
        _pack(number, what)
    data = np.array([number], "f8" if isinstance(number, float) else "i8")
    combine(world, what, data, operation, root)
    return data[0].item()


def reduce(world: World, value: Any, operation: str, root: Any) -> Any:
    """What `World.reduce` does."""
    number = _root(world, root)
    result = _combined(world, "reduce", value, operation, number)
    return result if world.rank == number else None


def scan(world: World, value: Any, operation: str) -> Any:
    """What `World.scan` does."""
    return _combined(world, "scan", value, operation, 0)


def exscan(world: World, value: Any, operation: str, first: Any) -> Any:
    """What `World.exscan` does."""
    result = _combined(world, "exscan", value, operation, 0)
    return first if world.rank == 0 else result
