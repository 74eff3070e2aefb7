# SPDX-License-Identifier: Apache-2.0
"""What host and workers write to each other.

A message is a block of shared memory: a head, the places of buffers, and pickled bytes. Buffers are
the contents of arrays, which pickle hands out of band (protocol 5): they lie anywhere in shared
memory. A result goes back in the same way, into the block if there is room; else its worker keeps
it until the host has it written, whole or in parts, where it has made room.
"""

from __future__ import annotations

import builtins
import io
import pickle
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import cloudpickle
import numpy as np
from numpy.typing import NDArray

# Function: number, place and length of its pickled form; place and length of what a worker calls
# before its first one. Length of the pickled arguments, room for a result from the block's start
# on, and how many buffers follow.
head = struct.Struct("<8Q")
_place = struct.Struct("<2Q")
_count = struct.Struct("<2Q")

returned = 0
raised = 1
lost = 2  # a result that this worker does not have: it was another one's, which has died
unready = 3  # nothing was called: what the worker calls first has raised

Part = tuple[int, int]  # of shared memory: place and length

no_function: Part = (0, 0)

nowhere = 2**64 - 1  # instead of a result's place: it is not wanted any more

# Of functions that host and workers keep. A longer one is kept alone.
most_functions = 256
most_function_bytes = 16 << 20

_alignment = 64

_most_bases = 32  # of an array, one behind another: NumPy's own are few

_of_written_out = b"_reconstruct"  # in pickled bytes: an array whose elements are among them


Shares = Callable[[NDArray[np.uint8]], bool]


def dumps(
    value: Any, is_shared: Shares | None = None
) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """Pickled bytes and buffers: by the standard library; by cloudpickle what that cannot name.

    Such are lambdas, and what a program's main file defines, which is no module elsewhere.

    :param is_shared: whether both sides see some bytes: then an array with gaps there goes as
        these bytes and its strides; others that have gaps are copied into the payload
    """
    buffers: list[pickle.PickleBuffer] = []
    try:
        payload = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        is_by_name = b"__main__" not in payload
        if is_by_name and (is_shared is None or _of_written_out not in payload):
            return payload, buffers
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    buffers = []
    written = io.BytesIO()
    _Careful(written, is_shared, buffers.append).dump(value)
    return written.getvalue(), buffers


class _Careful(cloudpickle.Pickler):  # type: ignore[misc]  # it brings no types
    """Cloudpickle's, which has arrays stay where they lie, if that is shared."""

    def __init__(
        self,
        file: io.BytesIO,
        is_shared: Shares | None,
        buffer_callback: Callable[[pickle.PickleBuffer], Any],
    ) -> None:
        self._is_shared = is_shared
        super().__init__(file, protocol=5, buffer_callback=buffer_callback)

    def reducer_override(self, value: Any) -> Any:
        if self._is_shared is not None and isinstance(value, np.ndarray):
            reduced = _reduce(value, self._is_shared)
            if reduced is not None:
                return reduced
        return super().reducer_override(value)


def _reduce(array: NDArray[Any], is_shared: Shares) -> Any:
    """For arrays of which `ndarray.__reduce_ex__` writes out the elements, and where they lie is
    lost: those with gaps, of dates, and of classes of the program's that are written as arrays are.
    None: it does well enough, or there is no other way."""
    kind = type(array)
    is_array = kind.__reduce_ex__ is np.ndarray.__reduce_ex__
    if not is_array or kind.__reduce__ is not np.ndarray.__reduce__:
        return None
    has_gaps = not (array.flags.c_contiguous or array.flags.f_contiguous)
    if not (has_gaps or kind is not np.ndarray or _holds_dates(array.dtype)) or not array.size:
        return None
    whole = _bytes_around(array)
    if whole is None or not is_shared(whole):
        return None
    start = _address(array) - _address(whole)  # of the first element, which strides lead away from
    ways = [(count - 1) * stride for count, stride in zip(array.shape, array.strides, strict=True)]
    low = start + sum(way for way in ways if way < 0)
    high = start + sum(way for way in ways if way > 0) + array.itemsize
    if low < 0 or high > whole.nbytes:
        return None
    memory = whole[low:high]
    if not array.flags.writeable:
        memory.flags.writeable = False
    return _restride, (memory, array.dtype, array.shape, start - low, array.strides, kind)


