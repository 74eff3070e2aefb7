# SPDX-License-Identifier: Apache-2.0
"""What every rank has one of, so that a function on another rank can be given it.

Arrays and signals are made by all ranks in the same order, so their number names them everywhere:
an argument of `World.call` that is one becomes the target's own. So does the world.
"""

from __future__ import annotations

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
        self.made: list[GlobalArray | Signal | None] = []
        self.when_there: list[Callable[[], None]] = []


_ranks: dict[_Place, _Rank] = {}


def _own() -> _Rank:
    return _ranks.setdefault(_core.caller(), _Rank())


def enter(world: World) -> None:
    """The calling rank begins."""
    own = _own()
    own.world = world
    while own.when_there:  # which may add more
        own.when_there.pop(0)()


def has_begun(otherwise: Callable[[], None]) -> bool:
    """Whether the calling rank has; if not, what is to be done when it does."""
    own = _own()
    if own.world is None:
        own.when_there.append(otherwise)
    return own.world is not None


def forget() -> None:
    """The job is over."""
    _ranks.clear()


def note(made: Any) -> Any:
    """Gives the next number to what all ranks have just made."""
    _own().made.append(made)
    return made


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
    found = own[number] if number < len(own) else None
    if found is None:
        world()  # raises where there is no job
        raise ValueError(f"Rank {world().rank} has not made array {number} yet: let a barrier "
                         "come before the call.")
    return found


def reduced(value: Any) -> tuple[Any, ...]:
    """What pickle writes of a World, a GlobalArray or a Signal."""
    own = _own()
    if value is own.world:
        return world, ()
    for number, each in enumerate(own.made):
        if each is value:
            return made, (number,)
    raise TypeError(f"This {type(value).__name__} belongs to another rank, or was made by hand.")
