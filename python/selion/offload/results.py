# SPDX-License-Identifier: Apache-2.0
"""What calls come to, as it is taken out of the memory that a pool shares with its workers."""

from __future__ import annotations

from typing import Any

from selion.offload import messages
from selion.offload.call import Call
from selion.offload.requests import Requests


class Results:
    """Takes them, and has long ones fetched from the workers that keep them. With the pool's lock.
    """

    def __init__(self, core: Any, requests: Requests) -> None:
        self._core = core
        self._requests = requests

    def end(self) -> None:
        """Lets go of the pool."""
        self._core = None

    def take(self, call: Call) -> tuple[int, Any] | None:
        """Status and value of a call that is done; None: a long value is being fetched now.

        ConnectionError: its worker has died. ValueError: it was cancelled, or nobody is left.
        """
        status, length, ticket = call._started.reply()
        if call._fetched is not None:
            return self._fetched(*call._fetched, is_lost=status == messages.lost)
        if not length:
            return status, None
        if not ticket:
            # The block is used again: arrays get a copy, which can be written.
            own_bytes = bytearray(self._core.read(self._requests.block_of(call), length))
            return _loaded(status, memoryview(own_bytes))
        place = messages.nowhere
        memory: Any
        try:
            place = self._core.allocate(length)
            memory = self._core.own(place, place, length)
        except Exception as no_room:
            memory = no_room
        self._core.fetch(place, ticket, call, (status, memory))
        return None

    def _fetched(self, status: int, memory: Any, *, is_lost: bool) -> tuple[int, Any]:
        if isinstance(memory, Exception):
            return _failed(status), memory
        if is_lost:
            raise ConnectionError("the worker ended before its result was fetched")
        return _loaded(status, memory)


def _loaded(status: int, memory: Any) -> tuple[int, Any]:
    try:
        return status, messages.load_result(memory)
    except KeyboardInterrupt:  # of whoever reads a long result: it is no outcome of the call
        raise
    except BaseException as trouble:
        return _failed(status), trouble


def _failed(status: int) -> int:
    """Where a value cannot be had; that a worker could not begin stays true."""
    return status if status == messages.unready else messages.raised
