# SPDX-License-Identifier: Apache-2.0
"""Schedules of collectives: who sends what to whom, in which step.

    from selion import schedules

    request = schedules.Request("broadcast", "k_nomial", ranks=16, radix=4)
    print(schedules.play(request).rounds)
    print(schedules.make(request, rank=5).steps)

They are data: nothing is sent. Ranks, blocks, steps and rounds count from 0.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from selion import native

Action = Literal["store", "combine_after", "combine_before"]
"""What happens to blocks where they arrive: they are stored; or combined, own value first; or
combined, what has come first."""

_most = 2**32 - 1
_bounds = {"ranks": (1, _most), "root": (0, _most), "radix": (2, _most), "group": (1, _most),
           "segments": (1, 4096), "seed": (0, _most)}


@dataclass(frozen=True, slots=True)
class Request:
    """What a schedule is a function of.

    @param collective one of `collectives()`. @param algorithm one of `algorithms(collective)`.
    @param ranks at least 1. @param root a rank; 0 where the collective has none.
    @param radix 2 to max(2, ranks); see `uses_radix`. @param group ranks of a group or of a row of
    a mesh, at least 1; see `uses_group`. @param segments parts that the vector goes in, one after
    another: 1 to 4096; see `uses_segments`. @param seed of what is random; see `uses_seed`.
    @error ValueError for a number that is negative or beyond 32 bits; all else is checked by what
    the request is given to.
    """

    collective: str
    algorithm: str
    ranks: int
    root: int = 0
    radix: int = 2
    group: int = 2
    segments: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        for name, (least, most) in _bounds.items():
            value = operator.index(getattr(self, name))
            if not 0 <= value <= _most:
                raise ValueError(f"schedule: {name} cannot be {value}; legal: {least} to {most}")


@dataclass(frozen=True, slots=True)
class BlockRange:
    """Blocks `first`, `first` + 1, …; the last block of all is followed by block 0."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message, as one of its two ends sees it."""

    peer: int
    blocks: tuple[BlockRange, ...]
    """None: it says only that it has been sent."""
    action: Action


@dataclass(frozen=True, slots=True)
class Step:
    """Messages that may be under way together."""

    sends: tuple[Message, ...]
    receives: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class RankSchedule:
    """What one rank does."""

    blocks: int
    """Of the whole collective."""
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class PlayedMessage:
    """A message of a run in rounds; `source` and `target` are ranks."""

    round: int
    source: int
    target: int
    blocks: tuple[BlockRange, ...]
    action: Action

    @property
    def block_count(self) -> int:
        return sum(each.count for each in self.blocks)


@dataclass(frozen=True, slots=True)
class Played:
    """How a schedule went."""

    request: Request
    blocks: int
    """Of the whole collective."""
    rounds: int
    keeps_order: bool
    """Operations that do not commute may be used."""
    messages: tuple[PlayedMessage, ...]
    """By round."""

    @property
    def blocks_sent(self) -> int:
        """Of all messages together."""
        return sum(each.block_count for each in self.messages)


def collectives() -> tuple[str, ...]:
    """The collectives that have schedules."""
    return tuple(native.load().collective_names())


def algorithms(collective: str) -> tuple[str, ...]:
    """The algorithms that exist for a collective.

    @error ValueError for an unknown collective, with the legal ones.
    """
    return tuple(native.load().algorithm_names(collective))


def has_root(collective: str) -> bool:
    """Whether one rank is the root.

    @error ValueError for an unknown collective, with the legal ones.
    """
    return bool(native.load().has_root(collective))


def uses_radix(algorithm: str) -> bool:
    """Whether the radix of a request makes a difference.

    @error ValueError for an unknown algorithm, with the legal ones.
    """
    return bool(native.load().uses_radix(algorithm))


def uses_group(algorithm: str) -> bool:
    """Whether the group of a request makes a difference.

    @error ValueError for an unknown algorithm, with the legal ones.
    """
    return bool(native.load().uses_group(algorithm))


def uses_seed(algorithm: str) -> bool:
    """Whether the seed of a request makes a difference.

    @error ValueError for an unknown algorithm, with the legal ones.
    """
    return bool(native.load().uses_seed(algorithm))


def uses_segments(collective: str, algorithm: str) -> bool:
    """Whether the segments of a request make a difference.

    @error ValueError for an unknown collective or algorithm, with the legal ones.
    """
    return bool(native.load().uses_segments(collective, algorithm))


def _ranges(blocks: Sequence[tuple[int, int]]) -> tuple[BlockRange, ...]:
    return tuple(BlockRange(*each) for each in blocks)


def _messages(parts: Sequence[Any]) -> tuple[Message, ...]:
    return tuple(Message(peer, _ranges(blocks), action) for peer, blocks, action in parts)


def make(request: Request, rank: int) -> RankSchedule:
    """What one rank does.

    @param rank 0 to ranks - 1.
    @error ValueError when the request or the rank is not legal, with what is.
    @cost time and memory of the rank's own part.
    """
    if not 0 <= operator.index(rank) <= _most:
        raise ValueError(f"schedule: rank cannot be {rank}; legal: 0 to {_most}")
    blocks, steps = native.load().make_schedule(request, rank)
    return RankSchedule(
        blocks, tuple(Step(_messages(sends), _messages(receives)) for sends, receives in steps)
    )


def sends_more_than(request: Request, most: int) -> bool:
    """Whether the ranks together send more messages than that.

    @error ValueError when the request is not legal, with what is.
    @cost time of the parts of the ranks that send so many.
    """
    return bool(native.load().sends_more_than(request, most))


def play(request: Request) -> Played:
    """Runs the schedules of all ranks symbolically, and proves on the way that they fit together.

    In a round a rank sends at most one message and receives at most one.
    @error ValueError when the request is not legal, with what is.
    @cost every rank's copy of every block, as a list of the ranks that it stands for.
    """
    blocks, rounds, keeps_order, messages = native.load().play_schedule(request)
    return Played(
        request, blocks, rounds, keeps_order,
        tuple(
            PlayedMessage(round, source, target, _ranges(ranges), action)
            for round, source, target, ranges, action in messages
        ),
    )
