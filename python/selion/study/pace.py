# SPDX-License-Identifier: Apache-2.0
"""How long the points of a run that are left may take."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from selion.study.plan import Point

_Key = tuple[str, str]


def _key(point: Point) -> _Key:
    return (point.study, point.experiment.name)


class Pace:
    """Points of an experiment are taken to last as long as those of it that are over; before any is
    over, as long as study.toml says, corrected by how all others have kept to that.
    """

    def __init__(self, points: Iterable[Point]) -> None:
        self._left: Counter[_Key] = Counter()
        self._told: dict[_Key, float] = {}
        self._over: Counter[_Key] = Counter()
        self._seconds: defaultdict[_Key, float] = defaultdict(float)
        for point in points:
            self._left[_key(point)] += 1
            self._told[_key(point)] = point.experiment.point_seconds

    def over(self, point: Point, seconds: float | None) -> None:
        """@param seconds that it took; None if it was not run."""
        self._left[_key(point)] -= 1
        if seconds is not None:
            self._over[_key(point)] += 1
            self._seconds[_key(point)] += seconds

    def abandon(self, study: str) -> None:
        """The points of a study that are left are not run."""
        for key in self._left:
            if key[0] == study:
                self._left[key] = 0

    def seconds_left(self, elapsed: float) -> float | None:
        """None as long as nothing is known.

        @param elapsed since the first point began; less than the points took together where several
        were under way at a time.
        """
        if not self._over:
            return None
        expected = sum(self._told[key] * count for key, count in self._over.items())
        taken = sum(self._seconds.values())
        ratio = taken / expected if expected else 1.0
        left = sum(
            count * self._one(key, ratio) for key, count in self._left.items() if count > 0
        )
        return left / max(1.0, taken / elapsed if elapsed > 0 else 1.0)

    def _one(self, key: _Key, ratio: float) -> float:
        """What is told counts as much as one point that is over."""
        return (self._told[key] * ratio + self._seconds[key]) / (1 + self._over[key])
