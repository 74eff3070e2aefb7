# SPDX-License-Identifier: Apache-2.0
"""What a job wrote with SELION_TRACE, read and added up.

    found = read(Path("trace.json"))
    for each in found.ranks:
        print(each.rank, each.waiting, each.program)

Times are microseconds, as in the file: of the machine's clock, or virtual.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selion.mistake import Mistake

_format = 1  # of traces that are read here
_in_categories = ("operation", "collective", "wait")
_within_collective = "message"  # a step of one, on simulated machines
_first_of_handlers = (1 << 21) + 2  # track of rank 0; what lies below is of ranks and arrivals
_most_ranks = (1 << 20) - 1
_ps_in_us = 1_000_000
_too_late = 1 << 63  # in picoseconds, which the library counts in 64 bits
_half_pair = re.compile("[\ud800-\udfff]")  # of two surrogates, which no terminal takes
_Event = dict[str, Any]
_Times = NDArray[np.int64]


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
    """Where the time of one rank went: its five parts together are all of it."""

    rank: int
    events: int = 0
    """As the rank says at its end; of one that has not come there, those that are written."""
    dropped: int = 0
    """Events beyond what a trace keeps of a rank."""
    time: float = 0.0
    """From the beginning of its first slice to the end of its last one."""
    operations: float = 0.0
    """In calls that are no collectives, without the waits in them."""
    collectives: float = 0.0
    """Likewise in collectives."""
    waiting: float = 0.0
    program: float = 0.0
    """Outside of all calls, as far as they are recorded, without `recording`."""
    recording: float = 0.0
    """What recording has taken, as far as there is time outside of all calls."""
    has_ended: bool = False


@dataclass(slots=True)
class Trace:
    machine: str
    is_virtual: bool
    event_cost_ns: float
    """What one event costs, its writing included, as measured when the job began; virtual: 0."""
    ranks: list[RankTime] = field(default_factory=list)
    names: list[NameTotal] = field(default_factory=list)
    """The longest total first."""
    has_end: bool = False
    """Whether the file has its last line, which stands there after each part."""

    @property
    def is_whole(self) -> bool:
        """Whether the job came to its end, and all of it is there."""
        return self.has_end and all(rank.has_ended for rank in self.ranks)

    def cost_of(self, rank: RankTime) -> float:
        """What recording has taken of a rank, in microseconds."""
        return rank.events * self.event_cost_ns / 1000


class _Slices:
    """Of one rank's own track, in whole picoseconds: in virtual time slices adjoin exactly, and
    sums of fractions would have one lie within the other."""

    def __init__(self) -> None:
        self.begins = array("q")
        self.ends = array("q")
        self.categories = array("b")

    def add(self, begin: int, end: int, category: int) -> None:
        self.begins.append(begin)
        self.ends.append(end)
        self.categories.append(category)

    def parts(self) -> list[int]:
        """The time in each category: of a slice without those that it encloses."""
        begins = np.frombuffer(self.begins, dtype=np.int64)
        ends = np.frombuffer(self.ends, dtype=np.int64)
        order = np.lexsort((-ends, begins))
        own = _own_times(begins[order], ends[order])
        categories = np.frombuffer(self.categories, dtype=np.int8)[order]
        return [int(own[categories == each].sum()) for each in range(len(_in_categories))]


def _own_times(begins: _Times, ends: _Times) -> _Times:
    """@param begins in their order; of those that begin together the longest comes first."""
    own = ends - begins
    around: list[int] = []
    for i, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        while around and ends[around[-1]] <= begin:
            around.pop()
        if around:
            own[around[-1]] -= min(end, ends[around[-1]]) - begin
        around.append(i)
    return own


# --- lines ----------------------------------------------------------------------------------------


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _events(path: Path) -> Iterator[tuple[int, _Event]]:
    """Number and content of each line that is an event. A last line that was cut off is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip().rstrip("],").strip("[")
                if not text:
                    continue
                try:
                    event = json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
                except (ValueError, ArithmeticError, RecursionError):
                    if not line.endswith("\n"):
                        return
                    event = None
                if not isinstance(event, dict):
                    raise Mistake(f"{path}:{number} is no event of a trace.")
                if "\\u" in text and _half_pair.search(_json(event)):
                    raise Mistake(f"{path}:{number} holds half a surrogate pair; legal are whole "
                                  "characters.")
                yield number, event
    except OSError as problem:
        raise Mistake(f"'{path}' cannot be read: {problem.strerror}.") from None


def _json(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False,
                                                                    default=str)


def _shown(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _value(event: _Event, key: str) -> Any:
    if key not in event:
        raise ValueError(f"it has no '{key}'")
    return event[key]


def _text(event: _Event, key: str) -> str:
    value = _value(event, key)
    if not isinstance(value, str):
        raise ValueError(f"'{key}' is {_shown(value)}; legal is a text")
    return value


def _whole(event: _Event, key: str, least: int, most: int) -> int:
    value = _value(event, key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"'{key}' is {_shown(value)}; legal are {least} to {most}")
    return value


def _number(event: _Event, key: str, most: int) -> int | Decimal:
    value = _value(event, key)
    is_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= most):
        raise ValueError(f"'{key}' is {_shown(value)}; legal are 0 to {most}")
    number: int | Decimal = value
    return number


