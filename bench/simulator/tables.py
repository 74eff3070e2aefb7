# SPDX-License-Identifier: Apache-2.0
"""Figures as Markdown: goals and whether they are met, rivals, and how time grows with size."""

from __future__ import annotations

import math
from typing import Any

from simulator.figures import Figure, Spread

Goal = dict[str, Any]


def _spread_text(figure: Figure, values: Spread) -> str:
    text = figure.metric.text
    return f"{text(values.median)} ({text(values.p5)} to {text(values.p95)}, {values.n})"


def _ordered(all_figures: list[Figure]) -> list[Figure]:
    return sorted(all_figures, key=lambda each: (each.name, each.ranks))


def _yes_or_no(is_met: bool) -> str:
    return "yes" if is_met else "**no**"


def _bounded(figure: Figure, goal: Goal) -> list[str]:
    """Bound and verdict."""
    if "least" in goal:
        return [f"at least {figure.metric.text(goal['least'])}",
                _yes_or_no(figure.own.median >= goal["least"])]
    return [f"at most {figure.metric.text(goal['most'])}",
            _yes_or_no(figure.own.median <= goal["most"])]


def growth(curve: list[Figure]) -> list[float]:
    """How many times faster than the logarithm of its size each point of a curve has grown, from
    the first point on. Of the times with a processor to itself: a curve is to show what the size
    does, not who else was there."""
    first = curve[0]
    unit = first.quiet() / math.log(first.ranks)
    return [point.quiet() / math.log(point.ranks) / unit for point in curve]


def goal_table(all_figures: list[Figure], goals: list[Goal]) -> list[str]:
    lines = ["| figure | size | Selion (p5 to p95, n) | with a processor to itself | goal | met |",
             "|---|---|---|---|---|---|"]
    for goal in goals:
        matching = [each for each in _ordered(all_figures) if each.name == goal["figure"]
                    and goal.get("ranks", each.ranks) == each.ranks]
        if "most_growth" in goal:
            if len(matching) > 1:
                worst = max(growth(matching))
                sizes = f"{matching[0].ranks:,} to {matching[-1].ranks:,}"
                lines.append(f"| {goal['figure']}, growth over log | {sizes} | {worst:.2f} | | "
                             f"at most {goal['most_growth']} | "
                             f"{_yes_or_no(worst <= goal['most_growth'])} |")
            continue
        for each in matching:
            cells = [each.name, f"{each.ranks:,}", _spread_text(each, each.own),
                     each.metric.text(each.quiet()), *_bounded(each, goal)]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def rival_table(all_figures: list[Figure]) -> list[str]:
    """One line for each rival of each figure, also where it could not run. All with a processor to
    itself."""
    lines = ["| figure | size | Selion | rival | its figure | Selion's share (p5 to p95, n) |",
             "|---|---|---|---|---|---|"]
    for each in _ordered(all_figures):
        start = f"| {each.name} | {each.ranks:,} | {each.metric.text(each.quiet())} "
        rivals = sorted(name for name in each.values if name != "selion")
        for rival in rivals:
            share = each.ratios(rival)
            lines.append(f"{start}| {rival} | {each.metric.text(each.quiet(rival))} "
                         f"| {share.median:.3f} "
                         f"({share.p5:.3f} to {share.p95:.3f}, {share.n}) |")
        lines += [f"{start}| {rival} | {trouble} | |"
                  for rival, trouble in each.troubles.items() if rival not in rivals]
    return lines


def full_table(all_figures: list[Figure]) -> list[str]:
    lines = ["| figure | size | Selion (p5 to p95, n) | with a processor to itself |",
             "|---|---|---|---|"]
    return lines + [
        f"| {each.name} | {each.ranks:,} | {_spread_text(each, each.own)} | "
        f"{each.metric.text(each.quiet())} |" for each in _ordered(all_figures)]
