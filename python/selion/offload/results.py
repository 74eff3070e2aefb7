# SPDX-License-Identifier: Apache-2.0
"""What calls come to, as it is taken out of the memory that a pool shares with its workers.

A long result stays with its worker until the host has it written somewhere. Where results that
somebody has leave enough of the shared memory free, that is where this one stays as well: it is not
copied. Else it goes to the process's own memory, through a passage in shared memory, at once or in
parts as the passage has room: results nobody has asked for yet cannot keep others from coming.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selion.offload import messages
from selion.offload.call import Call
from selion.offload.interruptions import Attempt, attempt
from selion.offload.requests import Requests, block_bytes

# Of shared memory: results, and passages. The rest is for arrays and arguments alone.
_most_staying = 1 / 2
_most_passing = 1 / 4

_staying, _passing = 1, 2  # as the library counts them


@dataclasses.dataclass(frozen=True)
class _Fetch:
    """A part of a long result, on its way.

    :param status: of the call
    :param memory: of the whole result; or why there is none
    :param place: in shared memory, that the worker writes to
    :param passage: keeps the place where it is not in `memory`
    """

    status: int
    ticket: int
    memory: NDArray[np.uint8] | MemoryError
    place: int
    first: int
    bytes: int
    stays: bool
    passage: NDArray[np.uint8] | None = None


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a function has returned or raised, as bytes that nobody has read yet.

    :param memory: of the value; or why there is none
    """

    status: int
    memory: Any

    def read(self) -> Attempt[Any]:
        """Without the pool's lock: reading calls whatever the program has for its objects."""
        if isinstance(self.memory, Exception):
            return Attempt(None, self.memory, None)
        read = attempt(lambda: messages.load_result(self.memory))
        if read.trouble is not None or self.status == messages.returned:
            return read
        return Attempt(None, read.value, read.meanwhile)


class Results:
    """Takes them, and has long ones fetched from the workers that keep them. With the pool's lock.
    """

    def __init__(self, core: Any, requests: Requests, shared_bytes: int) -> None:
        self._core = core
        self._requests = requests
        self._shared_bytes = shared_bytes

    def end(self) -> None:
        """Lets go of the pool."""
        self._core = None

    def take(self, call: Call) -> Answer | None:
        """What has come of a call that is done; None: a long value is being fetched now.

        ConnectionError: its worker has died. ValueError: it was cancelled, or nobody is left.
        """
        status, length, ticket = call._started.reply()
        if call._fetched is not None:
            return self._go_on(call, call._fetched, is_lost=status == messages.lost)
        if not length:
            return Answer(status, b"")
        if not ticket:
            # The block is used again: arrays get a copy, which can be written.
            own_bytes = bytearray(self._core.read(self._requests.block_of(call), length))
            return Answer(status, memoryview(own_bytes))
        self._requests.give_back_arguments(call)
        self._fetch(call, self._first_part(call, status, length, ticket))
        return None

    def _fetch(self, call: Call, part: _Fetch) -> None:
        self._core.fetch(part.place, (part.ticket, part.first, part.bytes), call, part)

    def _go_on(self, call: Call, part: _Fetch, *, is_lost: bool) -> Answer | None:
        """A part has come. Taking it again, behind an interrupt, does no harm."""
        memory = part.memory
        if isinstance(memory, Exception):
            return Answer(part.status, memory)
        if is_lost:
            raise ConnectionError("the worker ended before its result was fetched")
        if part.stays:
            return Answer(part.status, memory)
        end = part.first + part.bytes
        memory[part.first : end] = (
            np.frombuffer(self._core.read(part.place, part.bytes), np.uint8)
            if part.passage is None
            else part.passage
        )[: part.bytes]
        if end == memory.nbytes:
            return Answer(part.status, memory)
        bytes_ = min(part.bytes, memory.nbytes - end)
        self._fetch(call, dataclasses.replace(part, first=end, bytes=bytes_))
        return None

    def _first_part(self, call: Call, status: int, length: int, ticket: int) -> _Fetch:
        """How a result comes."""
        whole = self._own(length, _staying, _most_staying)
        if whole is not None:
            place, memory = whole
            return _Fetch(status, ticket, memory, place, 0, length, stays=True)
        try:
            memory = np.empty(length, np.uint8)
        except MemoryError as no_room:
            return _Fetch(status, ticket, no_room, messages.nowhere, 0, length, stays=True)
        bytes_ = length
        while bytes_ > block_bytes:
            own = self._own(bytes_, _passing, _most_passing)
            if own is not None:
                place, passage = own
                return _Fetch(status, ticket, memory, place, 0, bytes_, False, passage)
            bytes_ //= 2
        place = self._requests.block_of(call)  # which its message has left
        return _Fetch(status, ticket, memory, place, 0, min(length, block_bytes), False)

    def _own(self, length: int, use: int, most: float) -> tuple[int, NDArray[np.uint8]] | None:
        """Shared memory, if there is room, and this use has not more than its share."""
        if self._core.had(use) + length > most * self._shared_bytes:
            return None
        try:
            place = self._core.allocate(length)
        except MemoryError:
            if not self._requests.shed_blocks():
                return None
            return self._own(length, use, most)
        return place, self._core.own(place, length, use)
