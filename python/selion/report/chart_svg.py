# SPDX-License-Identifier: Apache-2.0
"""Draws a chart as SVG. Colours and fonts are classes, which `chart_style` explains: a page has
them once, for light and dark, and a picture that stands alone brings its own."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from xml.sax.saxutils import escape, quoteattr

from selion.report.chart import Chart, Curve, Dot
from selion.report.scale import Scale, plain, scale_of, scale_of_words

width, _usual_height = 480.0, 320.0
_usual_left, _right, _top, _usual_bottom = 62.0, 12.0, 12.0, 46.0
_name_right = 19.0  # of the y axis: where it ends
_tick_gap = 7.0  # between the words of the y axis and the frame
_lean = math.radians(32)  # of words under bars that have no room side by side
_name_space = 'xmlns="http://www.w3.org/2000/svg"'
_letter = 6.7  # of the font at its size, on average
_wide_letter = 8.6  # of the larger font that narrow screens have, where it is a wide one
_size = 3.6  # of a mark

# Marks differ by shape as well as by colour.
_shapes = (
    "M-{r} 0A{r} {r} 0 1 1 {r} 0A{r} {r} 0 1 1 -{r} 0Z",
    "M-{r} -{r}H{r}V{r}H-{r}Z",
    "M0 -{s}L{s} {r}H-{s}Z",
    "M0 -{s}L{s} 0L0 {s}L-{s} 0Z",
    "M0 {s}L{s} -{r}H-{s}Z",
    "M-{r} -{r}L{r} {r}M-{r} {r}L{r} -{r}",
    "M0 -{s}V{s}M-{s} 0H{s}",
    "M-{s} -{q}H{s}V{q}H-{s}Z",
)
shapes = tuple(
    each.format(r=_size, s=round(_size * 1.35, 2), q=round(_size * 0.6, 2)) for each in _shapes
)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class _Frame:
    """The rectangle in which curves are, and the scales of its sides."""

    x: Scale
    y: Scale

    def across(self, value: float) -> float:
        return self.left + self.x.place(value) * (width - self.left - _right)

    def up(self, value: float) -> float:
        return self.foot - self.y.place(value) * (self.foot - _top)

    @property
    def foot(self) -> float:
        """Of the rectangle."""
        return _usual_height - _usual_bottom

    @property
    def _longest(self) -> float:
        return max((len(name) for name in self.x.names), default=0) * _wide_letter

    @cached_property
    def _room_beside(self) -> float:
        """For the name and the words of the y axis."""
        longest = max((len(words) for _, words in self.y.ticks(6)), default=0)
        return max(_usual_left, _name_right + longest * _wide_letter + _tick_gap)

    @property
    def leans(self) -> bool:
        """Whether words under the x axis do not fit side by side."""
        return bool(self.x.names) and \
            (self._longest + 8) * len(self.x.names) > width - self._room_beside - _right

    @cached_property
    def left(self) -> float:
        """Where the rectangle begins, so that no word is cut off: those that lean end under its
        places."""
        left = self._room_beside
        for number, name in enumerate(self.x.names if self.leans else ()):
            part = (number + 0.5) / len(self.x.names)
            reach = len(name) * _wide_letter * math.cos(_lean) + 2
            left = max(left, (reach - (width - _right) * part) / (1 - part))
        return min(left, width / 2)

    @property
    def height(self) -> float:
        """Of the whole drawing."""
        return _usual_height + (self._longest * math.sin(_lean) if self.leans else 0)


def _heights(dot: Dot) -> list[float]:
    """What there must be room for."""
    return [value for value in (dot.y, dot.published, dot.low, dot.high) if value is not None]


def _frame(chart: Chart) -> _Frame:
    dots = [dot for curve in chart.curves for dot in curve.dots]
    heights = [value for dot in dots for value in _heights(dot)]
    is_binary = chart.x_unit == "bytes"
    if _is_of_words(chart):
        x = scale_of_words(_places(chart))
    else:
        is_whole = all(isinstance(dot.x, int) for dot in dots)
        x = scale_of([float(dot.x) for dot in dots], chart.x_scale, is_binary=is_binary,
                     is_whole=is_whole, zero_apart=True)
    y = scale_of(heights, chart.y_scale, from_zero=chart.from_zero or chart.kind == "bars")
    if chart.kind == "bars" and y.kind == "log10":  # bars stand on a power of ten
        y = replace(y, low=10.0 ** math.floor(math.log10(min(heights))))
    return _Frame(x, y)


def _is_of_words(chart: Chart) -> bool:
    return chart.kind == "bars" or any(isinstance(dot.x, (str, bool))
                                       for curve in chart.curves for dot in curve.dots)


def _places(chart: Chart) -> list[object]:
    places = list(dict.fromkeys(dot.x for curve in chart.curves for dot in curve.dots))
    return sorted(places) if all(not isinstance(each, str) for each in places) else places


def _tip(chart: Chart, curve: Curve, dot: Dot) -> str:
    """What a dot says of itself."""
    x = dot.x if isinstance(dot.x, str) else str(dot.x).lower() if isinstance(dot.x, bool) \
        else plain(dot.x)
    words = f"{curve.name}: " if curve.name else ""
    words += f"{chart.x_title} {x}{' ' + chart.x_unit if chart.x_unit else ''}: "
    words += f"{plain(dot.y)} {chart.y_unit}".rstrip()
    if dot.low is not None and dot.high is not None and dot.high > dot.low:
        words += f" ({plain(dot.low)} to {plain(dot.high)})"
    if dot.published is not None:
        words += f"; published: {plain(dot.published)}"
    return words


def _grid(frame: _Frame) -> Iterator[str]:
    for value, words in frame.x.ticks(7):
        at = _number(frame.across(value))
        yield f'<path class="grid gx" d="M{at} {_top:g}V{frame.foot:g}"/>'
        place = f'x="{at}" y="{frame.foot + 17:g}" text-anchor="middle"'
        if frame.leans:
            turn = f"translate({at} {frame.foot + 13:g}) rotate(-{math.degrees(_lean):g})"
            place = f'transform="{turn}" text-anchor="end"'
        yield f'<text class="tick tx" {place}>{escape(words)}</text>'
    for value, words in frame.y.ticks(6):
        at = _number(frame.up(value))
        yield f'<path class="grid gy" d="M{frame.left:g} {at}H{width - _right:g}"/>'
        yield (f'<text class="tick ty" x="{frame.left - _tick_gap:g}" y="{float(at) + 4:g}" '
               f'text-anchor="end">{escape(words)}</text>')


def _axis_names(chart: Chart, frame: _Frame) -> Iterator[str]:
    def name(title: str, unit: str) -> str:
        return escape(f"{title} ({unit})" if unit and unit != title else title)

    middle = (frame.left + width - _right) / 2
    yield (f'<text class="name" x="{middle:g}" y="{frame.height - 8:g}" text-anchor="middle">'
           f"{name(chart.x_title, chart.x_unit)}</text>")
    at = (_top + frame.foot) / 2
    yield (f'<text class="name" transform="translate(13 {at:g}) rotate(-90)" '
           f'text-anchor="middle">{name(chart.y_title, chart.y_unit)}</text>')


def _where(chart: Chart, frame: _Frame, dot: Dot) -> float:
    if frame.x.kind == "words":
        return frame.across(_places(chart).index(dot.x))
    return frame.across(float(dot.x))


def _mark(kind: str, x: float, y: float, shape: str, tip: str = "") -> str:
    title = f"<title>{escape(tip)}</title>" if tip else ""
    place = f"translate({_number(x)} {_number(y)})"
    return f'<path class="{kind}" transform="{place}" d="{shape}">{title}</path>'


def _spread(frame: _Frame, dot: Dot, x: float, kind: str) -> Iterator[str]:
    if dot.low is not None and dot.high is not None and dot.high > dot.low:
        yield (f'<path class="{kind}" transform="translate({_number(x)} 0)" '
               f'd="M0 {_number(frame.up(dot.low))}V{_number(frame.up(dot.high))}"/>')


def _line_of(chart: Chart, frame: _Frame, curve: Curve, shape: str) -> Iterator[str]:
    places = [(_where(chart, frame, dot), frame.up(dot.y)) for dot in curve.dots]
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in places)
    yield f'<polyline class="line" points="{points}"/>'
    for dot, (x, y) in zip(curve.dots, places, strict=True):
        yield from _spread(frame, dot, x, "spread")
        yield _mark("mark", x, y, shape, _tip(chart, curve, dot))
    for dot, (x, _) in zip(curve.dots, places, strict=True):
        if dot.published is not None:
            yield _mark("published", x, frame.up(dot.published),
                        f"M-7 0A7 7 0 1 1 7 0A7 7 0 1 1 -7 0Z", _tip(chart, curve, dot))


def _bars_of(chart: Chart, frame: _Frame, curve: Curve, number: int) -> Iterator[str]:
    """@param number of the curve among all: where in a group its bars stand."""
    group = (width - frame.left - _right) / len(frame.x.names) * 0.8
    wide = group / len(chart.curves)
    for dot in curve.dots:
        left = _where(chart, frame, dot) - group / 2 + wide * number
        foot = frame.up(max(frame.y.low, 0) if frame.y.kind == "linear" else frame.y.low)
        top = frame.up(dot.y)
        high = max(abs(foot - top), 0.75)
        yield (f'<rect class="bar" x="{_number(left)}" y="{_number(min(top, foot))}" '
               f'width="{_number(max(wide - 1, 1))}" height="{_number(high)}">'
               f"<title>{escape(_tip(chart, curve, dot))}</title></rect>")
        yield from _spread(frame, dot, left + wide / 2, "spread on-bar")
        if dot.published is not None:
            at = _number(frame.up(dot.published))
            yield (f'<path class="published" d="M{_number(left - 1)} {at}H'
                   f'{_number(left + wide)}"><title>{escape(_tip(chart, curve, dot))}</title>'
                   "</path>")


def _scale_attribute(scale: Scale, frame_from: float, frame_to: float) -> str:
    return quoteattr(json.dumps({
        "kind": scale.kind, "low": scale.low, "high": scale.high,
        "from": frame_from, "to": frame_to, "binary": scale.is_binary, "whole": scale.is_whole,
        "zero": scale.zero,
    }))


def body(chart: Chart, key: str) -> str:
    """The drawing without its legend, for a page. @param key that no other drawing there has."""
    frame = _frame(chart)
    drawn = []
    for number, curve in enumerate(chart.curves):
        parts = _bars_of(chart, frame, curve, number) if chart.kind == "bars" else \
            _line_of(chart, frame, curve, shapes[number % len(shapes)])
        drawn.append(f'<g class="curve c{number}">{"".join(parts)}</g>')
    left = frame.left
    wide, high = width - left - _right, frame.foot - _top
    area = f'x="{left:g}" y="{_top:g}" width="{wide:g}" height="{high:g}"'
    margin = f'x="{left - 8:g}" y="{_top - 8:g}" width="{wide + 16:g}" height="{high + 16:g}"'
    x = _scale_attribute(frame.x, left, width - _right)
    y = _scale_attribute(frame.y, frame.foot, _top)
    return "".join([
        f'<svg class="chart" {_name_space} viewBox="0 0 {width:g} {frame.height:g}" '
        f'role="img" aria-label={quoteattr(chart.title)} data-x={x} data-y={y}>',
        f'<clipPath id="{key}"><rect {margin}/></clipPath>',
        f'<g class="axes">{"".join(_grid(frame))}</g>',
        f'<rect class="frame" {area}/>', *_axis_names(chart, frame),
        f'<g class="curves" clip-path="url(#{key})">{"".join(drawn)}</g></svg>'])


def _key_of(number: int, kind: str) -> str:
    """A curve's line and mark, 22 wide and 14 high."""
    inner = '<rect class="bar" x="4" y="3" width="14" height="8"/>' if kind == "bars" else (
        '<path class="line" d="M0 7H22"/>'
        + _mark("mark", 11, 7, shapes[number % len(shapes)]))
    return f'<g class="curve c{number}">{inner}</g>'