def _bytes_around(array: NDArray[Any]) -> NDArray[np.uint8] | None:
    """Of the array that this one is, in the end, a part of: that of `as_strided` has another object
    between."""
    found, base = None, array.base
    for _ in range(_most_bases):
        if isinstance(base, np.ndarray):
            found = base
        base = getattr(base, "base", None)
    if found is None or not found.flags.c_contiguous or found.dtype.hasobject:
        return None
    return np.asarray(found).reshape(-1).view(np.uint8)


def _holds_dates(kind: np.dtype[Any]) -> bool:
    """Of which NumPy gives nobody the memory."""
    if kind.names is None:
        return kind.base.kind in "mM"
    return any(_holds_dates(kind[name]) for name in kind.names)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _restride(
    memory: NDArray[np.uint8],
    kind: np.dtype[Any],
    shape: tuple[int, ...],
    offset: int,
    strides: tuple[int, ...],
    class_: type[NDArray[Any]],
) -> NDArray[Any]:
    array: NDArray[Any] = np.ndarray(shape, kind, memory, offset, strides)
    return array if class_ is np.ndarray else array.view(class_)


def aligned(bytes_: int) -> int:
    """The next place at which a buffer may begin."""
    return -(-bytes_ // _alignment) * _alignment


@dataclass(frozen=True, slots=True)
class Request:
    """A call as its worker reads it.

    :param number: of the function; 0: it is called only once
    :param function: its pickled form
    :param initial: the same of what a worker calls before its first function
    """

    number: int
    function: Part
    initial: Part
    room: int
    payload: bytes | memoryview
    buffers: tuple[Part, ...]

    @property
    def bytes(self) -> int:
        return head.size + _place.size * len(self.buffers) + len(self.payload)

    def pack(self) -> builtins.bytes:
        parts = [
            head.pack(
                self.number,
                *self.function,
                *self.initial,
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
        number, *parts, payload, room, count = head.unpack_from(memory, place)
        place += head.size
        buffers = tuple(_place.unpack_from(memory, place + i * _place.size) for i in range(count))
        place += count * _place.size
        function, initial = (parts[0], parts[1]), (parts[2], parts[3])
        return cls(
            number, function, initial, room, memory[place : place + payload], buffers
        )


class Result:
    """What a function has returned or raised, ready to be written."""

    def __init__(self, value: Any) -> None:
        self._payload, found = (b"", []) if value is None else dumps(value)
        self._buffers = [each.raw() for each in found]

    def keep(self) -> None:
        """What the function's later calls do to its arrays changes this no more: those that
        somebody else has as well are copied."""
        self._buffers = [each if _is_alone(each) else memoryview(bytes(each))
                         for each in self._buffers]

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
        self.write_part(memory[place : place + self.bytes], 0)

    def write_part(self, memory: memoryview, first: int) -> None:
        """As many of its bytes, from `first` on, as there is memory for."""
        if not self._payload:
            return
        lengths = struct.pack(f"<{len(self._buffers)}Q", *(each.nbytes for each in self._buffers))
        lead = _count.pack(len(self._payload), len(self._buffers)) + lengths + self._payload
        at = -first
        for each in (memoryview(lead), *(each.cast("B") for each in self._buffers)):
            start, end = max(at, 0), min(at + each.nbytes, memory.nbytes)
            if start < end:
                memory[start:end] = each[start - at : end - at]
            at += aligned(each.nbytes)


def _references(memory: memoryview) -> int:
    """To the owner of a buffer, of the buffer, and of who counts."""
    owner = memory.obj
    return sys.getrefcount(owner)


# If nobody else has it; versions of Python count differently.
_own_references = _references(pickle.PickleBuffer(cast(Any, np.empty(1))).raw())


def _is_alone(memory: memoryview) -> bool:
    """Whether nobody else has the array that a buffer is of, nor one that it is a part of."""
    if _references(memory) > _own_references:
        return False
    owner: Any = memory.obj
    while isinstance(owner, np.ndarray):
        if owner.base is None:
            return bool(owner.flags.owndata)
        owner = owner.base
        # Instead of the buffer the array that is a part of it.
        if sys.getrefcount(owner) > _own_references:
            return False
    return False


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
