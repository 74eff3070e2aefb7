# SPDX-License-Identifier: Apache-2.0
"""How much each link of a mesh is used, as a map of characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from selion.meter_file import Link, Mesh, Recorded, inward, mesh_of, outward
from selion.mistake import Mistake, listing

kinds = ("load", "wait")
# From little to much: every step is lighter than the one before, for every kind of eyes.
colours = ("#5b4aa0", "#4f63a8", "#3d7aa6", "#2f8fa0", "#2aa393", "#3fb57c", "#6bc75f", "#a0d83c",
           "#d4e127", "#fdf27a")  # fmt: skip

_shades = "░▒▓█"
_idle = "·"
_most_columns_wide = 8  # of 12 characters
_most_columns_medium = 16  # of 6 characters
_most_cores = 16_384
_tops = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)  # with tenths that are easy to read


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The links of a mesh with a figure for each."""

    mesh: Mesh
    by: str
    """"load": how long something was on a link; "wait": how long messages waited for it."""
    run: str
    """Length of the run in words; "" where nobody has written it down."""
    time_unit: str
    """Of the times of links: "ps" or "ticks"."""
    whole: float
    """What is 100 percent: the run or, where nobody knows its length, the largest figure."""
    top: float
    """Percent at the end of the scale: a round number, not below any link's."""

    @property
    def is_too_large(self) -> bool:
        """Whether nobody would see anything."""
        return self.mesh.rows * self.mesh.columns > _most_cores

    def link(self, row: int, column: int, what: str) -> Link | None:
        return self.mesh.links.get((row, column, what))

    def percent(self, link: Link) -> float:
        return 100 * _figure(link, self.by) / self.whole

    def step(self, link: Link, steps: int) -> int:
        """Which of so many steps of the scale, from 0."""
        return min(int(self.percent(link) / self.top * steps), steps - 1)

    @property
    def unit(self) -> str:
        if self.run:
            return "percent of the run"
        return f"percent of the {'busiest link' if self.by == 'load' else 'longest wait'}"

    @property
    def title(self) -> str:
        what = "load of links" if self.by == "load" else "waiting for links"
        return f"{what}, mesh of {self.mesh.rows} x {self.mesh.columns} cores"

    @property
    def explanation(self) -> str:
        """What is shown, and in which unit."""
        what = "time with a message on the link"
        if self.by == "wait":
            what = "time that messages waited for the link, summed" if self.time_unit == "ps" else \
                "time with a message that waited for the link"
        length = f" ({self.run})" if self.run else ""
        return f"{what}, in {self.unit}{length}"

    @property
    def summit(self) -> str:
        """The link that has most."""
        most = max(self.mesh.links.values(), key=self.percent)
        return f"most: {most.name}, {self.percent(most):.1f} %"

    @property
    def is_closed(self) -> tuple[bool, bool]:
        """Whether links lead from the last column to the first, and from the last row."""
        last_row, last_column = self.mesh.rows - 1, self.mesh.columns - 1
        ends = self.mesh.links
        return (any((row, last_column, "east") in ends or (row, 0, "west") in ends
                    for row in range(self.mesh.rows)),
                any((last_row, column, "south") in ends or (0, column, "north") in ends
                    for column in range(self.mesh.columns)))  # fmt: skip


def _figure(link: Link, by: str) -> float:
    return link.busy if by == "load" else link.wait


def _round_top(most: float) -> float:
    """The round number that is `most` or the next above it; 1 for 0."""
    if most <= 0:
        return 1
    power = 1e-3
    while True:
        for top in _tops:
            if most <= top * power * (1 + 1e-9):
                return top * power
        power *= 10


def length(time: float, unit: str) -> str:
    """A length of time in words. @param unit "ps" or "ticks"."""
    if unit != "ps":
        return f"{time:,.10g} {unit}"
    for name, size in (("s", 1e12), ("ms", 1e9), ("µs", 1e6), ("ns", 1e3)):
        if time >= size:
            return f"{time / size:.4g} {name}"
    return f"{time:g} ps"


def check_kind(by: str) -> None:
    """@error Mistake if a map cannot show it."""
    if by not in kinds:
        raise Mistake(f"--by is '{by}'; legal are {listing(kinds)}.")


def make(recorded: Recorded, by: str) -> HeatMap | None:
    """@param by one of `kinds`. @return None if there are no links of a mesh."""
    mesh = mesh_of(recorded.links)
    if mesh is None:
        return None
    most = max(_figure(link, by) for link in mesh.links.values())
    whole = recorded.run or most or 1
    run = length(recorded.run, recorded.unit) if recorded.run else ""
    return HeatMap(mesh, by, run, recorded.unit, whole, _round_top(100 * most / whole))


# --- characters -----------------------------------------------------------------------------------


