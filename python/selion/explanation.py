# SPDX-License-Identifier: Apache-2.0
"""Why a collective is carried out as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `World.explain` and `selion explain` tell."""

    collective: str
    size: int
    """Bytes of a block."""
    members: int
    """Of the team."""
    way: str
    """"board", "slots", "lines:k_nomial:4" and their like."""
    reason: Literal["program", "tuned", "model", "rule"]
    """Who has chosen it: the program, a table of `selion tune`, what the costs of such hosts come
    to, or a rule where nothing of that is known."""
    why: str
    is_measured: bool
    """Whether `candidates` are measured, and not predicted."""
    known_size: int
    """What they are for: blocks of up to so many bytes; 0 where nothing is known."""
    known_members: int
    candidates: list[tuple[str, float]]
    """All ways that are known, with their nanoseconds; those chosen first in front."""

    def __str__(self) -> str:
        """Sentences for people."""
        lines = [
            f"{self.collective} of {size_text(self.size)}, {self.members} ranks: {self.way}",
            f"why: {self.why}",
        ]
        if self.candidates:
            lines += self._table()
        if self.reason == "model":  # a rule is for what cannot be measured, too
            lines.append("nothing has been measured for it; 'selion tune' does that")
        return "\n".join(lines)

    def _table(self) -> list[str]:
        width = max(len(way) for way, _ in self.candidates)
        best = self.candidates[0][1]
        how = "measured" if self.is_measured else "predicted"
        return [
            f"{how} with {self.known_members} ranks and {size_text(self.known_size)}:",
            *(f"  {way:<{width}}  {ns:>10,.0f} ns  {ns / best:>6.2f} times the first"
              for way, ns in self.candidates),
        ]


def size_text(size: int) -> str:
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"
