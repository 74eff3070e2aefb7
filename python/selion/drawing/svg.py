# SPDX-License-Identifier: Apache-2.0
"""Parts of a picture as text of SVG. Lengths are pixels; y grows downwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

Point = tuple[float, float]

ink = "#222222"
faint = "#777777"
_head = 8.0


def drawable(name: str) -> str:
    """Of a name that may have any bytes, what a picture can show."""
    return "".join(letter for letter in name if letter.isprintable())


def text_width(words: str, size: float = 11, mono: bool = False) -> float:
    """About as wide as the usual fonts make it, rather more than less."""
    return len(words) * size * (0.62 if mono else 0.56)


def text(at: Point, words: str, *, size: float = 11, anchor: str = "start", colour: str = ink,
         bold: bool = False, mono: bool = False) -> str:
    """@param at on the base line. @param anchor "start", "middle" or "end"."""
    more = ' font-weight="bold"' if bold else ""
    more += ' font-family="monospace"' if mono else ""
    return (f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="{size:g}" text-anchor="{anchor}" '
            f'fill="{colour}"{more}>{escape(words)}</text>')


def line(start: Point, end: Point, colour: str, width: float = 1) -> str:
    return (f'<path d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" '
            f'stroke="{colour}" stroke-width="{width:g}"/>')


def box(corner: Point, width: float, height: float, colour: str) -> str:
    return (f'<rect x="{corner[0]:.1f}" y="{corner[1]:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="3" fill="{colour}"/>')


def dot(at: Point, colour: str) -> str:
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="3" fill="{colour}"/>'


def disc(at: Point, radius: float, words: str, filled: bool = False) -> str:
    """A circle with a short text in it."""
    fill, colour = (ink, "white") if filled else ("white", ink)
    return (f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" fill="{fill}" '
            f'stroke="{ink}" stroke-width="1.3"/>'
            + text((at[0], at[1] + 4), words, anchor="middle", colour=colour))


def arrow(start: Point, end: Point, colour: str) -> str:
    """From `start` to its tip at `end`."""
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    back = (end[0] - _head * math.cos(angle), end[1] - _head * math.sin(angle))
    side = (0.42 * _head * math.sin(angle), -0.42 * _head * math.cos(angle))
    corners = (end, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1]))
    tip = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    return line(start, back, colour, 1.5) + f'<path d="M{tip}Z" fill="{colour}"/>'


def group(kind: str, tip: str, parts: Sequence[str]) -> str:
    """@param tip what is shown where the pointer rests."""
    return f'<g class="{kind}"><title>{escape(tip)}</title>{"".join(parts)}</g>'


def document(width: float, height: float, name: str, parts: Sequence[str]) -> str:
    """The whole file."""
    size = f"{math.ceil(width)} {math.ceil(height)}"
    wide, high = size.split()
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="0 0 {size}" font-family="Helvetica, Arial, sans-serif">',
        f"<title>{escape(name)}</title>",
        f'<rect width="{wide}" height="{high}" fill="white"/>', *parts, "</svg>"]) + "\n"