def _picoseconds(event: _Event, key: str) -> int:
    return round(_number(event, key, _too_late // _ps_in_us) * _ps_in_us)


# --- what they come to ----------------------------------------------------------------------------


class _Span:
    """Of the slices of a rank, in picoseconds."""

    def __init__(self) -> None:
        self.begin = _too_late
        self.end = 0


class _Reader:
    def __init__(self) -> None:
        self.trace: Trace | None = None
        self.ranks: dict[int, RankTime] = {}
        self.spans: dict[int, _Span] = {}
        self.slices: dict[int, _Slices] = {}
        self.totals: dict[tuple[str, str], list[int]] = {}  # count, total, longest

    def take(self, event: _Event) -> None:
        """@error ValueError if it is none that a job writes."""
        phase = _value(event, "ph")
        if phase == "M":
            self._describe(event)
        elif phase == "X" or (phase == "C" and "tid" in event):  # links have curves and no track
            track = _whole(event, "tid", 1, 2 * _first_of_handlers)
            rank = self._rank_of(track)
            if not rank.has_ended:
                rank.events += 1
            if phase == "X" and track % 2 == 1:  # the others are arrivals, and what handlers do
                self._add_slice(rank.rank, event)

    def _describe(self, event: _Event) -> None:
        name = _text(event, "name")
        if name == "end_of_trace" and self.trace is not None:
            self.trace.has_end = True
        elif name in ("selion_trace", "end_of_rank"):
            told = _value(event, "args")
            if not isinstance(told, dict):
                raise ValueError(f"'args' is {_shown(told)}; legal is an object")
            if name == "selion_trace":
                self._begin(told)
            else:
                self._end_rank(_whole(event, "tid", 1, 2 * _most_ranks), told)

    def _begin(self, told: _Event) -> None:
        if _value(told, "format") != _format:
            raise ValueError(f"traces of format {_shown(told['format'])} are not known")
        cost = _number(told, "event_cost_ns", 10**12) if "event_cost_ns" in told else 0
        self.trace = Trace(_text(told, "machine"), _text(told, "time") == "virtual", float(cost))
        count = _whole(told, "ranks", 1, _most_ranks)
        self.ranks = {rank: RankTime(rank) for rank in range(count)}

    def _end_rank(self, track: int, told: _Event) -> None:
        rank = self._rank_of(track)
        rank.events = _whole(told, "events", 0, _too_late)
        rank.dropped = _whole(told, "dropped", 0, _too_late)
        rank.has_ended = True

    def _rank_of(self, track: int) -> RankTime:
        has_handlers = track >= _first_of_handlers and track % 2 == 0
        rank = (track - _first_of_handlers if has_handlers else track - 1) // 2
        if rank not in self.ranks:
            raise ValueError(f"'tid' is {track}, the track of rank {rank}; there are "
                             f"{len(self.ranks)} ranks")
        return self.ranks[rank]

    def _add_slice(self, rank: int, event: _Event) -> None:
        begin, duration = _picoseconds(event, "ts"), _picoseconds(event, "dur")
        end = begin + duration
        if end >= _too_late:
            raise ValueError(f"it ends beyond {_too_late} picoseconds")
        span = self.spans.setdefault(rank, _Span())
        span.begin, span.end = min(span.begin, begin), max(span.end, end)
        name, kind = _text(event, "name"), _text(event, "cat")
        category = "collective" if kind == _within_collective else kind
        if category in _in_categories:
            slices = self.slices.setdefault(rank, _Slices())
            slices.add(begin, end, _in_categories.index(category))
        total = self.totals.setdefault((name, kind), [0, 0, 0])
        total[0] += 1
        total[1] += duration
        total[2] = max(total[2], duration)

    def finish(self) -> Trace:
        assert self.trace is not None
        for number, span in self.spans.items():
            rank = self.ranks[number]
            parts = self.slices[number].parts() if number in self.slices else [0, 0, 0]
            rest = max(span.end - span.begin - sum(parts), 0)
            rank.time = (span.end - span.begin) / _ps_in_us
            rank.operations, rank.collectives, rank.waiting = (part / _ps_in_us for part in parts)
            rank.recording = min(self.trace.cost_of(rank), rest / _ps_in_us)
            rank.program = rest / _ps_in_us - rank.recording
        self.trace.ranks = list(self.ranks.values())
        names = [NameTotal(*key, count, total / _ps_in_us, longest / _ps_in_us)
                 for key, (count, total, longest) in self.totals.items()]
        self.trace.names = sorted(names, key=lambda each: -each.total)
        return self.trace


def _is_head(event: _Event) -> bool:
    return event.get("ph") == "M" and event.get("name") == "selion_trace"


def read(path: Path) -> Trace:
    """@error Mistake if the file cannot be read, or is not one trace that SELION_TRACE makes."""
    reader = _Reader()
    for number, event in _events(path):
        if reader.trace is not None and _is_head(event):
            raise Mistake(f"{path}:{number} begins a second trace; legal is one in a file.")
        try:
            reader.take(event)
        except ValueError as problem:
            raise Mistake(f"{path}:{number} is no event of a trace of Selion: {problem}.") from None
    if reader.trace is None:
        raise Mistake(f"{path} is no trace of Selion; a job writes one if SELION_TRACE names it.")
    return reader.finish()
