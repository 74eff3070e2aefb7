# SPDX-License-Identifier: Apache-2.0
"""How much each link of a mesh is used, as a picture."""

from __future__ import annotations

from dataclasses import dataclass

from selion.drawing import svg
from selion.drawing.heat_map import HeatMap, colours, length
from selion.meter_file import Link, directions, inward, outward

_margin = 20.0
_inset = 22.0  # from the edge of the panel to the cores
_side = 50.0  # of a core
_gap = 46.0  # between cores
_pitch = _side + _gap
_lane = 9.0  # from the middle between two cores to a link
_half = 4.5  # of the width of a link
_head = 9.0
_air = 3.0  # between a core and the ends of its links
_swatch = (34.0, 12.0)
_under = 68.0  # room for the legend
_line = 20.0  # of it, more where the mesh closes

# The panel is dark so that light means much, on a page of any colour.
_panel = "#1f242b"
_core = "#2f3741"
_words = "#e4e8ec"
_quiet = "#9aa4af"
_no_traffic = "#4a535e"
_edge = "#0c0f12"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the cores stand: the middle of one is at `left + _pitch * column`."""

    left: float
    top: float

    def middle(self, row: float, column: float) -> svg.Point:
        return (self.left + _pitch * column, self.top + _pitch * row)


def _shape(corners: list[svg.Point], link: Link | None, heat: HeatMap) -> str:
    """An outline filled with the link's colour; faint if nothing went over it."""
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    if link is None or link.is_idle:
        return f'<path d="M{path}Z" fill="none" stroke="{_no_traffic}" stroke-width="0.8"/>'
    colour = colours[heat.step(link, len(colours))]
    return f'<path d="M{path}Z" fill="{colour}" stroke="{_edge}" stroke-width="0.8"/>'


def _arrow(start: svg.Point, along: tuple[int, int], size: float) -> list[svg.Point]:
    """The corners of an arrow. @param along a step of one pixel towards its tip."""
    ax, ay = along
    outline = [(0, _half), (size - _head, _half), (size - _head, _half + 3.5), (size, 0),
               (size - _head, -_half - 3.5), (size - _head, -_half), (0, -_half)]
    return [(start[0] + ax * far - ay * aside, start[1] + ay * far + ax * aside)
            for far, aside in outline]  # fmt: skip


# Each pair of neighbours keeps to the left, as seen by what travels.
_along = {"east": (1, 0), "south": (0, 1), "west": (-1, 0), "north": (0, -1)}


def _tip(heat: HeatMap, link: Link) -> str:
    """Name and figures of a link, in words."""
    unit = heat.time_unit
    parts = [] if link.messages is None else [f"{link.messages:,} messages"]
    parts.append(f"{link.bytes:,} bytes")
    for word, time in (("busy", link.busy), ("waited for", link.wait)):
        share = f" ({100 * time / heat.whole:.2f} % of the run)" if heat.run else ""
        parts.append(f"{word} {length(time, unit)}{share}")
    return f"{link.name}: {', '.join(parts)}"


def _between(heat: HeatMap, place: _Place, row: int, column: int) -> list[str]:
    """The links that lead from a core to its neighbours."""
    drawn = []
    size = _gap - 2 * _air
    for what in directions:
        link = heat.link(row, column, what)
        if link is None:
            continue
        ax, ay = _along[what]
        x, y = place.middle(row, column)
        # What leads over the edge is drawn where it arrives: beyond the last row or column.
        if what == "west" and column == 0:
            x += _pitch * heat.mesh.columns
        if what == "north" and row == 0:
            y += _pitch * heat.mesh.rows
        far = _side / 2 + _air
        start = (x + ax * far + ay * _lane, y + ay * far - ax * _lane)
        drawn.append(svg.group("link", _tip(heat, link),
                               [_shape(_arrow(start, (ax, ay), size), link, heat)]))
    return drawn


def _triangle(at: svg.Point, points_down: bool) -> list[svg.Point]:
    """A mark in a core: down is into it, up is out of it."""
    x, y = at
    tip, base = (y + 6, y - 5) if points_down else (y - 6, y + 5)
    return [(x - 5.5, base), (x + 5.5, base), (x, tip)]


def _marks(heat: HeatMap) -> list[str]:
    """What is shown in cores, if it is known; engines only if one of them has sent something."""
    there = {place[2] for place in heat.mesh.links}
    used = {place[2] for place, link in heat.mesh.links.items() if not link.is_idle}
    always = (inward, outward[0])
    return [what for what in (inward, *outward) if what in (there if what in always else used)]


