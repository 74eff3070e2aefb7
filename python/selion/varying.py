# SPDX-License-Identifier: Apache-2.0
"""Collectives of objects of any kind and size, each a block of bytes."""

from __future__ import annotations

import ast
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from selion._core import Team, move_varying
from selion.collectives import (
    array_of,
    described,
    description_of,
    members_of,
    root_in,
)
from selion.pickling import dumps, loads

# A block tells what it is: the length of a description, the description, and the data. Bytes have
# none; of an array it is its dtype and shape. Everything else is pickled, and says so in place of a
# length.
_head = struct.Struct("=q")
_is_pickled = -1


def _pack(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _head.pack(0) + bytes(value)
    array = array_of(value)
    if array is None or array.dtype.hasobject:
        return _head.pack(_is_pickled) + dumps(value)
    words = repr((description_of(array.dtype), array.shape)).encode()
    return _head.pack(len(words)) + words + array.tobytes()


def _unpack(block: bytes) -> Any:
    (length,) = _head.unpack_from(block)
    if length == _is_pickled:
        return loads(memoryview(block)[_head.size :])
    start = _head.size + length
    if length == 0:
        return block[start:]
    description, shape = ast.literal_eval(block[_head.size : start].decode())
    array = np.empty(shape, described(description))
    array.reshape(-1).view("u1")[:] = np.frombuffer(block, "u1", offset=start)
    return array


def _cut(values: bytes, starts: Sequence[int]) -> list[Any]:
    return [_unpack(values[start:end]) for start, end in zip(starts, starts[1:], strict=False)]


def _packed_for_all(team: Team, values: Any, what: str) -> list[bytes]:
    members = members_of(team)
    blocks = [_pack(value) for value in values]
    if len(blocks) != members:
        raise ValueError(
            f"{what} needs one object for each of the {members} members; these are {len(blocks)}."
        )
    return blocks


def gatherv(team: Team, value: Any, root: Any) -> Any:
    """What `Team.gatherv` does."""
    number = root_in(team, root)
    found = _cut(*move_varying(team, "gatherv", _pack(value), [], number))
    return found if team.rank == number else None


def all_gatherv(team: Team, value: Any) -> list[Any]:
    """What `Team.all_gatherv` does."""
    return _cut(*move_varying(team, "all_gatherv", _pack(value), [], 0))


def scatterv(team: Team, values: Any, root: Any) -> Any:
    """What `Team.scatterv` does."""
    number = root_in(team, root)
    blocks, trouble = None, None
    if team.rank == number:
        try:
            blocks = _packed_for_all(team, values, "scatterv")
        except Exception as mistake:  # others would wait for what never comes
            trouble = mistake
    is_sound = team.broadcast(trouble is None, number)
    if trouble is not None:
        raise trouble
    if not is_sound:
        raise ValueError(f"The root, member {number}, has nothing that can be scattered.")
    counts = [len(block) for block in blocks] if blocks else []
    source = b"".join(blocks) if blocks else None
    (own,) = _cut(*move_varying(team, "scatterv", source, counts, number))
    return own


def exchangev(team: Team, values: Any) -> list[Any]:
    """What `Team.exchangev` does."""
    blocks = _packed_for_all(team, values, "exchangev")
    counts = [len(block) for block in blocks]
    return _cut(*move_varying(team, "exchangev", b"".join(blocks), counts, 0))
