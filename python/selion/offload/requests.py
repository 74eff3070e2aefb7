# SPDX-License-Identifier: Apache-2.0
"""Calls as they are written into the memory that a pool shares with its workers."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selion.offload import messages
from selion.offload.call import Call
from selion.offload.functions import Function, Key, Text, key_of

block_bytes = 4096  # of a message, which what a function returns is written into as well


@dataclasses.dataclass(frozen=True)
class Written:
    """A call, pickled. The bytes of its arrays are where the program has them.

    :param function: in shared memory already, or not yet
    """

    function: Function | Text
    payload: bytes
    buffers: list[pickle.PickleBuffer]


class Requests:
    """Gives calls what they need in shared memory, and takes it back. With the pool's lock, but
    where something of the program's is pickled: that may take long, and may use the pool itself."""

    def __init__(
        self, core: Any, initializer: Callable[..., Any] | None, initargs: tuple[Any, ...]
    ) -> None:
        self._core = core
        self.returns = 0
        """How often memory has come back."""
        self._blocks: list[int] = []
        self._functions: dict[Key, Function] = {}
        self._function_bytes = 0
        self._numbers = itertools.count(1)
        self._initial: Function | None = None
        if initializer is not None:
            self._initial = Function(core, 0, Text(functools.partial(initializer, *initargs)))

    def end(self) -> None:
        """Lets go of all that lies in shared memory."""
        self._functions.clear()
        self._initial = self._core = None

    def written(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Written:
        """Without the lock. A function that is held as it is now stays so."""
        function = fn if isinstance(fn, Function) else self.text(fn)
        if not args and not kwargs:
            return Written(function, b"", [])
        return Written(function, *messages.dumps((args, kwargs), self._shares))

    def text(self, fn: Any) -> Function | Text:
        """Without the lock: a function, which is pickled when it is first called."""
        key = key_of(fn)
        known = None if key is None else self._functions.get(key)
        return known or Text(fn)

    def send(self, call: Call, written: Written) -> None:
        """Writes a call and hands it to a worker.

        When it throws, `call._started` tells whether a worker may have got it.
        """
        core = self._core
        lent: list[int] = []
        found = written.buffers
        try:
            function = self.function(written.function)
            buffers = tuple(self._place(each, lent) for each in found)
            initial = messages.no_function if self._initial is None else self._initial.part
            request = messages.Request(
                function.number, function.part, initial, block_bytes, written.payload, buffers
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

    def function(self, what: Function | Text) -> Function:
        """Where a function lies."""
        if isinstance(what, Function):
            return what
        key = key_of(what.fn)
        if key is None:
            return Function(self._core, 0, what)
        known = self._functions.get(key)  # another thread may have come first
        if known is None:
            known = Function(self._core, next(self._numbers), what)
            while self._functions and (
                len(self._functions) >= messages.most_functions
                or self._function_bytes + known.bytes > messages.most_function_bytes
            ):
                self._forget(next(iter(self._functions)))
            self._functions[key] = known
            self._function_bytes += known.bytes
        return known

    def held(self, what: Function | Text) -> Function:
        """A function as it is now, for several calls."""
        if isinstance(what, Text) and key_of(what.fn) is None:
            return Function(self._core, next(self._numbers), what)
        return self.function(what)

    def shed_blocks(self) -> bool:
        """Gives back what messages to come would lie in. Whether there was any."""
        blocks, self._blocks = self._blocks, []
        for each in blocks:
            self._core.free(each)
        return bool(blocks)

    def shed_functions(self) -> bool:
        """Forgets functions: those that calls have stay as long as these. Whether there were any.
        """
        had = bool(self._functions)
        while self._functions:
            self._forget(next(iter(self._functions)))
        return had

    def _forget(self, key: Key) -> None:
        self._function_bytes -= self._functions.pop(key).bytes

    def _shares(self, memory: NDArray[np.uint8]) -> bool:
        """Whether bytes lie where the pool's arrays do. Without the lock."""
        core = self._core
        return core is not None and bool(core.place_of_array(memory) >= 0)

    def _place(self, buffer: pickle.PickleBuffer, lent: list[int]) -> tuple[int, int]:
        """Where workers find a buffer: where it is, or in a copy."""
        raw = buffer.raw()
        place = self._core.place_of_array(raw)
        if place < 0:
            place = self._core.allocate(max(raw.nbytes, 1))
            lent.append(place)
            self._core.write(place, raw)
        return place, raw.nbytes
