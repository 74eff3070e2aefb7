# SPDX-License-Identifier: Apache-2.0
"""Puts and gets in two phases: started here, waited for later."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from selion import _core
from selion._core import GlobalArray, Started

_Result = TypeVar("_Result")


class Transfer(Generic[_Result]):
    """A put or a get that has been started. One that is dropped goes on.

    Where the job outlives the death of the other rank, waiting raises ConnectionError. After
    `World.dead_ranks` has told of it, or `World.survivors` has left it out, the transfer counts as
    complete instead: a get has then left what it fills as it was.
    """

    def __init__(self, started: Started, result: _Result) -> None:
        self._started = started
        self._result = result

    @property
    def is_ready(self) -> bool:
        """Whether it is complete. If not, serves others: a loop of such looks ends."""
        return self._started.is_ready

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is complete, or for `timeout` seconds; returns whether it is.

        Of a put: the values are there, and the source may be changed. Of a get: they are here.
        """
        return self._started.wait(timeout)

    def result(self, timeout: float | None = None) -> _Result:
        """Waits, and returns what a get has filled; of a put, None.

        @error TimeoutError when it is not complete after `timeout` seconds; it goes on.
        """
        if not self._started.wait(timeout):
            raise TimeoutError(f"The transfer has taken longer than {timeout} s; it goes on.")
        return self._result


def start_put(array: GlobalArray, values: Any, rank: int, offset: int) -> Transfer[None]:
    """What `GlobalArray.start_put` does."""
    return Transfer(_core.start_put(array, values, rank, offset), None)


def start_get(
    array: GlobalArray, rank: int, offset: int, count: int | None, out: Any
) -> Transfer[Any]:
    """What `GlobalArray.start_get` does."""
    started = _core.start_get(array, rank, offset, count, out)
    return Transfer(started, _core.result_of(started))
