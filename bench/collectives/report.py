# SPDX-License-Identifier: Apache-2.0
"""From the rows of all rounds to tables: what `bench/run_collectives` tells."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from collectives.peers import all_peers
from collectives.plan import operations
from report import Spread, near_ns, ratio_text, spread, time_text

Row = dict[str, Any]
Goal = dict[str, Any]
Times = dict[int, float]  # of each round

peer_names = [peer.name for peer in all_peers]


@dataclass
class Contest:
    """One operation by so many ranks: Selion's machines, peers, and limits written by hand."""

    operation: str
    ranks: int
    selion: dict[str, Times] = field(default_factory=dict)
    peers: dict[str, Times] = field(default_factory=dict)
    limits: dict[str, Times] = field(default_factory=dict)

    def machines(self) -> list[tuple[str, Times]]:
        """Threads first; data in symmetric memory after data elsewhere."""
        return sorted(self.selion.items(),
                      key=lambda item: (not item[0].startswith("threads"), item[0]))


def median(times: Times) -> float:
    return statistics.median(times.values())


def best(own: Times, others: dict[str, Times]) -> str | None:
    """Of those that were measured in a round with Selion, the one whose median is least."""
    present = [name for name, times in others.items() if own.keys() & times.keys()]
    return min(present, key=lambda name: median(others[name]), default=None)


def ratio(own: Times, other: Times) -> Spread | None:
    """Within rounds. None where no round has both."""
    both = [own[turn] / other[turn] for turn in own if turn in other]
    return spread(both) if both else None


def distance(row: Row) -> str:
    """How far apart the cores stood before and after: a virtual machine's move."""
    signals = [ns for ns in row["signal_ns"] if ns is not None]
    if not signals:
        return "unknown"
    are_near = {ns < near_ns for ns in signals}
    return "moved" if len(are_near) == 2 else "near" if are_near == {True} else "far"


def comparable(rows: list[Row]) -> tuple[list[Row], str]:
    """The rows of the distance that most have, and a sentence about it. Those during which the
    cores moved are of no one distance, and can be compared with nothing."""
    counted = Counter(distance(row) for row in rows)
    moved = counted.pop("moved", 0)
    if moved and not counted:
        return [], (f"moved during each of {len(rows)} rows, which can be compared with nothing; "
                    "no goal is judged")
    kept, count = max(counted.items(), key=lambda item: item[1], default=("unknown", 0))
    text = f"{kept} ({count} of {len(rows)} rows; the others are left out)"
    return [row for row in rows if distance(row) == kept], text


def _limited_by(row: Row) -> list[str]:
    """The operations that a hand-written one bounds."""
    name = row["operation"]
    if name.startswith("copy "):
        size = name.removeprefix("copy ")
        return [f"broadcast {size}", f"all_reduce {size}"]
    if name == "signal":
        return [operation for operation in operations if operation.endswith(" 8 B")]
    return [name]


def contests(rows: Iterable[Row]) -> list[Contest]:
    """Those that Selion took part in."""
    found: dict[tuple[int, str], Contest] = {}

    def at(operation: str, row: Row) -> Contest:
        return found.setdefault((row["ranks"], operation), Contest(operation, row["ranks"]))

    for row in rows:
        name, turn, ns = row["contestant"], row["round"], row["typical_ns"]
        if row["is_selion"]:
            at(row["operation"], row).selion.setdefault(name, {})[turn] = ns
        elif name in peer_names:
            at(row["operation"], row).peers.setdefault(name, {})[turn] = ns
        else:
            for operation in _limited_by(row):
                at(operation, row).limits.setdefault(name, {})[turn] = ns
    order = {operation: place for place, operation in enumerate(operations)}
    return sorted((one for one in found.values() if one.selion),
                  key=lambda one: (one.ranks, order[one.operation]))


def _ratio_cell(own: Times, others: dict[str, Times]) -> str:
    name = best(own, others)
    share = ratio(own, others[name]) if name is not None else None
    return "" if share is None else f"{ratio_text(share)} of {name}"


def _time_cell(times: Times | None) -> str:
    return time_text(median(times)) if times else ""


def peer_table(all_contests: list[Contest], ranks: int) -> list[str]:
    """One line for each operation and machine."""
    chosen = [one for one in all_contests if one.ranks == ranks]
    present = [name for name in peer_names if any(name in one.peers for one in chosen)]
    columns = ["operation", "machine", "Selion", *present, "Selion's share of the best peer's time"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for one in chosen:
        for machine, own in one.machines():
            cells = [one.operation, machine, _time_cell(own),
                     *(_time_cell(one.peers.get(name)) for name in present),
                     _ratio_cell(own, one.peers)]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def limit_table(all_contests: list[Contest]) -> list[str]:
    """Against the quickest that does what cannot be left out."""
    lines = ["| operation | machine | Selion | by hand | its time | ratio (p5 to p95, n) |",
             "|---|---|---|---|---|---|"]
    for one in all_contests:
        for machine, own in one.machines():
            name = best(own, one.limits)
            if name is not None:
                share = ratio(own, one.limits[name])
                lines.append(f"| {one.operation} | {machine} | {_time_cell(own)} | {name} | "
                             f"{_time_cell(one.limits[name])} | {ratio_text(share)} |")
    return lines


def _judged(own: Times, goal: Goal, one: Contest) -> tuple[str, str, bool] | None:
    """What was measured, the goal, whether it is met. None where nothing was there to compare."""
    asked = (("most_of_peer", one.peers), ("most_of_limit", one.limits))
    found = [(_ratio_cell(own, others), goal[key], ratio(own, others[best(own, others)]))
             for key, others in asked if key in goal and best(own, others) is not None]
    if not found:
        return None
    return (" or ".join(text for text, _, _ in found),
            " or ".join(str(most) for _, most, _ in found),
            any(share.median <= most for _, most, share in found))


def goal_table(all_contests: list[Contest], goals: list[Goal]) -> list[str]:
    lines = ["| operation | machine | Selion's share (p5 to p95, n) | at most | met |",
             "|---|---|---|---|---|"]
    for one in all_contests:
        for goal in goals:
            if one.operation not in goal["operations"] or one.ranks != goal["ranks"]:
                continue
            for machine, own in one.machines():
                judged = _judged(own, goal, one)
                if judged is None or not machine.startswith(goal.get("kind", "")):
                    continue
                measured, most, is_met = judged
                lines.append(f"| {one.operation} | {machine} | {measured} | {most} | "
                             f"{'yes' if is_met else '**no**'} |")
    return lines


def signal_line(rows: list[Row]) -> str:
    """A bare signal in each round, least and most: about 50 ns where the two processors share a
    core, 150 to 250 where they do not."""
    rounds: dict[int, list[float]] = {}
    for row in rows:
        rounds.setdefault(row["round"], []).extend(ns for ns in row["signal_ns"] if ns is not None)
    return "; ".join(f"{time_text(statistics.median(all_ns))} ({min(all_ns):.0f} to "
                     f"{max(all_ns):.0f})" for all_ns in rounds.values() if all_ns) or "unknown"
