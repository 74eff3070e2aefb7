# SPDX-License-Identifier: Apache-2.0
"""From rounds to ratios: what `bench/run` prints of what the programs measured."""

import re
import statistics
from dataclasses import dataclass, field

# A signal between two threads of one core takes about 60 ns, between two cores twice that or more.
near_ns = 100


@dataclass
class Contest:
    """All rounds of one operation on one machine, where the cores stand equally far apart."""

    operation: str
    machine: str
    distance: str  # "near", "far", or "" where it does not matter
    selion: list[float] = field(default_factory=list)
    rivals: dict[str, list[float]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.machine.split(":")[0]

    @property
    def ranks(self) -> int:
        found = re.search(r":(\d+)(?:x(\d+))?", self.machine)
        return int(found[1]) * int(found[2] or 1) if found else 0

    def ratios(self, rival: str) -> list[float]:
        return [own / other for own, other in zip(self.selion, self.rivals[rival], strict=True)]


@dataclass(frozen=True)
class Spread:
    """Median, 5th and 95th percentile."""

    median: float
    p5: float
    p95: float
    n: int


def spread(numbers: list[float]) -> Spread:
    ordered = sorted(numbers)
    last = len(ordered) - 1
    return Spread(statistics.median(ordered), ordered[round(0.05 * last)],
                  ordered[round(0.95 * last)], len(ordered))


def contests(rows: list[dict]) -> list[Contest]:
    """Joins the lines of all runs; rounds with near and with far cores become contests of their
    own."""
    found: dict[tuple[str, str, str], Contest] = {}
    for row in rows:
        signals = row.get("signal_ns")
        for index, ns in enumerate(row["ns"]):
            distance = ""
            if signals is not None:
                distance = "near" if signals[index] < near_ns else "far"
            key = (row["operation"], row["machine"], distance)
            contest = found.setdefault(key, Contest(*key))
            if row["is_selion"]:
                contest.selion.append(ns)
            else:
                contest.rivals.setdefault(row["contestant"], []).append(ns)
    return [contest for contest in found.values() if contest.selion]


def best_rival(contest: Contest, names: list[str]) -> str | None:
    present = [name for name in names if name in contest.rivals]
    return min(present, key=lambda name: statistics.median(contest.rivals[name]), default=None)


def verdicts(contest: Contest, goals: list[dict]) -> dict[str | None, str]:
    """The goal and whether it is met, for each rival that one names (None: Selion's own time)."""
    found = {}
    for goal in goals:
        if goal["operation"] != contest.operation:
            continue
        if goal.get("ranks", contest.ranks) != contest.ranks:
            continue
        if goal.get("kind", contest.kind) != contest.kind:
            continue
        if "most_ns" in goal:
            met = statistics.median(contest.selion) <= goal["most_ns"]
            found[None] = f"at most {time_text(goal['most_ns'])}: {'met' if met else 'NOT MET'}"
            continue
        rival = best_rival(contest, goal["rivals"])
        if rival is None:
            continue
        met = statistics.median(contest.ratios(rival)) <= goal["most_ratio"]
        found[rival] = f"at most {goal['most_ratio']}: {'met' if met else 'NOT MET'}"
    return found


def time_text(ns: float) -> str:
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def table(all_contests: list[Contest], goals: list[dict]) -> list[str]:
    """Lines of a Markdown table: one for each rival."""
    lines = ["| operation | machine | Selion | rival | its time | ratio (p5 to p95, n) | goal |",
             "|---|---|---|---|---|---|---|"]
    for contest in sorted(all_contests, key=lambda one: (one.ranks, one.distance == "near")):
        said = verdicts(contest, goals)
        where = contest.machine + (f", {contest.distance}" if contest.distance else "")
        own = time_text(statistics.median(contest.selion))
        if not contest.rivals:
            low_high = spread(contest.selion)
            lines.append(f"| {contest.operation} | {where} | {own} | | | ({time_text(low_high.p5)} "
                         f"to {time_text(low_high.p95)}, {low_high.n}) | {said.get(None, '')} |")
        for rival, times in contest.rivals.items():
            ratio = spread(contest.ratios(rival))
            goal = "; ".join(said[key] for key in (None, rival) if key in said)
            lines.append(
                f"| {contest.operation} | {where} | {own} | {rival} "
                f"| {time_text(statistics.median(times))} "
                f"| {ratio.median:.2f} ({ratio.p5:.2f} to {ratio.p95:.2f}, {ratio.n}) | {goal} |")
    return lines
