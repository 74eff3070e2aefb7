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
    reason: Literal["program", "tuned", "rule"]
    """Who has chosen it: the program, a table of `selion tune`, or the rule that is built in."""
    why: str
    measured_size: int
    """What was measured: blocks of up to so many bytes; 0 where nothing was."""
    measured_members: int
    measured: list[tuple[str, float]]
    """All ways that were measured, with their nanoseconds; those chosen first in front."""

    def __str__(self) -> str:
        """Sentences for people."""
        lines = [
            f"{self.collective} of {size_text(self.size)}, {self.members} ranks: {self.way}",
            f"why: {self.why}",
        ]
        if not self.measured:
            return "\n".join([*lines, "nothing has been measured for it; 'selion tune' does that"])
        width = max(len(way) for way, _ in self.measured)
        best = self.measured[0][1]
        lines.append(f"measured with {self.measured_members} ranks and "
                     f"{size_text(self.measured_size)}:")
        lines += [f"  {way:<{width}}  {ns:>10,.0f} ns  {ns / best:>6.2f} times the first"
                  for way, ns in self.measured]
        return "\n".join(lines)


def size_text(size: int) -> str:
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"
