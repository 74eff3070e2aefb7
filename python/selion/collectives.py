# SPDX-License-Identifier: Apache-2.0
"""What collectives of blocks leave to Python: shapes, dtypes, and single values."""

from __future__ import annotations

import ast
import operator as operators
import pickle
import struct
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from selion._core import Team, as_array, move_blocks

_Array = np.ndarray[Any, Any]

# A single value travels as its kind and eight bytes, so that members may pass values of any kind.
_cell = np.dtype([("kind", "u1"), ("bits", "V8")])
_none, _truth, _integer, _floating = range(4)


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's. Its dates and times stay, of which some would become ints."""
    is_number = isinstance(value, np.generic) and value.dtype.kind not in "mM"
    return value.item() if is_number else value


def _pack(value: Any, what: str) -> tuple[int, bytes]:
    value = _plain(value)
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
        f"{type(value).__name__}. Other objects go by {what}v."
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


def expect_no_references(array: _Array, what: str) -> None:
    """@error TypeError for an array whose elements are objects of this process."""
    if array.dtype.hasobject:
        raise TypeError(f"{what} cannot move dtype {array.dtype}: it holds references.")


def _movable(array: _Array, what: str) -> _Array:
    expect_no_references(array, what)
    return np.asarray(array, order="C")


def array_of(value: Any) -> _Array | None:
    """An array, or a view of what has memory as one has; None for single values and lists."""
    if type(value) is np.ndarray:
        return value
    if value is None or isinstance(value, (int, float, list, tuple)):
        return None
    return as_array(value)


def elements_of(value: Any) -> _Array | None:
    """The same of what moves or is combined by elements: bytes are none."""
    return None if isinstance(value, (bytes, bytearray)) else array_of(value)


def members_of(team: Team) -> int:
    """How many they are. @error RuntimeError when the team has been freed."""
    if team.size == 0:
        team.rank_of(0)  # raises
    return team.size


def root_in(team: Team, root: Any) -> int:
    """The root's number. @error ValueError when there is no such member."""
    members = members_of(team)
    number = operators.index(root)
    if not 0 <= number < members:
        raise ValueError(f"The root is {number}; legal: 0 to {members - 1}.")
    return number


def shared(team: Team, values: Any, what: str) -> _Array:
    """One value, or part of an array, for each member."""
    members = members_of(team)
    found = elements_of(values)
    is_array = found is not None
    if found is None:
        array = _cells([values] if isinstance(values, (bytes, bytearray)) else list(values), what)
    else:
        array = _movable(found, what)
    is_even = array.ndim != 0 and len(array) % members == 0
    if not is_even or (not is_array and len(array) != members):
        raise ValueError(
            f"{what} needs one value for each of the {members} members, or an array whose first "
            f"extent is a multiple of that; this has the shape {array.shape}."
        )
    return array


def returned(array: _Array) -> Any:
    """What a call returns: an array, or values as a list."""
    return [_unpack(cell) for cell in array] if array.dtype == _cell else array


def block_of(value: Any, what: str) -> _Array:
    """A member's block: an array, or one value."""
    found = elements_of(value)
    return _cells([value], what) if found is None else _movable(found, what)


def room_for_all(team: Team, block: _Array) -> _Array:
    """Where everybody's blocks come together."""
    shape = () if block.dtype == _cell else block.shape
    return np.empty((team.size, *shape), block.dtype)


def description_of(dtype: np.dtype[Any]) -> Any:
    """A dtype as a literal of Python's, for other ranks."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its metadata stay behind
            return np.lib.format.dtype_to_descr(dtype)
    except ValueError:  # fields in another order than in memory, or that overlap
        return pickle.dumps(dtype)


def described(description: Any) -> np.dtype[Any]:
    """What `description_of` has described."""
    if isinstance(description, bytes):
        found: np.dtype[Any] = pickle.loads(description)
        return found
    return np.lib.format.descr_to_dtype(description)


def gather(team: Team, value: Any, root: Any) -> Any:
    """What `Team.gather` does."""
    number = root_in(team, root)
    own = block_of(value, "gather")
    target = room_for_all(team, own) if team.rank == number else None
    move_blocks(team, "gather", own, target, number)
    return None if target is None else returned(target)


def all_gather(team: Team, value: Any) -> Any:
    """What `Team.all_gather` does."""
    own = block_of(value, "all_gather")
    target = room_for_all(team, own)
    move_blocks(team, "all_gather", own, target, 0)
    return returned(target)


def scatter(team: Team, values: Any, root: Any) -> Any:
    """What `Team.scatter` does."""
    number = root_in(team, root)
    # Others must know what comes: the root tells shape and dtype first.
    given, told, trouble = None, None, None
    if team.rank == number:
        try:
            given = shared(team, values, "scatter")
            share = (len(given) // team.size, *given.shape[1:])
            told = repr((description_of(given.dtype), share)).encode()
        except Exception as mistake:  # others wait for what comes
            trouble = mistake
    told = team.broadcast(told, number)
    if trouble is not None:
        raise trouble
    if told is None:
        raise ValueError(f"The root, member {number}, has nothing that can be scattered.")
    description, extents = ast.literal_eval(told.decode())
    own = np.empty(extents, described(description))
    move_blocks(team, "scatter", given, own, number)
    return _unpack(own[0]) if own.dtype == _cell else own


def exchange(team: Team, values: Any) -> Any:
    """What `Team.exchange` does."""
    given = shared(team, values, "exchange")
    got = np.empty_like(given)
    move_blocks(team, "exchange", given, got, 0)
    return returned(got)


def reduce_scatter(team: Team, values: Any, operation: Any) -> Any:
    """What `Team.reduce_scatter` does with a list of numbers."""
    if isinstance(values, (bytes, bytearray)):
        raise TypeError("reduce_scatter combines a list of numbers, or an array.")
    members = members_of(team)
    numbers = list(values)
    if len(numbers) != members:
        raise ValueError(
            f"reduce_scatter needs one number for each of the {members} members, or an array "
            f"whose first extent is a multiple of that; these are {len(numbers)}."
        )
    if any(elements_of(number) is not None for number in numbers):
        raise TypeError("reduce_scatter combines a list of numbers, or an array.")
    each = [combinable(number, "reduce_scatter") for number in numbers]
    return team.reduce_scatter(np.concatenate(each), operation)[0].item()


def combinable(value: Any, what: str) -> _Array:
    """A copy that may be combined in place: of an array, or of a number an array of one."""
    found = elements_of(value)
    if found is not None:
        return found.copy("C")
    number = _plain(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise TypeError(f"{what} combines an int, a float or a NumPy array of numbers.")
    if isinstance(number, int):
        _pack(number, what)
    return np.array([number], "f8" if isinstance(number, float) else "i8")
