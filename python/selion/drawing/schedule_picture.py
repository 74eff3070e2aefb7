# SPDX-License-Identifier: Apache-2.0
"""Schedules as pictures: a tree if a schedule is one, else its rounds one below another."""

from __future__ import annotations

from selion.drawing import schedule_text, svg
from selion.drawing.schedule_tree import Tree, draw_tree, find_tree
from selion.drawing.schedule_words import colour_of, legend_of, tip_of
from selion.schedules import Played

_margin = 24.0
_radius = 13.0
_narrowest = 44.0  # of the columns
_names = 66.0  # room for "round 12" on the left
_words = 26.0  # from the top of a round to where its arrows begin
_below = 8.0  # from the tips to the end of the round
_bands = ("#f3f5f7", "#ffffff")


def _word(played: Played, blocks_of: int) -> str:
    message = played.messages[blocks_of]
    return schedule_text.blocks_text(played.request, played.blocks, message.blocks, most=1)


def _fall(played: Played, column: float) -> float:
    """How far arrows go down in a round, so that the longest is not too flat."""
    longest = max(abs(each.source - each.target) for each in played.messages)
    return min(max(46.0, 0.2 * longest * column), 180.0)


def _draw_rounds(played: Played) -> tuple[list[str], float, float]:
    """A column for each rank; in each round an arrow falls from who sends to who receives."""
    ranks = played.request.ranks
    words = [_word(played, place) for place in range(len(played.messages))]
    column = max(_narrowest, max(map(svg.text_width, words)) + 10)
    fall = _fall(played, column)
    high = _words + fall + _below
    top = 2 * _radius + 12
    bottom = top + high * played.rounds
    width = _names + ranks * column

    def x(rank: int) -> float:
        return _names + (rank + 0.5) * column

    drawn = [svg.box((0, top + high * number), width, high, _bands[number % 2])
             for number in range(played.rounds)]
    drawn += [svg.line((x(rank), top - 8), (x(rank), bottom + 8), "#c4c8cc")
              for rank in range(ranks)]
    drawn += [svg.text((6, top + high * (number + 0.5) + 4), f"round {number}", colour=svg.faint)
              for number in range(played.rounds)]
    for message, word in zip(played.messages, words, strict=True):
        y = top + high * message.round
        start, end = (x(message.source), y + _words), (x(message.target), y + _words + fall)
        colour = colour_of(message)
        parts = [svg.arrow(start, end, colour), svg.dot(start, colour)]
        if word:
            wide = svg.text_width(word) + 4
            parts += [svg.box((start[0] - wide / 2, y + 6), wide, 14, _bands[message.round % 2]),
                      svg.text((start[0], y + 17), word, anchor="middle", colour=colour)]
        drawn.append(svg.group("message", tip_of(played, message), parts))
    for y in (_radius + 2, bottom + _radius + 10):
        drawn.append(svg.text((6, y + 4), "rank", colour=svg.faint))
        drawn += [svg.disc((x(rank), y), _radius, str(rank)) for rank in range(ranks)]
    return drawn, width, bottom + 2 * _radius + 12


def _notes(played: Played, tree: Tree | None) -> list[str]:
    """What else has to be known to read a picture."""
    notes = []
    if tree and played.messages:
        differ = len({each.blocks for each in played.messages}) > 1
        both = len(played.messages) > len(tree.links)
        notes.append("circles: ranks; on a link: " + ("round: blocks" if differ else "the round")
                     + (", of the way up and then of the way down" if both else ""))
    if played.request.collective == "exchange":
        notes.append("block 0>3: what rank 0 has for rank 3")
    if any(len(each.blocks) > 1 for each in played.messages):
        notes.append("which blocks: shown where the pointer rests")
    return notes


def _legend(played: Played, tree: Tree | None) -> tuple[list[str], list[str]]:
    """Lines with an arrow before them, and the words of all."""
    drawn, words = [], []
    for place, (colour, meaning) in enumerate(legend_of(played)):
        y = 18.0 * place
        drawn += [svg.arrow((0, y), (30, y), colour), svg.text((38, y + 4), meaning)]
        words.append("      " + meaning)
    for note in _notes(played, tree):
        drawn.append(svg.text((0, 18.0 * len(words) + 4), note, colour=svg.faint))
        words.append(note)
    return drawn, words


def _moved(parts: list[str], x: float, y: float) -> str:
    return "\n".join([f'<g transform="translate({x:.1f} {y:.1f})">', *parts, "</g>"])


def draw(played: Played, command: str) -> str:
    """The SVG's text; equal arguments give equal text.

    @param command line that makes the picture, shown in it.
    """
    tree = find_tree(played)
    body, width, height = draw_tree(played, tree) if tree else _draw_rounds(played)
    title, numbers = schedule_text.title(played.request), schedule_text.numbers(played)
    legend, legend_words = _legend(played, tree)
    widest = max(width, svg.text_width(title, 16), svg.text_width(numbers, 12),
                 svg.text_width(command, mono=True), *map(svg.text_width, legend_words or [""]))
    body_top = _margin + 68
    legend_top = body_top + height + 26
    parts = [
        svg.text((_margin, _margin + 10), title, size=16, bold=True),
        svg.text((_margin, _margin + 29), numbers, size=12),
        svg.text((_margin, _margin + 46), command, colour=svg.faint, mono=True),
        _moved(body, _margin + (widest - width) / 2, body_top),
        _moved(legend, _margin, legend_top),
    ]
    bottom = legend_top + 18 * max(len(legend_words) - 1, 0) + _margin
    return svg.document(widest + 2 * _margin, bottom, title, parts)
