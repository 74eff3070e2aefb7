# SPDX-License-Identifier: Apache-2.0
"""Which blocks a program's coherent memory should have: its accesses, replayed with others."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from selion import foreground, job, launcher, native
from selion.mistake import Failure, Mistake

block_sizes = [8 << power for power in range(14)]  # 8 to 65536 bytes
_far = 16  # times larger or smaller are the blocks of a second run


@dataclass(frozen=True, slots=True)
class Array:
    """What the accesses to one array would have cost with blocks of one size.

    Of the protocol by invalidation, with room for all copies.
    """

    array: str
    block_bytes: int
    accesses: int
    remote_accesses: int
    cold: int
    """Misses of blocks that the rank never had."""
    invalidated: int
    """Misses where another rank has written what is wanted."""
    false_sharing: int
    """Misses where another rank has written the block, but not what is wanted of it."""
    upgrades: int
    """Writes to a block that could only be read."""
    at_home: int
    """Accesses to own blocks that others have."""
    messages: int
    moved_bytes: int

    @property
    def misses(self) -> int:
        return self.cold + self.invalidated + self.false_sharing + self.upgrades + self.at_home


@dataclass(frozen=True, slots=True)
class Worst:
    """A block with false sharing."""

    array: str
    offset: int
    """Of its first byte in the home's part of the array."""
    home: int
    misses: int


@dataclass(frozen=True, slots=True)
class Space:
    """A coherent space of a run that was traced."""

    run: int
    """Of the program: its first is 1."""
    number: int
    """Spaces that the run had made before."""
    ranks: int
    block_bytes: int
    """That it had in the run; `misses` and `waited_ps` are the run's own."""
    misses: int
    waited_ps: int
    left_out: int
    """Accesses at the end, for which the traces had no room."""
    is_whole: bool
    arrays: list[Array]
    worst: list[Worst]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(one.array for one in self.arrays if one.array))

    def sum(self, block_bytes: int) -> Array:
        """All arrays together."""
        return _sum(one for one in self.arrays if one.block_bytes == block_bytes)


@dataclass(frozen=True, slots=True)
class Costs:
    """What misses have taken in the runs, by messages and bytes."""

    message_ps: float
    byte_ps: float

    def waiting_ms(self, replayed: Array) -> float:
        """Milliseconds in misses, of all ranks together."""
        ps = self.message_ps * replayed.messages + self.byte_ps * replayed.moved_bytes
        return ps * 1e-9

    def best_size(self, arrays: Iterable[Array]) -> int | None:
        """The size of blocks that takes least; of equal ones the smallest. None: none takes any."""
        sizes: dict[int, float] = {}
        for one in arrays:
            sizes[one.block_bytes] = sizes.get(one.block_bytes, 0) + self.waiting_ms(one)
        if not any(sizes.values()):
            return None
        return min(sizes, key=lambda size: (sizes[size], size))


def _sum(arrays: Iterable[Array]) -> Array:
    all_of_them = list(arrays)
    counted = [one.name for one in fields(Array) if one.name not in ("array", "block_bytes")]
    total = {name: sum(getattr(one, name) for one in all_of_them) for name in counted}
    return Array(array="", block_bytes=all_of_them[0].block_bytes, **total)


def replay(folder: str, sizes: Sequence[int] = ()) -> list[Space]:
    """The spaces of the traces in a folder, with blocks of their own size and of `sizes`.

    @error Mistake if there are none, or if they are broken.
    """
    module = native.load()
    try:
        found: list[dict[str, Any]] = module.replay_accesses(folder, list(sizes))
    except ValueError as trouble:
        raise Mistake(f"{trouble}.") from None
    except MemoryError:
        raise Failure("The replay needs more memory than there is: it keeps what became of each "
                      "block and word that the program has accessed.") from None  # fmt: skip
    return [
        Space(
            **{
                **space,
                "arrays": [Array(**one) for one in space["arrays"]],
                "worst": [Worst(**one) for one in space["worst"]],
            }
        )
        for space in found
    ]


def costs_of(runs: Sequence[Sequence[Space]]) -> Costs:
    """Fits what a message and a byte have taken on the waiting of two runs, neither below 0.

    The runs are of the same program with blocks of different sizes.
    """
    points = []
    for run in runs:
        spaces = [space for space in run if space.arrays]
        # Waiting of a space whose traces lack accesses is not of those that are replayed.
        whole = [space for space in spaces if space.is_whole and not space.left_out] or spaces
        sums = [space.sum(space.block_bytes) for space in whole]
        points.append(
            (
                sum(one.messages for one in sums),
                sum(one.moved_bytes for one in sums),
                sum(one.waited_ps for one in whole),
            )
        )
    (messages, moved, waited), (messages_2, moved_2, waited_2) = points
    determinant = messages * moved_2 - messages_2 * moved
    if determinant:
        message_ps = (waited * moved_2 - waited_2 * moved) / determinant
        byte_ps = (messages * waited_2 - messages_2 * waited) / determinant
        if message_ps >= 0 and byte_ps >= 0:
            return Costs(message_ps, byte_ps)
    # One of the two alone, whichever explains more.
    by_message = (waited + waited_2) / max(messages + messages_2, 1)
    by_byte = (waited + waited_2) / max(moved + moved_2, 1)
    errors = {
        Costs(by_message, 0): abs(waited - by_message * messages),
        Costs(0, by_byte): abs(waited - by_byte * moved),
    }
    return min(errors, key=lambda costs: errors[costs])


def other_size(block_bytes: int) -> int:
    """Blocks of a second run, for what messages and bytes cost."""
    larger = block_bytes * _far
    return larger if larger <= block_sizes[-1] else block_bytes // _far


def record(line: list[str], changes: dict[str, str], folder: str) -> None:
    """Runs a program and leaves its traces in a folder. What it prints goes to standard error.

    @error Failure if the program fails.
    """
    environment = job.environment({**changes, "SELION_CACHE_TRACE": folder})
    is_launcher = os.path.basename(line[0]) in launcher.names
    started = line if is_launcher else launcher.line_for(line, environment)
    outcome = foreground.run(started, environment, stdout=sys.stderr.fileno())
    if outcome.status:
        raise Failure(f"'{job.name_of(line)}' ended with exit status {outcome.status}.")


def _expect_whole(spaces: Iterable[Space], line: list[str]) -> None:
    if all(one.is_whole for one in spaces):
        return
    folder = tempfile.gettempdir()
    raise Failure(f"Traces of '{job.name_of(line)}' end in the middle: there may be no room in "
                  f"{folder} (TMPDIR names another folder), or a rank did not come to its "
                  "end.")  # fmt: skip


def advise(line: list[str], changes: dict[str, str]) -> tuple[list[Space], Costs]:
    """Runs a program twice, with its own blocks and with others, and replays the first run.

    @error Failure if the program fails or its traces are not whole, Mistake if it has used no
    coherent memory.
    """
    with tempfile.TemporaryDirectory(prefix="selion-") as own:
        record(line, changes, own)
        traced = replay(own, block_sizes) if os.listdir(own) else []
    spaces = [one for one in traced if one.arrays]
    if not spaces:
        raise Mistake(f"'{job.name_of(line)}' has accessed no coherent memory: no cached array, no "
                      "space.")
    _expect_whole(traced, line)
    size = other_size(spaces[0].block_bytes)
    print(f"selion cache-advice: a second run, with blocks of {size} bytes", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="selion-") as other:
        record(line, {**changes, "SELION_CACHE_BLOCK": str(size)}, other)
        replayed = replay(other)
    _expect_whole(replayed, line)
    return spaces, costs_of([spaces, replayed])
