# SPDX-License-Identifier: Apache-2.0
"""What a check yields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warn", "fail"]
#: What the system calls it, if a file cannot be read, and what int() does, if there is no number.
_obstacles = (OSError, ValueError)


@dataclass(frozen=True)
class Check:
    """@param cure one line that says what to do; empty where nothing is amiss."""

    name: str
    status: Status
    found: str
    cure: str = ""


def passed(name: str, found: str) -> Check:
    return Check(name, "ok", found)


def judged(name: str, is_good: bool, found: str, otherwise: tuple[Status, str]) -> Check:
    """Ok, or else the given status and cure."""
    return passed(name, found) if is_good else Check(name, otherwise[0], found, otherwise[1])


def looked_at(name: str, look: Callable[[], Check]) -> Check:
    """What a look finds; a warning where this host does not let us look."""
    try:
        return look()
    except _obstacles as problem:
        return Check(name, "warn", f"cannot be looked at: {problem}",
                     "let this user read it; the other checks hold")
