# SPDX-License-Identifier: Apache-2.0
"""What a job wrote with SELION_TRACE, read and added up.

    found = read(Path("trace.json"))
    for each in found.ranks:
        print(each.rank, each.waiting, each.program)

Times are microseconds, as in the file: of the machine's clock, or virtual.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selion.mistake import Mistake

_format = 1  # of traces that are read here
_in_categories = ("operation", "collective", "wait")
_within_collective = "message"  # a step of one, on simulated machines
_Event = dict[str, Any]
_Floats = NDArray[np.float64]


@dataclass(slots=True)
class NameTotal:
    """All slices of one name, of all ranks together."""

    name: str
    category: str
    count: int
    total: float
    longest: float

    @property
    def mean(self) -> float:
        return self.total / self.count


@dataclass(slots=True)
class RankTime:
    """Where the time of one rank went: its four parts together are all of it."""

    rank: int
    events: int = 0
    dropped: int = 0
    """Events beyond what a trace keeps of a rank."""
    begin: float = math.inf
    """Of its first slice, since the job began."""
    end: float = -math.inf
    """Of its last one."""
    operations: float = 0.0
    """In calls that are no collectives, without the waits in them."""
    collectives: float = 0.0
    """Likewise in collectives."""
    waiting: float = 0.0

    @property
    def time(self) -> float:
        return max(self.end - self.begin, 0.0)

    @property
    def program(self) -> float:
        """Outside of all calls, as far as they are recorded."""
        return max(self.time - self.operations - self.collectives - self.waiting, 0.0)


@dataclass(slots=True)
class Trace:
    machine: str
    is_virtual: bool
    event_cost_ns: float
    """What one event costs, its writing included, as measured when the job began; virtual: 0."""
    ranks: list[RankTime] = field(default_factory=list)
    names: list[NameTotal] = field(default_factory=list)
    """The longest total first."""
    is_whole: bool = False
    """Whether the job came to its end."""

    def cost_of(self, rank: RankTime) -> float:
        """What recording has taken of a rank, in microseconds."""
        return rank.events * self.event_cost_ns / 1000


class _Slices:
    """Of one rank's own track."""

    def __init__(self) -> None:
        self.begins = array("d")
        self.ends = array("d")
        self.categories = array("b")

    def add(self, event: _Event, category: int) -> None:
        begin = float(event["ts"])
        self.begins.append(begin)
        self.ends.append(begin + float(event["dur"]))
        self.categories.append(category)

    def own_times(self) -> tuple[_Floats, NDArray[np.int8]]:
        """The time of each slice without those that it encloses, and its category."""
        begins = np.frombuffer(self.begins)
        ends = np.frombuffer(self.ends)
        order = np.lexsort((-ends, begins))
        begins, ends = begins[order], ends[order]
        own = ends - begins
        around: list[int] = []
        for i, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
            while around and ends[around[-1]] <= begin:
                around.pop()
            if around:
                own[around[-1]] -= min(end, ends[around[-1]]) - begin
            around.append(i)
        return own, np.frombuffer(self.categories, dtype=np.int8)[order]


def _events(path: Path) -> Iterator[tuple[int, _Event]]:
    """Number and content of each line that is an event. A last line that was cut off is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip().rstrip("],").strip("[")
                if not text:
                    continue
                try:
                    event = json.loads(text)
                except ValueError:
                    if not line.endswith("\n"):
                        return
                    event = None
                if not isinstance(event, dict):
                    raise Mistake(f"{path}:{number} is no event of a trace.")
                yield number, event
    except OSError as problem:
        raise Mistake(f"'{path}' cannot be read: {problem.strerror}.") from None


class _Reader:
    def __init__(self) -> None:
        self.trace: Trace | None = None
        self.ranks: dict[int, RankTime] = {}
        self.slices: dict[int, _Slices] = {}
        self.totals: dict[tuple[str, str], NameTotal] = {}

    def take(self, event: _Event) -> None:
        """@error LookupError, TypeError or ValueError if it is none that a job writes."""
        if event["ph"] == "M":
            self._describe(event)
        elif event["ph"] == "X" and event["tid"] % 2 == 1:  # the others are arrivals
            self._add_slice(event)

    def _describe(self, event: _Event) -> None:
        name, told = event["name"], event["args"]
        if name == "selion_trace":
            if told["format"] != _format:
                raise ValueError(f"traces of format {told['format']} are not known")
            self.trace = Trace(str(told["machine"]), told["time"] == "virtual",
                               float(told.get("event_cost_ns", 0)))
            self.ranks = {rank: RankTime(rank) for rank in range(int(told["ranks"]))}
        elif name == "end_of_rank":
            rank = self._rank_of(event)
            rank.events, rank.dropped = int(told["events"]), int(told["dropped"])
        elif name == "end_of_trace" and self.trace is not None:
            self.trace.is_whole = True

    def _rank_of(self, event: _Event) -> RankTime:
        return self.ranks[(event["tid"] - 1) // 2]

    def _add_slice(self, event: _Event) -> None:
        rank = self._rank_of(event)
        begin, duration = float(event["ts"]), float(event["dur"])
        rank.begin = min(rank.begin, begin)
        rank.end = max(rank.end, begin + duration)
        category = "collective" if event["cat"] == _within_collective else str(event["cat"])
        if category in _in_categories:
            self.slices.setdefault(rank.rank, _Slices()).add(event, _in_categories.index(category))
        key = (str(event["name"]), str(event["cat"]))
        total = self.totals.setdefault(key, NameTotal(*key, 0, 0.0, 0.0))
        total.count += 1
        total.total += duration
        total.longest = max(total.longest, duration)

    def finish(self) -> Trace:
        assert self.trace is not None
        for number, slices in self.slices.items():
            own, categories = slices.own_times()
            parts = np.bincount(categories, weights=own, minlength=len(_in_categories))
            rank = self.ranks[number]
            rank.operations, rank.collectives, rank.waiting = (float(part) for part in parts)
            rank.events = rank.events or len(own)
        self.trace.ranks = list(self.ranks.values())
        self.trace.names = sorted(self.totals.values(), key=lambda each: -each.total)
        return self.trace


def read(path: Path) -> Trace:
    """@error Mistake if the file cannot be read, or is none that SELION_TRACE makes."""
    reader = _Reader()
    for number, event in _events(path):
        try:
            reader.take(event)
        except (LookupError, TypeError, ValueError) as problem:
            raise Mistake(f"{path}:{number} is no event of a trace of Selion: {problem}.") from None
    if reader.trace is None:
        raise Mistake(f"{path} is no trace of Selion; a job writes one if SELION_TRACE names it.")
    return reader.finish()
