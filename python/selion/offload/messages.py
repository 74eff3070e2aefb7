# SPDX-License-Identifier: Apache-2.0
"""What host and workers write to each other.

A message is a block of shared memory: a head, the places of buffers, and pickled bytes. Buffers are
the contents of arrays, which pickle hands out of band (protocol 5): they lie anywhere in shared
memory. A result goes back in the same way, into the block if there is room, else into one that the
host makes for it.
"""

from __future__ import annotations

import builtins
import pickle
import struct
from dataclasses import dataclass
from typing import Any

import cloudpickle

# Function: number, place and length of its pickled form. Length of the pickled arguments, room for
# a result from the block's start on, and how many buffers follow.
head = struct.Struct("<6Q")
_place = struct.Struct("<2Q")
_count = struct.Struct("<2Q")

returned = 0
raised = 1
lost = 2  # a result that this worker does not have: it was another one's, which has died

nowhere = 2**64 - 1  # instead of a result's place: it is not wanted any more

most_functions = 256  # that host and workers keep

_alignment = 64


def dumps(value: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """Pickled bytes and buffers: by the standard library; by cloudpickle what that cannot name.

    Such are lambdas, and what a program's main file defines, which is no module elsewhere.
    """
    buffers: list[pickle.PickleBuffer] = []
    try:
        payload = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        if b"__main__" not in payload:
            return payload, buffers
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    buffers = []
    payload = bytes(cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append))
    return payload, buffers


def aligned(bytes_: int) -> int:
    """The next place at which a buffer may begin."""
    return -(-bytes_ // _alignment) * _alignment


@dataclass(frozen=True, slots=True)
class Request:
    """A call as its worker reads it. Function 0: one that is called only once."""

    function: int
    function_place: int
    function_bytes: int
    room: int
    payload: bytes | memoryview
    buffers: tuple[tuple[int, int], ...]

    @property
    def bytes(self) -> int:
        return head.size + _place.size * len(self.buffers) + len(self.payload)

    def pack(self) -> builtins.bytes:
        parts = [
            head.pack(
                self.function,
                self.function_place,
                self.function_bytes,
                len(self.payload),
                self.room,
                len(self.buffers),
            )
        ]
        parts += [_place.pack(*each) for each in self.buffers]
        parts.append(bytes(self.payload))
        return b"".join(parts)

    @classmethod
    def read(cls, memory: memoryview, place: int) -> Request:
        function, where, length, payload, room, count = head.unpack_from(memory, place)
        place += head.size
        buffers = tuple(_place.unpack_from(memory, place + i * _place.size) for i in range(count))
        place += count * _place.size
        return cls(function, where, length, room, memory[place : place + payload], buffers)


class Result:
    """What a function has returned or raised, ready to be written."""

    def __init__(self, value: Any) -> None:
        self._payload, found = (b"", []) if value is None else dumps(value)
        self._buffers = [each.raw() for each in found]

    @property
    def bytes(self) -> int:
        """Room that it takes; None takes none."""
        if not self._buffers:
            return len(self._payload) and _count.size + len(self._payload)
        size = aligned(self._lead)
        for each in self._buffers:
            size += aligned(each.nbytes)
        return size

    @property
    def _lead(self) -> int:
        return _count.size + 8 * len(self._buffers) + len(self._payload)

    def write(self, memory: memoryview, place: int) -> None:
        if not self._payload:
            return
        lengths = struct.pack(f"<{len(self._buffers)}Q", *(each.nbytes for each in self._buffers))
        lead = _count.pack(len(self._payload), len(self._buffers)) + lengths + self._payload
        memory[place : place + len(lead)] = lead
        at = place + aligned(len(lead))
        for each in self._buffers:
            memory[at : at + each.nbytes] = each.cast("B")
            at += aligned(each.nbytes)


def load_result(memory: Any) -> Any:
    """The value in a block; arrays use the block's own memory.

    :param memory: the block's bytes, contiguous; empty: None
    """
    view = memoryview(memory)
    if not view.nbytes:
        return None
    length, count = _count.unpack_from(view)
    lengths = struct.unpack_from(f"<{count}Q", view, _count.size)
    start = _count.size + 8 * count
    payload = view[start : start + length]
    at = aligned(start + length)
    buffers = []
    for each in lengths:
        buffers.append(memory[at : at + each])
        at += aligned(each)
    return pickle.loads(payload, buffers=buffers)