class _Brush:
    """Draws figures as shades or, in a terminal, in colour."""

    def __init__(self, heat: HeatMap, in_colour: bool) -> None:
        self._heat = heat
        self._in_colour = in_colour

    def mark(self, step: int, width: int) -> str:
        if not self._in_colour:
            return _shades[step] * width
        red, green, blue = (int(colours[step][at : at + 2], 16) for at in (1, 3, 5))
        return f"\x1b[38;2;{red};{green};{blue}m{'█' * width}\x1b[0m"

    @property
    def steps(self) -> int:
        return len(colours) if self._in_colour else len(_shades)

    def links(self, links: Sequence[Link | None], width: int) -> str:
        """The one with most to show; blank if there is none."""
        there = [link for link in links if link is not None]
        if not there:
            return " " * width
        used = [link for link in there if not link.is_idle]
        if not used:
            return _idle * width
        return self.mark(self._heat.step(max(used, key=self._heat.percent), self.steps), width)

    def lane(self, link: Link | None, width: int, form: str) -> str:
        """@param form where the mark stands among other characters: "{}→"."""
        return form.format(self.links([link], width)) if link else " " * (width + len(form) - 2)

    def scale(self) -> str:
        bounds = [self._heat.top * (step + 1) / self.steps for step in range(self.steps)]
        words = "  ".join(f"{self.mark(step, 1)} {bound:g}" for step, bound in enumerate(bounds))
        return f"up to {words} %  {_idle} no messages"


def _wide_row(heat: HeatMap, brush: _Brush, row: int) -> list[str]:
    """Three lines: cores with links east, links west below them, links north and south."""
    above, below, gap = "", "", ""
    for column in range(heat.mesh.columns):
        right = (column + 1) % heat.mesh.columns
        down = (row + 1) % heat.mesh.rows
        out = [heat.link(row, column, what) for what in outward]
        above += f"[{row * heat.mesh.columns + column:^5}]"
        above += brush.lane(heat.link(row, column, "east"), 2, " {}→ ")
        below += f"[{brush.links([heat.link(row, column, inward)], 2)} {brush.links(out, 2)}]"
        below += brush.lane(heat.link(row, right, "west"), 2, " ←{} ")
        gap += brush.lane(heat.link(down, column, "north"), 2, "{}↑ ")
        gap += brush.lane(heat.link(row, column, "south"), 2, "↓{}") + " " * 5
    return [above, below, gap]


def _medium_row(heat: HeatMap, brush: _Brush, row: int) -> list[str]:
    """The same in half the width."""
    above, below, gap = f"{row * heat.mesh.columns:>4} ", " " * 5, " " * 5
    for column in range(heat.mesh.columns):
        right = (column + 1) % heat.mesh.columns
        down = (row + 1) % heat.mesh.rows
        out = [heat.link(row, column, what) for what in outward]
        above += brush.links([heat.link(row, column, inward)], 1) + brush.links(out, 1)
        above += brush.lane(heat.link(row, column, "east"), 1, " {}→ ")
        below += brush.lane(heat.link(row, right, "west"), 1, "   ←{} ")
        gap += brush.links([heat.link(down, column, "north")], 1)
        gap += brush.links([heat.link(row, column, "south")], 1) + " " * 4
    return [above, below, gap]


def _narrow_row(heat: HeatMap, brush: _Brush, row: int) -> list[str]:
    """A character for each core."""
    words = f"{row * heat.mesh.columns:>6} "
    for column in range(heat.mesh.columns):
        own = [heat.link(row, column, what)
               for what in ("east", "south", "west", "north", inward, *outward)]
        words += brush.links(own, 1)
    return [words]


def lines(heat: HeatMap, in_colour: bool) -> list[str]:
    """The map with its title and its legend; at most 100 characters wide up to 93 columns of cores.

    @param in_colour with the codes of a terminal that knows all colours.
    """
    brush = _Brush(heat, in_colour)
    if heat.mesh.columns <= _most_columns_wide:
        draw = _wide_row
        key = ["in a core: its rank; below it left what came into it, right what came from it",
               "between cores: → east  ← west  ↑ north  ↓ south"]
    elif heat.mesh.columns <= _most_columns_medium:
        draw = _medium_row
        key = ["a core: left what came into it, right what came from it",
               "between cores: → east  ← west, below a core left north, right south"]
    else:
        draw = _narrow_row
        key = ["a character for each core: the busiest of its links" if heat.by == "load" else
               "a character for each core: that of its links which was waited for most"]
    body = [line.rstrip() for row in range(heat.mesh.rows) for line in draw(heat, brush, row)]
    while body and not body[-1]:
        body.pop()
    if any(heat.is_closed):
        key.append("beyond the last row and column: links to the first")
    return [heat.title, heat.explanation, heat.summit, "", *body, "", *key, brush.scale()]
