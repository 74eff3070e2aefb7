# SPDX-License-Identifier: Apache-2.0
"""From rounds to ratios: what `bench/run` prints of what the programs measured."""

import re
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

Times = dict[tuple[int, int], float]  # by run and round of it

# A signal between two threads of one core takes about 60 ns, between two cores twice that or more.
near_ns = 100


@dataclass
class Contest:
    """All rounds of one operation on one machine, where the cores stand equally far apart."""

    operation: str
    machine: str
    distance: str  # "near", "far", or "" where it does not matter
    selion: Times = field(default_factory=dict)
    rivals: dict[str, Times] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.machine.split(":")[0]

    @property
    def ranks(self) -> int:
        found = re.search(r":(\d+)(?:x(\d+))?", self.machine)
        return int(found[1]) * int(found[2] or 1) if found else 0

    def ratios(self, rival: str) -> list[float]:
        """Of the rounds that both have."""
        others = self.rivals[rival]
        return [own / others[turn] for turn, own in self.selion.items() if turn in others]


@dataclass(frozen=True)
class Spread:
    """Median, 5th and 95th percentile."""

    median: float
    p5: float
    p95: float
    n: int


def spread(numbers: Iterable[float]) -> Spread:
    ordered = sorted(numbers)
    last = len(ordered) - 1
    return Spread(statistics.median(ordered), ordered[round(0.05 * last)],
                  ordered[round(0.95 * last)], len(ordered))


def contests(rows: list[dict]) -> list[Contest]:
    """Joins the lines of all runs, which are numbered where their rows do not say which one it was;
    rounds with near and with far cores become contests of their own."""
    found: dict[tuple[str, str, str], Contest] = {}
    runs: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        who = (row["operation"], row["machine"], row["contestant"])
        run = row.get("round", runs[who])
        runs[who] += 1
        signals = row.get("signal_ns")
        for index, ns in enumerate(row["ns"]):
            distance = ""
            if signals is not None:
                distance = "near" if signals[index] < near_ns else "far"
            key = (row["operation"], row["machine"], distance)
            contest = found.setdefault(key, Contest(*key))
            times = (contest.selion if row["is_selion"]
                     else contest.rivals.setdefault(row["contestant"], {}))
            times[run, index] = ns
    return [contest for contest in found.values() if contest.selion]


def best_rival(contest: Contest, names: list[str]) -> str | None:
    """Of those that were measured in a round with Selion."""
    present = [name for name in names if name in contest.rivals and contest.ratios(name)]
    return min(present, key=lambda name: statistics.median(contest.rivals[name].values()),
               default=None)


def matching(contest: Contest, goals: list[dict]) -> list[dict]:
    return [
        goal
        for goal in goals
        if goal["operation"] == contest.operation
        and goal.get("ranks", contest.ranks) == contest.ranks
        and goal.get("kind", contest.kind) == contest.kind
    ]


def time_text(ns: float) -> str:
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def place_text(contest: Contest) -> str:
    return contest.machine + (f", {contest.distance}" if contest.distance else "")


def ratio_text(ratio: Spread) -> str:
    return f"{ratio.median:.2f} ({ratio.p5:.2f} to {ratio.p95:.2f}, {ratio.n})"


def judge(contest: Contest, goal: dict) -> list[str] | None:
    """Cells of a goal's line: what was measured, the goal, and whether it is met. None where the
    rival was not there."""
    own = spread(contest.selion.values())
    if "most_ns" in goal:
        measured = (f"{time_text(own.median)} ({time_text(own.p5)} to {time_text(own.p95)}, "
                    f"{own.n})")
        return [measured, time_text(goal["most_ns"]),
                "yes" if own.median <= goal["most_ns"] else "**no**"]
    rival = best_rival(contest, goal["rivals"])
    if rival is None:
        return None
    ratio = spread(contest.ratios(rival))
    return [f"{ratio_text(ratio)} of {rival}", str(goal["most_ratio"]),
            "yes" if ratio.median <= goal["most_ratio"] else "**no**"]


def ordered(all_contests: list[Contest]) -> list[Contest]:
    return sorted(all_contests, key=lambda one: (one.ranks, one.operation, one.machine,
                                                 one.distance == "near"))


def goal_table(all_contests: list[Contest], goals: list[dict]) -> list[str]:
    lines = ["| operation | machine | Selion (p5 to p95, n) | at most | met |",
             "|---|---|---|---|---|"]
    for contest in ordered(all_contests):
        for goal in matching(contest, goals):
            cells = judge(contest, goal)
            if cells is not None:
                lines.append(f"| {contest.operation} | {place_text(contest)} | "
                             f"{' | '.join(cells)} |")
    return lines + _not_compared(all_contests, goals)


def _not_compared(all_contests: list[Contest], goals: list[dict]) -> list[str]:
    """A sentence about the goals whose rivals were not there."""
    absent = Counter(" or ".join(goal["rivals"]) for contest in all_contests
                     for goal in matching(contest, goals) if judge(contest, goal) is None)
    if not absent:
        return []
    return ["", "Not compared, because nobody of these was measured beside Selion: "
            f"{', '.join(f'{rivals} ({count})' for rivals, count in absent.items())}."]


def full_table(all_contests: list[Contest]) -> list[str]:
    """Lines of a Markdown table: one for each rival."""
    lines = ["| operation | machine | Selion | rival | its time | ratio (p5 to p95, n) |",
             "|---|---|---|---|---|---|"]
    for contest in ordered(all_contests):
        own = spread(contest.selion.values())
        start = f"| {contest.operation} | {place_text(contest)} | {time_text(own.median)} "
        if not contest.rivals:
            lines.append(start + f"| | | ({time_text(own.p5)} to {time_text(own.p95)}, {own.n}) |")
        for rival, times in contest.rivals.items():
            ratios = contest.ratios(rival)
            lines.append(start + f"| {rival} | {time_text(statistics.median(times.values()))} "
                         f"| {ratio_text(spread(ratios)) if ratios else ''} |")
    return lines
