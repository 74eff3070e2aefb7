# SPDX-License-Identifier: Apache-2.0
"""Draws how a program scales."""

from __future__ import annotations

from collections.abc import Sequence

from selion.report import chart_svg
from selion.report.chart import Chart, Curve, Dot
from selion.report.chart_style import light, rules
from selion.scaling import Curve as Scaling


def _ideal(curves: Sequence[Scaling], is_weak: bool) -> Curve:
    ranks = sorted({point.ranks for curve in curves for point in curve.points})
    return Curve("ideal", tuple(Dot(each, 100.0 if is_weak else each) for each in ranks))


def _measured(curve: Scaling) -> Curve:
    dots = []
    for point in curve.points:
        scale = 100 / point.ranks if curve.is_weak else 1
        low, high = curve.ends(point)
        dots.append(Dot(point.ranks, scale * curve.speedup(point), scale * low, scale * high))
    return Curve(curve.machine, tuple(dots))


def draw(curves: Sequence[Scaling], title: str, command: str) -> str:
    """An SVG: the speed-up over ranks, or of weak scaling the efficiency.

    @param command that draws it again.
    """
    is_weak = curves[0].is_weak
    return chart_svg.alone(
        Chart(
            title=title, x_title="ranks", x_unit="",
            y_title="efficiency" if is_weak else "speed-up", y_unit="%" if is_weak else "",
            x_scale="log2", y_scale="linear" if is_weak else "log2", kind="lines",
            from_zero=is_weak, text="", command=command, runs=command,
            is_virtual=all(each.is_virtual for each in curves),
            curves=(*map(_measured, curves), _ideal(curves, is_weak)),
        ),
        rules(light),
    )
