# SPDX-License-Identifier: Apache-2.0
"""The program of a rank that runs a function which was sent to it: see `selion.by_value`."""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import signal
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cloudpickle

from selion import answers, launch, outcome

if TYPE_CHECKING:
    from selion._core import World

_set_death_signal = 1  # PR_SET_PDEATHSIG


def _end_with(parent: int) -> None:
    """Has the kernel end this process when the caller ends. Its children end with it.

    Processes of ranks are children of this one, and never meet the condition.
    """
    if any(name.startswith("SELION_JOB_") for name in os.environ):
        return
    ctypes.CDLL(None).prctl(_set_death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)


def _pickled(exception: BaseException) -> bytes | None:
    try:
        data = bytes(cloudpickle.dumps(exception, protocol=5))
        pickle.loads(data)  # not all that can be written can be read
        return data
    except BaseException:
        return None


class Answering(outcome.Printing):
    """Sends results and exceptions to the caller."""

    def __init__(self, to: socket.socket) -> None:
        self._to = to

    def _tell(self, world: World, value: Any, *, is_trouble: bool) -> None:
        payload = bytes(cloudpickle.dumps(value, protocol=5))
        answers.send(self._to, answers.Answer(world.rank, world.size, is_trouble, payload))

    def _tell_trouble(self, world: World, verb: str, trace: str = "",
                      exception: bytes | None = None) -> None:
        sentence = f"Rank {world.rank} of {world.size} {verb}"
        self._tell(world, tuple(answers.Trouble(sentence, trace, exception)), is_trouble=True)

    def returned(self, world: World, value: Any) -> None:
        try:
            self._tell(world, value, is_trouble=False)
        except OSError:
            raise
        except Exception as problem:
            raise TypeError(
                f"the result, of type {type(value).__name__}, cannot be pickled: {problem}"
            ) from None

    def left(self, world: World, code: object) -> None:
        if code is None or code == 0:
            return self._tell(world, None, is_trouble=False)
        if isinstance(code, int):
            self._tell_trouble(world, f"left with exit status {code}.")
        else:
            self._tell_trouble(world, f"left with: {code}")

    def raised(self, world: World, exception: BaseException) -> None:
        trace = outcome.traceback_of(exception)
        self._tell_trouble(world, f"raised {outcome.failure_of(exception)}", trace,
                           _pickled(exception))


def _load(file: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    with mmap.mmap(file, 0, access=mmap.ACCESS_READ) as payload:
        try:
            function, args = pickle.loads(payload)
        except Exception as problem:
            raise RuntimeError(
                f"the function cannot be loaded here: {type(problem).__name__}: {problem}"
            ) from problem
    return function, args


def main() -> None:
    """Runs the ranks of the job, or the one of this process."""
    given, answer_to, parent = (int(word) for word in sys.argv[2:5])
    _end_with(parent)
    level = sys.argv[5]
    sys.argv[1:] = []
    answering = Answering(socket.socket(fileno=answer_to))

    def call(world: World) -> Any:
        function, args = _load(given)
        return function(world, *args)

    machine = os.environ.get("SELION_MACHINE", "")
    sys.exit(launch.run_ranks(call, machine, level, answering))
