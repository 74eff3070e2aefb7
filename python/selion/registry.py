# SPDX-License-Identifier: Apache-2.0
"""What every rank has one of, so that a function on another rank can be given it.

Arrays and signals are made by all ranks in the same order, so their number names them everywhere:
an argument of `World.call` that is one becomes the target's own. So does the world.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from selion import _core, spec

if TYPE_CHECKING:
    from selion._core import GlobalArray, Signal, World

_Place = tuple[int, int]  # job and rank
_Job = tuple[str, int, int]  # who has started it, and how many it had started before

os.register_at_fork(after_in_child=lambda: _core.leave_rank())


class _Rank:
    """Of one rank. In a simulation a process has many."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.job: _Job | None = None
        self.made: list[GlobalArray | Signal | None] = []  # None: it has been given back
        self.numbers: dict[int, int] = {}  # of these, by identity
        self.has_begun = False
        self.context = contextvars.Context()
        self.when_there: list[Callable[[], None]] = []
        self.change = threading.Lock()  # of the two above


_ranks: dict[_Place, _Rank] = {}


def _own() -> _Rank:
    place = _core.caller()
    return _ranks.get(place) or _ranks.setdefault(place, _Rank())


def enter(world: World) -> None:
    """The calling rank begins, with what has come for it before."""
    own = _own()
    own.world = world
    own.context = contextvars.copy_context()
    trouble = None
    while not own.has_begun:
        try:
            _take_next(own)
        except BaseException as raised:  # of a handler of a signal; the others count all the same
            trouble = trouble or raised
    if trouble is not None:
        raise trouble


def _take_next(own: _Rank) -> None:
    """Of what has come before the rank began; more may come meanwhile."""
    with own.change:
        if not own.when_there:
            own.has_begun = True
            return
        first = own.when_there.pop(0)
    first()


def context() -> contextvars.Context:
    """For a function that another rank has called: settings as they were when the calling rank
    began, and not those of the call that it waits in."""
    return _own().context.copy()


def _job_of(own: _Rank) -> _Job:
    """What only a rank's job has, the same at all of its ranks."""
    if own.job is None:
        number, _ = _core.caller()
        earlier = os.environ.get("SELION_JOB_EARLIER", "").split()
        kind = spec.parse(own.world.machine).kind if own.world else ""
        if kind == "fabric":
            starter = os.environ.get("PMIX_NAMESPACE", "")
        else:
            starter = str(os.getpid() if kind == "sim" else os.getppid())
        own.job = starter, len(earlier), number
    return own.job


def has_begun(otherwise: Callable[[], None]) -> bool:
    """Whether the calling rank has; if not, what is to be done when it does, in its turn."""
    own = _own()
    with own.change:
        if not own.has_begun:
            own.when_there.append(otherwise)
        return own.has_begun


def forget(but: int = 0) -> None:
    """All jobs are over, or all but one."""
    for place in [place for place in _ranks if place[0] != but or not but]:
        del _ranks[place]


def note(made: Any) -> Any:
    """Gives the next number to what all ranks have just made."""
    own = _own()
    own.numbers[id(made)] = len(own.made)
    own.made.append(made)
    return made


def let_go(freed: Any) -> None:
    """What has been given back keeps its number, and nothing else."""
    own = _own()
    number = own.numbers.pop(id(freed), None)
    if number is not None:
        own.made[number] = None


def world(job: _Job | None = None) -> World:
    """The world of the calling rank. @param job that it must be of; None: any"""
    own = _own()
    found = own.world
    if found is None or job not in (None, _job_of(own)):
        raise RuntimeError(
            "A World, a GlobalArray or a Signal means something to ranks of its own job only."
        )
    return found


def made(number: int, job: _Job) -> Any:
    """What has that number on the calling rank."""
    rank = world(job).rank
    own = _own().made
    if number < len(own) and own[number] is not None:
        return own[number]
    if number < len(own):
        raise ValueError(f"Rank {rank} has given array {number} back with free().")
    raise ValueError(f"Rank {rank} has not made array {number} yet.")


def reduced(value: Any) -> tuple[Any, ...]:
    """What pickle writes of a World, a GlobalArray or a Signal."""
    own = _own()
    if value is own.world:
        return world, (_job_of(own),)
    number = own.numbers.get(id(value))
    if number is not None and own.made[number] is value:
        return made, (number, _job_of(own))
    raise TypeError(f"This {type(value).__name__} belongs to another rank, was made by hand, or "
                    "has been given back.")