def _draw_core(heat: HeatMap, place: _Place, row: int, column: int,
               marks: list[str]) -> list[str]:
    x, y = place.middle(row, column)
    rank = row * heat.mesh.columns + column
    drawn = [svg.group("core", f"rank {rank}: row {row}, column {column}", [
        svg.box((x - _side / 2, y - _side / 2), _side, _side, _core),
        svg.text((x, y - 4), str(rank), size=13, anchor="middle", colour=_words)])]
    wide = min(20.0, (_side - 2) / max(len(marks), 1))
    for number, what in enumerate(marks):
        link = heat.link(row, column, what)
        if link is None:
            continue
        at = (x + wide * (number - (len(marks) - 1) / 2), y + 13)
        drawn.append(svg.group("link", _tip(heat, link),
                               [_shape(_triangle(at, what == inward), link, heat)]))
    return drawn


# --- the legend -----------------------------------------------------------------------------------


def _scale(heat: HeatMap, left: float, top: float) -> list[str]:
    """A box for each step with the percentages between them."""
    wide, high = _swatch
    drawn = [svg.box((left + wide * step, top), wide - 1, high, colour)
             for step, colour in enumerate(colours)]
    for bound in range(0, len(colours) + 1, 2):
        value = heat.top * bound / len(colours)
        drawn.append(svg.text((left + wide * bound, top + high + 14), f"{value:g}",
                              anchor="middle", colour=_words))
    drawn.append(svg.text((left + wide * len(colours) + 24, top + high - 2), heat.unit,
                          colour=_words))
    return drawn


def _key(heat: HeatMap, left: float, top: float, marks: list[str]) -> list[str]:
    """What forms mean."""
    drawn = [_shape(_arrow((left, top), (1, 0), 30), None, heat),
             svg.text((left + 36, top + 4), "no messages", colour=_quiet)]
    x = left + 132
    for what in marks:
        drawn += [_filled(_triangle((x, top), what == inward)),
                  svg.text((x + 10, top + 4), what, colour=_quiet)]
        x += 36 + svg.text_width(what)
    if any(heat.is_closed):
        words = "beyond the last row and column: links to the first"
        drawn.append(svg.text((left, top + _line + 4), words, colour=_quiet))
    return drawn


def _filled(corners: list[svg.Point]) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    return f'<path d="M{path}Z" fill="{_quiet}"/>'


def draw(heat: HeatMap, command: str) -> str:
    """The SVG's text; equal arguments give equal text.

    @param command line that makes the picture, shown in it.
    """
    rows, columns = heat.mesh.rows, heat.mesh.columns
    closed_across, closed_down = heat.is_closed
    marks = _marks(heat)
    map_width = _pitch * columns - _gap * (not closed_across)
    map_height = _pitch * rows - _gap * (not closed_down)
    scale_width = _swatch[0] * len(colours) + 34 + svg.text_width(heat.unit)
    widest = max(map_width, scale_width)
    title_top = _margin + 12
    lines = [heat.explanation, heat.summit]
    width = max(widest + 2 * _inset, svg.text_width(heat.title, 16),
                *(svg.text_width(each, 12) for each in lines), svg.text_width(command, mono=True))
    panel_top = title_top + 66
    panel_height = _inset + map_height + 26 + _under + _line * any(heat.is_closed)
    place = _Place(_margin + (width - map_width) / 2 + _side / 2, panel_top + _inset + _side / 2)
    legend_top = panel_top + _inset + map_height + 26
    legend_left = _margin + max(_inset, (width - scale_width) / 2)
    cores = [(row, column) for row in range(rows) for column in range(columns)]
    parts = [
        svg.text((_margin, title_top), heat.title, size=16, bold=True),
        *(svg.text((_margin, title_top + 19 + 16 * number), each, size=12)
          for number, each in enumerate(lines)),
        svg.text((_margin, title_top + 52), command, colour=svg.faint, mono=True),
        svg.box((_margin, panel_top), width, panel_height, _panel),
        *(part for core in cores for part in _between(heat, place, *core)),
        *(part for core in cores for part in _draw_core(heat, place, *core, marks)),
        *_scale(heat, legend_left, legend_top),
        *_key(heat, legend_left, legend_top + 46, marks),
    ]
    return svg.document(width + 2 * _margin, panel_top + panel_height + _margin, heat.title, parts)
