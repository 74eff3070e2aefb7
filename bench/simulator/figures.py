# SPDX-License-Identifier: Apache-2.0
"""From the lines that the programs print to figures: what `bench/run_simulator` tells."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from report import Spread, spread

Row = dict[str, Any]


def _scaled(value: float, steps: list[tuple[float, str]]) -> str:
    size, unit = next((step for step in steps if value >= step[0]), steps[-1])
    return f"{value / size:.3g} {unit}"


def seconds_text(seconds: float) -> str:
    return _scaled(seconds, [(1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])


def bytes_text(count: float) -> str:
    return _scaled(count, [(1e9, "GB"), (1e6, "MB")])


def rate_text(rate: float) -> str:
    return f"{float(f'{rate:.3g}'):,.0f}/s"


def _seconds(row: Row) -> float:
    return row["seconds"]


def _own_share(row: Row) -> float:
    """How much of what a program timed itself a processor worked for it: 1 on a quiet host."""
    return row["cpu_seconds"] / row["seconds"]


def _process_share(row: Row) -> float:
    """The same of the whole process."""
    return row["process_cpu_seconds"] / row["process_seconds"]


@dataclass(frozen=True)
class Metric:
    """One number of a row, and the processor's share of the time that it was taken in."""

    name: str
    value: Callable[[Row], float]
    text: Callable[[float], str]
    kind: str  # "time", "rate" (more is better) or "memory"
    share: Callable[[Row], float] = _own_share

    def quiet(self, row: Row) -> float:
        """With a processor to itself."""
        value = self.value(row)
        if self.kind == "memory":
            return value
        return value * self.share(row) if self.kind == "time" else value / self.share(row)


# What each operation's rows are asked for. A process is timed from outside, with its start and end.
_process = Metric("process", lambda row: row["process_seconds"], seconds_text, "time",
                  _process_share)
_memory = Metric("memory", lambda row: row["most_bytes"], bytes_text, "memory")
_time = Metric("", _seconds, seconds_text, "time")
metrics: dict[str, list[Metric]] = {
    "ping-pong": [Metric("round trips a second", lambda row: 1 / row["seconds"], rate_text,
                         "rate")],
    "ring": [_process, _memory],
    "barrier": [_time],
    "mesh traffic": [Metric("cycles a second", lambda row: row["cycles_per_second"], rate_text,
                            "rate")],
    "messages": [_time],
    "events": [_time],
    "em3d": [_process, _memory],
}


@dataclass
class Figure:
    """One number of one operation at one size, by all contestants, in all repetitions."""

    operation: str
    metric: Metric
    ranks: int
    # By contestant and repetition: as time passed, and with a processor to itself.
    values: dict[str, dict[int, float]] = field(default_factory=dict)
    quiet_values: dict[str, dict[int, float]] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.operation}, {self.metric.name}" if self.metric.name else self.operation

    @property
    def own(self) -> Spread:
        return spread(self.values["selion"].values())

    def quiet(self, contestant: str = "selion") -> float:
        return statistics.median(self.quiet_values[contestant].values())

    def ratios(self, rival: str) -> Spread:
        """Selion's time over the rival's, or the rival's rate over Selion's: less is better. Each
        with a processor to itself."""
        own, other = self.quiet_values["selion"], self.quiet_values[rival]
        both = [own[turn] / other[turn] for turn in own if turn in other]
        return spread(1 / each if self.metric.kind == "rate" else each for each in both)

    def add(self, row: Row) -> None:
        contestant = row["contestant"]
        if "trouble" in row:
            self.troubles[contestant] = row["trouble"]
            return
        turn = row["repetition"]
        self.values.setdefault(contestant, {})[turn] = self.metric.value(row)
        self.quiet_values.setdefault(contestant, {})[turn] = self.metric.quiet(row)


def figures(rows: Iterable[Row]) -> list[Figure]:
    """Those that Selion took part in, in the order in which they were first measured."""
    found: dict[tuple[str, str, int], Figure] = {}
    for row in rows:
        for metric in metrics[row["operation"]]:
            key = (row["operation"], metric.name, row["ranks"])
            found.setdefault(key, Figure(row["operation"], metric, row["ranks"])).add(row)
    return [figure for figure in found.values() if "selion" in figure.values]
