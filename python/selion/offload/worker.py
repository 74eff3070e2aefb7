# SPDX-License-Identifier: Apache-2.0
"""The program of a worker process: it loads functions once and runs them."""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

import cloudpickle

from selion import native
from selion.offload import main_program, messages
from selion.remote_exception import Raised


_place = "SELION_JOB_WORKER"  # where the library finds which worker of which pool this is


class Server:
    """Handles messages; keeps functions that it has loaded and results that were too long."""

    def __init__(self) -> None:
        self._functions: dict[int, tuple[Callable[..., Any], int]] = {}  # with their lengths
        self._kept: dict[int, messages.Result] = {}
        self._is_new = True
        self._trouble: BaseException | None = None  # that keeps it from calling any function
        self._trouble_trace: TracebackType | None = None
        self._own = os.getpid()
        self._tickets = secrets.randbits(40) << 23  # none that a worker before this one gave

    def __call__(
        self, memory: memoryview, place: int, ticket: int, first: int, length: int
    ) -> tuple[int, int, int]:
        if ticket:
            return self._give(memory, place, ticket, first, length), 0, 0
        request = messages.Request.read(memory, place)
        status, result = self._run(memory, request)
        if result.bytes <= request.room:
            result.write(memory, place)
            return status, result.bytes, 0
        try:
            result.keep()
        except MemoryError as no_room:
            status, result = messages.raised, _as_result(no_room)
        self._tickets += 1
        self._kept[self._tickets] = result
        return status, result.bytes, self._tickets

    def _give(self, memory: memoryview, place: int, ticket: int, first: int, length: int) -> int:
        """Writes a part of a result, which is kept until its last one."""
        kept = self._kept.get(ticket)
        if kept is None:
            return messages.lost
        if place != messages.nowhere:
            kept.write_part(memory[place : place + length], first)
        if first + length >= kept.bytes:
            del self._kept[ticket]
        return messages.returned

    def _run(
        self, memory: memoryview, request: messages.Request
    ) -> tuple[int, messages.Result]:
        try:
            self._begin(memory, request)
        except BaseException as exception:
            return messages.unready, _as_result(exception)
        try:
            function = self._function(memory, request)
            if not request.payload:
                value = function()
            else:
                buffers = [memory[at : at + length] for at, length in request.buffers]
                positional, named = pickle.loads(request.payload, buffers=buffers)
                value = function(*positional, **named)
            self._end_others(None)
            return messages.returned, messages.Result(value)
        except BaseException as exception:  # whatever it is, the caller gets it
            self._end_others(exception)
            return messages.raised, _as_result(exception)

    def _begin(self, memory: memoryview, request: messages.Request) -> None:
        """Calls what every worker calls first."""
        if self._is_new:
            self._is_new = False
            try:
                if request.initial != messages.no_function:
                    main_program.call(_load(memory, request.initial))
                self._end_others(None)
            except BaseException as exception:
                self._end_others(exception)
                # Whoever leaves an interpreter there does not mean the host's.
                self._trouble = (
                    exception if isinstance(exception, Exception) else RuntimeError(repr(exception))
                )
                self._trouble_trace = exception.__traceback__
                with contextlib.suppress(Exception):
                    self._trouble.add_note("raised by the initializer of this pool's workers")
        if self._trouble is not None:
            raise self._trouble.with_traceback(self._trouble_trace)

    def _end_others(self, exception: BaseException | None) -> None:
        """A process that a function has forked is no worker: where the function ends it ends, as a
        program does, and does nothing of what the worker's own end has to do."""
        if os.getpid() == self._own:
            return
        status = 1
        try:
            status = _status_of(exception)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)

    def _function(self, memory: memoryview, request: messages.Request) -> Callable[..., Any]:
        known = self._functions.get(request.number)
        if known is not None:
            return known[0]
        function = _load(memory, request.function)
        if request.number:
            self._keep(request.number, function, request.function[1])
        return function

    def _keep(self, number: int, function: Callable[..., Any], length: int) -> None:
        while self._functions and (
            len(self._functions) >= messages.most_functions
            or sum(each for _, each in self._functions.values()) + length
            > messages.most_function_bytes
        ):
            del self._functions[next(iter(self._functions))]
        self._functions[number] = function, length


def _status_of(exception: BaseException | None) -> int:
    """Of a program that ends with an exception, which is told."""
    if exception is None:
        return 0
    if not isinstance(exception, SystemExit):
        traceback.print_exception(exception)
        return 1
    if exception.code is None or isinstance(exception.code, int):
        return (exception.code or 0) & 0xFF
    print(exception.code, file=sys.stderr)
    return 1


def _load(memory: memoryview, part: messages.Part) -> Callable[..., Any]:
    place, length = part
    function: Callable[..., Any] = cloudpickle.loads(bytes(memory[place : place + length]))
    return function


def _as_result(exception: BaseException) -> messages.Result:
    try:
        result = messages.Result(Raised(exception))
        payload, buffers = messages.dumps(exception)
        pickle.loads(payload, buffers=buffers)  # not all that can be written can be read
        return result
    except BaseException:
        return messages.Result(Raised.told(exception))


def main() -> None:
    """Serves until the pool ends."""
    # The library takes away what makes this process a worker, but not from `os.environ`, which a
    # function may hand on to a program that it starts.
    place = os.environ.pop(_place, None)
    if place is not None:
        os.putenv(_place, place)
    if not native.load().serve_worker(Server()):
        sys.exit("selion.offload.worker is started by a pool")


if __name__ == "__main__":
    main()
