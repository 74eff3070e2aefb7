# SPDX-License-Identifier: Apache-2.0
"""Traces as a viewer sees them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

Event = dict


@dataclass
class Trace:
    events: list[Event]
    tracks: dict[int, str] = field(default_factory=dict)  #: names of threads
    slices: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))  #: by track

    def of_ranks(self, name: str, ranks: int) -> list[list[Event]]:
        """Slices of a name, for each rank."""
        return [
            [each for each in self.slices[f"rank {rank}"] if each["name"] == name]
            for rank in range(ranks)
        ]

    def ended_ranks(self) -> set[str]:
        return {self.tracks[each["tid"]] for each in self.events if each["name"] == "end_of_rank"}

    def metadata(self, name: str) -> list[dict]:
        return [each["args"] for each in self.events if (each["ph"], each["name"]) == ("M", name)]


def read(path: Path) -> Trace:
    events = json.loads(path.read_text())
    assert isinstance(events, list)
    trace = Trace(events)
    for event in events:
        if event["name"] == "thread_name":
            assert event["tid"] not in trace.tracks, "a track is named once"
            trace.tracks[event["tid"]] = event["args"]["name"]
    for event in events:
        if event["ph"] == "X":
            assert set("ph name cat ts dur pid tid args".split()) == set(event)
            assert event["ts"] >= 0 and event["dur"] >= 0
            trace.slices[trace.tracks[event["tid"]]].append(event)
    return trace


def arrows(trace: Trace) -> list[tuple[Event, Event]]:
    """Pairs of slices that a viewer joins, by its rules: events by time, those of equal time as
    they stand in the file; an end belongs to the slice that began last on its track. Checks that
    no arrow ends before it begins."""
    last: dict[int, Event] = {}
    begun: dict[str, Event] = {}
    found = []
    for event in sorted((each for each in trace.events if "ts" in each), key=lambda e: e["ts"]):
        if event["ph"] == "X":
            last[event["tid"]] = event
        if event["ph"] == "s":
            assert event["id"] not in begun, f"two arrows are called {event['id']}"
            begun[event["id"]] = last[event["tid"]]
            assert last[event["tid"]]["ts"] == event["ts"]
        if event["ph"] == "f":
            assert event["bp"] == "e"
            assert event["id"] in begun, f"{event} has no beginning"
            found.append((begun[event["id"]], last[event["tid"]]))
    return found


def start_ps(event: Event) -> int:
    """Whole picoseconds: sums of fractions of microseconds are not exact."""
    return round(event["ts"] * 1e6)


def end_ps(event: Event) -> int:
    return round((event["ts"] + event["dur"]) * 1e6)


def check_nesting(trace: Trace) -> None:
    """Slices of one track lie side by side or within each other."""
    for name, slices in trace.slices.items():
        open_until: list[float] = []
        times = [(start_ps(each), end_ps(each)) for each in slices]
        for start, end in sorted(times, key=lambda time: (time[0], -time[1])):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], f"{name}: {start} to {end} ps overlaps"
            open_until.append(end)


def names_of(pairs: list[tuple[Event, Event]]) -> Counter:
    return Counter((begin["name"], end["name"]) for begin, end in pairs)
