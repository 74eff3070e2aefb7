# SPDX-License-Identifier: Apache-2.0
"""What a chart is before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dot:
    """One measured value. `low` and `high` are the ends of its spread, if it has one."""

    x: Any
    y: float
    low: float | None = None
    high: float | None = None
    published: float | None = None


@dataclass(frozen=True)
class Curve:
    """Dots in the order of x."""

    name: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Chart:
    """Curves, or groups of bars, over one axis. Words on the x axis make it one of words."""

    title: str
    x_title: str
    x_unit: str
    y_title: str
    y_unit: str
    x_scale: str
    y_scale: str
    kind: str
    from_zero: bool
    curves: tuple[Curve, ...]
    text: str
    command: str
    is_virtual: bool
    """Whether its times are those of simulated machines, and no clock of a host is in them."""
    runs: str = ""
    """Where its rows come from, if its study has several runs."""

    @property
    def has_published(self) -> bool:
        return any(dot.published is not None for curve in self.curves for dot in curve.dots)
