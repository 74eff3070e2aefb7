# SPDX-License-Identifier: Apache-2.0
"""What every rank has one of, so that a function on another rank can be given it.

Arrays and signals are made by all ranks in the same order, so their number names them everywhere:
an argument of `World.call` that is one becomes the target's own. So does the world.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from selion import _core

if TYPE_CHECKING:
    from selion._core import GlobalArray, Signal, World

_Place = tuple[int, int]  # job and rank


class _Rank:
    """Of one rank. In a simulation a process has many."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.made: list[GlobalArray | Signal | None] = []  # None: it has been given back
        self.numbers: dict[int, int] = {}  # of these, by identity
        self.has_begun = False
        self.when_there: list[Callable[[], None]] = []
        self.change = threading.Lock()  # of the two above


_ranks: dict[_Place, _Rank] = {}


def _own() -> _Rank:
    return _ranks.setdefault(_core.caller(), _Rank())


def enter(world: World) -> None:
    """The calling rank begins, with what has come for it before."""
    own = _own()
    own.world = world
    while True:
        with own.change:
            if not own.when_there:
                own.has_begun = True
                return
            first = own.when_there.pop(0)
        first()  # more may come meanwhile


def has_begun(otherwise: Callable[[], None]) -> bool:
    """Whether the calling rank has; if not, what is to be done when it does, in its turn."""
    own = _own()
    with own.change:
        if not own.has_begun:
            own.when_there.append(otherwise)
        return own.has_begun


def forget() -> None:
    """The job is over."""
    _ranks.clear()


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


def world() -> World:
    """The world of the calling rank."""
    found = _own().world
    if found is None:
        raise RuntimeError(
            "A World, a GlobalArray or a Signal means something to ranks of its own job only."
        )
    return found


def made(number: int) -> Any:
    """What has that number on the calling rank."""
    own = _own().made
    if number < len(own) and own[number] is not None:
        return own[number]
    rank = world().rank  # raises where there is no job
    if number < len(own):
        raise ValueError(f"Rank {rank} has given array {number} back with free().")
    raise ValueError(f"Rank {rank} has not made array {number} yet: let a barrier come before the "
                     "call.")


def reduced(value: Any) -> tuple[Any, ...]:
    """What pickle writes of a World, a GlobalArray or a Signal."""
    own = _own()
    if value is own.world:
        return world, ()
    number = own.numbers.get(id(value))
    if number is not None and own.made[number] is value:
        return made, (number,)
    raise TypeError(f"This {type(value).__name__} belongs to another rank, was made by hand, or "
                    "has been given back.")
