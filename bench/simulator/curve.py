# SPDX-License-Identifier: Apache-2.0
"""Draws how the time of an event and of a message grows with their number, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.sax.saxutils import escape

from simulator.figures import Figure

_width, _height = 660, 400
_left, _right, _top, _bottom = 70, 620, 50, 330
_colours = {"messages": "#1f5fa8", "events": "#b3541e"}
_labels = {"messages": "a message between ranks", "events": "an event of the engine alone"}


class _Axes:
    """Both logarithmic."""

    def __init__(self, curves: list[list[Figure]]) -> None:
        sizes = [point.ranks for curve in curves for point in curve]
        times = [point.quiet() * 1e9 for curve in curves for point in curve]
        self.x_from, self.x_to = (math.log10(bound) for bound in (min(sizes), max(sizes)))
        self.y_from = math.floor(math.log10(min(times)))
        self.y_to = max(math.ceil(math.log10(max(times))), self.y_from + 1)

    def x(self, size: float) -> float:
        share = (math.log10(size) - self.x_from) / max(self.x_to - self.x_from, 1e-9)
        return _left + share * (_right - _left)

    def y(self, ns: float) -> float:
        share = (math.log10(ns) - self.y_from) / (self.y_to - self.y_from)
        return _bottom - share * (_bottom - _top)


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(words)}</text>'


def _grid(axes: _Axes) -> list[str]:
    lines = []
    for power in range(math.ceil(axes.x_from), math.floor(axes.x_to) + 1):
        x = axes.x(10**power)
        lines += [f'<path d="M{x:.1f} {_top}V{_bottom}" stroke="#ddd"/>',
                  _text(x, _bottom + 18, f"{10**power:,}", 'text-anchor="middle"')]
    for power in range(axes.y_from, axes.y_to + 1):
        y = axes.y(10**power)
        lines += [f'<path d="M{_left} {y:.1f}H{_right}" stroke="#ddd"/>',
                  _text(_left - 8, y + 4, f"{10**power:,} ns", 'text-anchor="end"')]
    return lines


def _path(axes: _Axes, points: list[tuple[float, float]], more: str) -> str:
    steps = "L".join(f"{axes.x(size):.1f} {axes.y(ns):.1f}" for size, ns in points)
    return f'<path d="M{steps}" fill="none" {more}/>'


def _drawn(axes: _Axes, curve: list[Figure]) -> list[str]:
    """Measured, and dashed what grows with the logarithm from the same first point."""
    name, first = curve[0].operation, curve[0]
    points = [(point.ranks, point.quiet() * 1e9) for point in curve]
    unit = points[0][1] / math.log(first.ranks)
    colour = f'stroke="{_colours[name]}"'
    logarithm = [(size, unit * math.log(size)) for size, _ in points]
    dots = [f'<circle cx="{axes.x(size):.1f}" cy="{axes.y(ns):.1f}" r="3.5" '
            f'fill="{_colours[name]}"/>' for size, ns in points]
    return [_path(axes, logarithm, f'{colour} stroke-dasharray="5 4"'),
            _path(axes, points, f'{colour} stroke-width="2"'), *dots]


def _legend(curves: list[list[Figure]]) -> list[str]:
    lines = []
    for place, curve in enumerate(curves):
        name, y = curve[0].operation, _top - 32 + 18 * place
        lines += [f'<path d="M{_left} {y}h26" stroke="{_colours[name]}" stroke-width="2"/>',
                  _text(_left + 32, y + 4, _labels[name])]
    lines += [f'<path d="M{_left + 300} {_top - 32}h26" stroke="#555" stroke-dasharray="5 4"/>',
              _text(_left + 332, _top - 28, "grows with the logarithm")]
    return lines


def has_curve(measured: Iterable[tuple[str, int]]) -> bool:
    """Whether a curve has two points. @param measured operations, each with a size."""
    drawn = {(name, size) for name, size in measured if name in _colours}
    return any(sum(name == each for each, _ in drawn) > 1 for name in _colours)


def draw(all_figures: list[Figure], command: str) -> str:
    """The SVG's text; empty if no curve has two points."""
    curves = [sorted((each for each in all_figures if each.operation == name),
                     key=lambda each: each.ranks) for name in _colours]
    curves = [curve for curve in curves if len(curve) > 1]
    if not curves:
        return ""
    axes = _Axes(curves)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_width} {_height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_width}" height="{_height}" fill="white"/>',
        *_grid(axes), *(line for curve in curves for line in _drawn(axes, curve)),
        *_legend(curves),
        _text((_left + _right) / 2, _bottom + 38, "ranks, or events that are pending",
              'text-anchor="middle"'),
        _text(_left, _height - 10, f"processor's time, median; {command}", 'fill="#555"'), "</svg>"]
    return "\n".join(lines) + "\n"
