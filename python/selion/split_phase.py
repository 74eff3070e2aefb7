# SPDX-License-Identifier: Apache-2.0
"""Collectives in two phases: a call starts one and returns a future.

    sums = world.split_phase.all_reduce(residuals)
    work()
    use(sums.result())

All members of a team start the same ones in the same order. Many may be under way. Arguments that
are arrays are read and written until the future is ready: leave them alone until then.

A team's time-out does not count for them; `wait` and `result` take one of their own, after which
the collective goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from selion import collectives, combining
from selion._core import Started, Team, as_array, start_combining, start_moving

_Result = TypeVar("_Result")


# A number on its way, as the bindings combine it: an int of one member and a float of another give
# a float.
_mixed = np.dtype([("bits", "V8"), ("is_floating", "u8")])


def _single(value: Any, what: str) -> np.ndarray[Any, Any]:
    number = collectives.combinable(value, what)
    single = np.zeros(1, _mixed)
    single["bits"] = number.view("V8")
    single["is_floating"] = number.dtype.kind == "f"
    return single


def _number_in(single: np.ndarray[Any, Any]) -> int | float:
    number: int | float = single["bits"].view("f8" if single["is_floating"][0] else "i8")[0].item()
    return number


class Future(Generic[_Result]):
    """The result of a collective that has been started. One that is dropped goes on."""

    def __init__(self, started: Started, take: Callable[[], _Result]) -> None:
        self._started = started
        self._take = take

    @property
    def is_ready(self) -> bool:
        """Whether `result` would return at once. If not, serves others: a loop of looks ends."""
        return self._started.is_ready

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is ready, or for `timeout` seconds; returns whether it is."""
        return self._started.wait(timeout)

    def result(self, timeout: float | None = None) -> _Result:
        """Waits for the result.

        @error TimeoutError when it is not there after `timeout` seconds; it goes on.
        """
        if not self._started.wait(timeout):
            raise TimeoutError(f"The collective has taken longer than {timeout} s; it goes on.")
        return self._take()


class SplitPhase:
    """Most of a team's collectives. They take what `Team`'s methods of these names do but `out`: a
    result comes in new memory, but for the array of a broadcast. What needs to be told before it
    can move is for `Team` alone: single values of a broadcast, scatter, and blocks that differ; so
    is reduce_scatter. The time-out of `Team.with_timeout` does not count."""

    def __init__(self, team: Team) -> None:
        self._team = team

    def _move(self, what: str, source: Any, target: Any, root: int,
              take: Callable[[], Any]) -> Future[Any]:
        return Future(start_moving(self._team, what, source, target, root), take)

    def barrier(self) -> Future[None]:
        """Includes puts that this member made before."""
        return self._move("barrier", None, None, 0, lambda: None)

    def broadcast(self, array: Any, root: Any = 0) -> Future[Any]:
        """Fills an array, of the same dtype and shape everywhere, with the root's."""
        number = collectives.root_in(self._team, root)
        view = collectives.array_of(array)
        is_root = self._team.rank == number
        if view is not None and not is_root:
            view = as_array(array, True)
        if view is None:
            raise TypeError(
                "A broadcast in two phases fills an array: other values need Team.broadcast, "
                "which tells the others first what comes."
            )
        collectives.expect_no_references(view, "broadcast")
        if is_root:
            view = np.asarray(view, order="C")
        elif not view.flags.c_contiguous or not view.flags.writeable:
            raise ValueError("broadcast fills a contiguous array that may change.")
        return self._move("broadcast", None, view, number, lambda: array)

    def _combine(self, what: str, value: Any, operation: Any, root: int) -> Future[Any]:
        name = combining.name_for_started(operation)
        is_array = collectives.array_of(value) is not None
        data = collectives.combinable(value, what) if is_array else _single(value, what)
        started = start_combining(self._team, what, data, name, root, not is_array)
        return Future(started, lambda: data if is_array else _number_in(data))

    def all_reduce(self, value: Any, operation: Any = "plus") -> Future[Any]:
        """Combines one value of every member; the result is the same at all, as `Team`'s."""
        return self._combine("all_reduce", value, operation, 0)

    def reduce(self, value: Any, operation: Any = "plus", root: Any = 0) -> Future[Any]:
        """Elsewhere than at the root the result is None."""
        number = collectives.root_in(self._team, root)
        combined = self._combine("reduce", value, operation, number)
        if self._team.rank == number:
            return combined
        return Future(combined._started, lambda: None)

    def scan(self, value: Any, operation: Any = "plus") -> Future[Any]:
        """Combines the values of members 0 to this one, in their order."""
        return self._combine("scan", value, operation, 0)

    def exscan(self, value: Any, operation: Any = "plus", first: Any = None) -> Future[Any]:
        """Combines the values of the members before this one; the result of member 0 is `first`."""
        combined = self._combine("exscan", value, operation, 0)
        if self._team.rank != 0:
            return combined
        return Future(combined._started, lambda: first)

    def gather(self, value: Any, root: Any = 0) -> Future[Any]:
        """Elsewhere than at the root the result is None."""
        number = collectives.root_in(self._team, root)
        own = collectives.block_of(value, "gather")
        if self._team.rank != number:
            return self._move("gather", own, None, number, lambda: None)
        target = collectives.room_for_all(self._team, own)
        return self._move("gather", own, target, number, lambda: collectives.returned(target))

    def all_gather(self, value: Any) -> Future[Any]:
        """Every member's value, in order: a list, or of arrays one array of shape (size, ...)."""
        own = collectives.block_of(value, "all_gather")
        target = collectives.room_for_all(self._team, own)
        return self._move("all_gather", own, target, 0, lambda: collectives.returned(target))

    def exchange(self, values: Any) -> Future[Any]:
        """Value r, or part r of an array's first extent, goes to member r; the result is what each
        has sent here, in order."""
        given = collectives.shared(self._team, values, "exchange")
        got = np.empty_like(given)
        return self._move("exchange", given, got, 0, lambda: collectives.returned(got))
