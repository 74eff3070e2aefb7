# SPDX-License-Identifier: Apache-2.0
"""Schedules that are trees: which are, where their ranks stand, and what they look like."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from selion.drawing import schedule_text, svg
from selion.drawing.schedule_words import colour_of, tip_of
from selion.schedules import Played, PlayedMessage

_radius = 14.0
_spacing = (44.0, 64.0)  # of leaves: with one message on a link, with two
_level = 92.0  # at least so much from a level to the next
_slope = (0.45, 0.6)  # of the flattest link: with one message, with two
_badge_height = 13.0
_badge_above = 30.0  # of a rank's centre to the lower edge of the words on its link


@dataclass
class Tree:
    """The messages between a rank and its parent, by rank; the one upwards comes first."""

    root: int
    parent: dict[int, int]
    links: dict[int, list[PlayedMessage]]
    children: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def preorder(self) -> list[int]:
        order, stack = [], [self.root]
        while stack:
            rank = stack.pop()
            order.append(rank)
            stack += reversed(self.children[rank])
        return order


def _tree_of(messages: Sequence[PlayedMessage], ranks: int, upwards: bool) -> Tree | None:
    """The tree that messages of one direction make, one for each rank but the root."""
    links = {each.source if upwards else each.target: [each] for each in messages}
    if len(messages) != ranks - 1 or len(links) != ranks - 1:
        return None
    root = next(rank for rank in range(ranks) if rank not in links)
    tree = Tree(root, {}, links)
    for child in sorted(links, key=lambda rank: (rank - root) % ranks):
        message = links[child][0]
        tree.parent[child] = message.target if upwards else message.source
        tree.children[tree.parent[child]].append(child)
    return tree if len(tree.preorder()) == ranks else None


def _there_and_back(messages: Sequence[PlayedMessage], ranks: int) -> Tree | None:
    """A way up, and the same way down."""
    first: dict[tuple[int, int], PlayedMessage] = {}
    back: dict[tuple[int, int], PlayedMessage] = {}
    for message in messages:
        answered = first.get((message.target, message.source))
        if answered and answered.round < message.round:
            back[message.target, message.source] = message
        else:
            first[message.source, message.target] = message
    if len(messages) != 2 * (ranks - 1) or first.keys() != back.keys():
        return None
    tree = _tree_of(list(first.values()), ranks, upwards=True)
    if tree:
        for (child, _), message in back.items():
            tree.links[child].append(message)
    return tree


def find_tree(played: Played) -> Tree | None:
    """The tree along which all messages go, if there is one: down, up, or up and down again."""
    ranks = played.request.ranks
    if played.request.collective in ("reduce", "gather"):
        return _tree_of(played.messages, ranks, upwards=True)
    return _tree_of(played.messages, ranks, upwards=False) or _there_and_back(
        played.messages, ranks)


@dataclass
class _Layout:
    places: dict[int, svg.Point]
    width: float
    height: float


def _label_lines(played: Played, tree: Tree, rank: int) -> list[tuple[str, str]]:
    """The words on a rank's link with their colours: the round, and blocks where they differ."""
    blocks_differ = len({each.blocks for each in played.messages}) > 1
    lines = []
    for message in tree.links[rank]:
        words = schedule_text.blocks_text(played.request, played.blocks, message.blocks, most=2)
        plain = words.removeprefix("blocks ").removeprefix("block ")
        lines.append((f"{message.round}: {plain}" if blocks_differ else f"{message.round}",
                      colour_of(message)))
    return lines


def _lay_out(tree: Tree, widest_label: float, label_lines: int) -> _Layout:
    """Leaves side by side in the order of ranks, all others above the middle of their children."""
    order = tree.preorder()
    depth = {tree.root: 0}
    for rank in order[1:]:
        depth[rank] = depth[tree.parent[rank]] + 1
    label_top = _badge_above + label_lines * _badge_height
    level = max(_level, label_top + _radius + 16)
    spacing = max(_spacing[label_lines - 1], (widest_label + 6) / (1 - label_top / level))
    leaves = [rank for rank in order if not tree.children[rank]]
    x = {rank: place * spacing for place, rank in enumerate(leaves)}
    for rank in reversed(order):
        if below := tree.children[rank]:
            x[rank] = (x[below[0]] + x[below[-1]]) / 2
    gaps: dict[int, float] = defaultdict(lambda: level)
    for rank in order[1:]:
        across = abs(x[rank] - x[tree.parent[rank]])
        gaps[depth[rank]] = max(gaps[depth[rank]], _slope[label_lines - 1] * across)
    y = {0: 0.0}
    for number in range(1, max(depth.values()) + 1):
        y[number] = y[number - 1] + gaps[number]
    places = {rank: (x[rank], y[depth[rank]]) for rank in order}
    return _Layout(places, (len(leaves) - 1) * spacing, max(y.values()))


def _link(layout: _Layout, tree: Tree, rank: int, played: Played) -> list[str]:
    """Arrows between a rank and its parent; two lie side by side."""
    (x0, y0), (x1, y1) = layout.places[tree.parent[rank]], layout.places[rank]
    length = math.hypot(x1 - x0, y1 - y0)
    along = ((x1 - x0) / length, (y1 - y0) / length)
    messages = tree.links[rank]
    drawn = []
    for place, message in enumerate(messages):
        aside = 4.0 * (2 * place - 1) if len(messages) > 1 else 0.0
        shift = (aside * along[1], -aside * along[0])
        reach = math.sqrt(_radius**2 - aside**2) + 1
        top = (x0 + reach * along[0] + shift[0], y0 + reach * along[1] + shift[1])
        bottom = (x1 - reach * along[0] + shift[0], y1 - reach * along[1] + shift[1])
        ends = (top, bottom) if message.target == rank else (bottom, top)
        drawn.append(svg.group("message", tip_of(played, message),
                               [svg.arrow(*ends, colour_of(message))]))
    return drawn


def _badge(layout: _Layout, tree: Tree, rank: int, lines: Sequence[tuple[str, str]]) -> list[str]:
    """The words on a link, above its rank."""
    (x0, y0), (x1, y1) = layout.places[tree.parent[rank]], layout.places[rank]
    height = _badge_height * len(lines)
    above = _badge_above + height / 2
    x = x1 + (x0 - x1) * above / (y1 - y0)
    top = y1 - _badge_above - height
    width = max(svg.text_width(words) for words, _ in lines) + 4
    drawn = [svg.box((x - width / 2, top - 1), width, height + 2, "white")]
    for place, (words, colour) in enumerate(lines):
        drawn.append(svg.text((x, top + 10 + place * _badge_height), words, anchor="middle",
                              colour=colour))
    return drawn


def draw_tree(played: Played, tree: Tree) -> tuple[list[str], float, float]:
    """What is drawn, its width and height; the root stands at the top."""
    labels = {rank: _label_lines(played, tree, rank) for rank in tree.links}
    widest = max((svg.text_width(words) for lines in labels.values() for words, _ in lines),
                 default=0.0)
    layout = _lay_out(tree, widest, max(map(len, labels.values()), default=1))
    layout.places = {rank: (x + _radius + 2, y + _radius + 2)
                     for rank, (x, y) in layout.places.items()}
    order = tree.preorder()
    drawn = []
    for rank in order[1:]:
        drawn += _link(layout, tree, rank, played)
    for rank in order[1:]:
        drawn += _badge(layout, tree, rank, labels[rank])
    drawn += [svg.disc(layout.places[rank], _radius, str(rank), filled=rank == tree.root)
              for rank in order]
    return drawn, layout.width + 2 * _radius + 4, layout.height + 2 * _radius + 4
