# SPDX-License-Identifier: Apache-2.0
"""Calls as they are written into the memory that a pool shares with its workers."""

from __future__ import annotations

import functools
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selion.offload import messages
from selion.offload.call import Call
from selion.offload.functions import Function, is_fixed

block_bytes = 4096  # of a message, which what a function returns is written into as well


class Requests:
    """Gives calls what they need in shared memory, and takes it back. With the pool's lock."""

    def __init__(
        self, core: Any, initializer: Callable[..., Any] | None, initargs: tuple[Any, ...]
    ) -> None:
        self._core = core
        self.returns = 0
        """How often memory has come back."""
        self._blocks: list[int] = []
        self._functions: dict[Any, Function] = {}
        self._numbers = itertools.count(1)
        self._initial: Function | None = None
        if initializer is not None:
            self._initial = Function(core, 0, functools.partial(initializer, *initargs))

    def end(self) -> None:
        """Lets go of all that lies in shared memory."""
        self._functions.clear()
        self._initial = self._core = None

    def send(self, call: Call, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Writes a call and hands it to a worker.

        When it throws, `call._started` tells whether a worker may have got it.
        """
        core = self._core
        lent: list[int] = []
        try:
            function = fn if isinstance(fn, Function) else self.function(fn)
            found: list[pickle.PickleBuffer] = []
            payload = b""
            if args or kwargs:
                payload, found = messages.dumps((args, kwargs), self._shares)
            buffers = tuple(self._place(each, lent) for each in found)
            initial = messages.no_function if self._initial is None else self._initial.part
            request = messages.Request(
                function.number, function.part, initial, block_bytes, payload, buffers
            )
            packed = request.pack()
            if len(packed) > block_bytes:
                block = core.allocate(len(packed))
                lent.append(block)
            else:
                block = self._blocks.pop() if self._blocks else core.allocate(block_bytes)
                call._block = block + 1
            core.write(block, packed)
            call._lent = tuple(lent)
            call._held = (function, found)
            core.call(block, call)
        except BaseException:
            call._lent = tuple(lent)
            if call._started is None:
                self.give_back(call)
            raise

    def block_of(self, call: Call) -> int:
        return call._block - 1 if call._block else call._lent[-1]

    def give_back_arguments(self, call: Call) -> None:
        """Of a function that has run: its result does not lie in copies of them. The message stays.
        """
        message = () if call._block else call._lent[-1:]
        lent, call._lent = call._lent[: len(call._lent) - len(message)], message
        for place in lent:
            self._core.free(place)
            self.returns += 1

    def give_back(self, call: Call) -> None:
        self.returns += 1
        # Once, wherever an interrupt comes.
        block, call._block = call._block, 0
        if block:
            self._blocks.append(block - 1)
        lent, call._lent = call._lent, ()
        for place in lent:
            self._core.free(place)
        call._held = ()
        call._fetched = None
        call._started = None

    def function(self, fn: Any) -> Function:
        """Where a function lies, which is pickled when it is first called."""
        if not is_fixed(fn):
            return Function(self._core, 0, fn)
        try:
            known = self._functions.get(fn)
        except TypeError:  # it has no hash
            return Function(self._core, 0, fn)
        if known is None:
            while len(self._functions) >= messages.most_functions:
                del self._functions[next(iter(self._functions))]
            known = self._functions[fn] = Function(self._core, next(self._numbers), fn)
        return known

    def held(self, fn: Any) -> Function:
        """A function as it is now, for several calls."""
        if is_fixed(fn):
            return self.function(fn)
        return Function(self._core, next(self._numbers), fn)

    def _shares(self, memory: NDArray[np.uint8]) -> bool:
        """Whether bytes lie in the pool's memory."""
        return bool(self._core.place_of(memory) >= 0)

    def _place(self, buffer: pickle.PickleBuffer, lent: list[int]) -> tuple[int, int]:
        """Where workers find a buffer: where it is, or in a copy."""
        raw = buffer.raw()
        place = self._core.place_of(raw)
        if place < 0:
            place = self._core.allocate(max(raw.nbytes, 1))
            lent.append(place)
            self._core.write(place, raw)
        return place, raw.nbytes
