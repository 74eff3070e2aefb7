# SPDX-License-Identifier: Apache-2.0
"""How a program's time falls, or stays, as its ranks become more.

Strong scaling: the same work for all numbers of ranks. With T(p) the time of p ranks and b the
fewest that were run, the speed-up is S(p) = b T(b) / T(p), what p ranks do in the time that one
rank takes if b is 1, and the efficiency S(p) / p.

The serial part of the work that would explain a speed-up by Amdahl's law is, for b = 1,
(1/S - 1/p) / (1 - 1/p): Karp and Flatt, Measuring parallel processor performance, CACM 33(5), 1990.
Where it grows with p, it is not serial work that costs, but what ranks do because there are more
of them.

Weak scaling: work that grows with the ranks. The efficiency is T(b) / T(p), and the speed-up p
times that.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from selion.mistake import Failure


@dataclass(frozen=True)
class Point:
    """What some ranks took, run after run: seconds, or what the program printed."""

    ranks: int
    times: tuple[float, ...]

    @property
    def time(self) -> float:
        return median(self.times)


@dataclass(frozen=True)
class Curve:
    """Of one machine, by rising ranks."""

    machine: str
    points: tuple[Point, ...]
    is_weak: bool
    is_virtual: bool
    """Whether its times are those of a simulated machine."""

    def efficiency(self, point: Point) -> float:
        return self.speedup(point) / point.ranks

    def speedup(self, point: Point) -> float:
        return self._speedup(point, point.time)

    def ends(self, point: Point) -> tuple[float, float]:
        """The speed-ups of its slowest and of its quickest run."""
        return self._speedup(point, max(point.times)), self._speedup(point, min(point.times))

    def serial_part(self, point: Point) -> float | None:
        """None where there is none: no run of one rank, or the work was not the same."""
        if self.is_weak or self.points[0].ranks != 1 or point.ranks == 1:
            return None
        share = 1 / point.ranks
        return (1 / self.speedup(point) - share) / (1 - share)

    def _speedup(self, point: Point, time: float) -> float:
        first = self.points[0]
        return first.time / time * (point.ranks if self.is_weak else first.ranks)


def times_of_jobs(path: Path) -> tuple[float, bool]:
    """What SELION_TIME has written: seconds of all jobs of a program, and whether they are
    virtual ones. @error Failure if there was none."""
    jobs = [json.loads(line) for line in path.read_text().splitlines()]
    if not jobs:
        raise Failure("no job of it came to its end: its ranks begin with selion::run, or "
                      "selion.run in Python")
    return sum(job["seconds"] for job in jobs), jobs[-1]["clock"] == "virtual"


def printed_time(pattern: re.Pattern[str], output: str) -> float:
    """The last number that a program printed there. @error Failure if it is none, or not above
    0."""
    found = None
    for found in pattern.finditer(output):
        pass
    if found is None:
        raise Failure(f"'{pattern.pattern}' is nowhere in what it prints")
    text = found[1] if pattern.groups else found[0]
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        number = 0.0
    if not number > 0:
        raise Failure(f"'{pattern.pattern}' finds '{text}', which is no number above 0; brackets "
                      "say which part is the number")
    return number