def legend_mark(number: int, kind: str) -> str:
    """A small picture of a curve's line and mark."""
    return _in_a_line(_key_of(number, kind))


def _in_a_line(key: str) -> str:
    return (f'<svg class="key" viewBox="0 0 22 14" width="22" height="14" aria-hidden="true">'
            f"{key}</svg>")


def _published_key(kind: str) -> str:
    """As `_key_of`."""
    shape = "M3 7H19" if kind == "bars" else "M5 7A6 6 0 1 1 17 7A6 6 0 1 1 5 7Z"
    return f'<path class="published" d="{shape}"/>'


def published_mark(kind: str) -> str:
    """A small picture of what stands for published figures."""
    return _in_a_line(_published_key(kind))


def _legend(chart: Chart, top: float) -> tuple[list[str], float]:
    """Lines of names under a drawing that stands alone, and how high they are."""
    names = [curve.name for curve in chart.curves]
    if chart.has_published:
        names.append("published")
    if not any(names) or names == [""]:
        return [], 0
    parts, x, y = [], _usual_left, top + 6
    for number, name in enumerate(names):
        wide = 34 + len(name) * _letter
        if x + wide > width and x > _usual_left:
            x, y = _usual_left, y + 18
        if name == "published" and number == len(chart.curves):
            mark = f'<g class="curve">{_published_key(chart.kind)}</g>'
        else:
            mark = _key_of(number, chart.kind)
        parts.append(f'<g transform="translate({_number(x)} {_number(y)})">{mark}'
                     f'<text class="tick" x="27" y="11">{escape(name)}</text></g>')
        x += wide
    return parts, y + 18 - top


def alone(chart: Chart, style: str) -> str:
    """A file of its own: title, drawing and legend. @param style the rules of `chart_style`."""
    lines = _wrapped(chart.title, int((width - 20) / 8.2))
    head = 20.0 * len(lines) + 6
    height = _frame(chart).height
    legend, under = _legend(chart, height)
    runs = _wrapped(chart.runs, int((width - 20) / 6.6)) if chart.runs else []
    notes = "".join(f'<text class="tick" x="10" y="{head + height + under + 14 + 16 * place:g}">'
                    f"{escape(line)}</text>" for place, line in enumerate(runs))
    high = math.ceil(head + height + under + 16 * len(runs) + 8)
    titles = "".join(f'<text class="title" x="10" y="{18 + 20 * place}">{escape(line)}</text>'
                     for place, line in enumerate(lines))
    inner = body(chart, "clip").replace(
        f'<svg class="chart" {_name_space}', f'<svg width="{width:g}" height="{height:g}"', 1)
    return (f'<svg {_name_space} width="{width:g}" height="{high}" '
            f'viewBox="0 0 {width:g} {high}"><style>{style}</style>'
            f'<rect class="paper" width="{width:g}" height="{high}"/>{titles}'
            f'<g transform="translate(0 {head:g})">{inner}{"".join(legend)}</g>{notes}</svg>\n')


def _wrapped(words: str, letters: int) -> Sequence[str]:
    lines, line = [], ""
    for word in words.split():
        if line and len(line) + 1 + len(word) > letters:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]
