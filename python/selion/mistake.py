# SPDX-License-Identifier: Apache-2.0
"""Errors that are answered with one sentence instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterable


class Mistake(ValueError):
    """What the user asked for cannot be done: exit status 2, nothing started or written."""

    exit_status = 2


class Failure(Mistake):
    """What was asked for is sound but did not succeed: exit status 1."""

    exit_status = 1


def listing(words: Iterable[object]) -> str:
    """The legal values of something, for the end of a sentence."""
    return ", ".join(str(word) for word in words) or "none"


def _edit_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a):
        diagonal, row[0] = row[0], i + 1
        for j, other in enumerate(b):
            replaced = diagonal + (letter != other)
            diagonal = row[j + 1]
            row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
    return row[-1]


def nearest_name(name: str, candidates: Iterable[str]) -> str:
    """The candidate that differs least, as the library chooses it; empty if all differ in more than
    half of the letters."""
    best, least = "", len(name) // 2 + 1
    for candidate in candidates:
        distance = _edit_distance(name, candidate)
        if distance < least:
            best, least = candidate, distance
    return best


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """What stands behind a name that is not legal: nothing, or the nearest one in brackets."""
    near = nearest_name(name, candidates)
    return f" (did you mean '{near}'?)" if near else ""


def unknown(name: str, what: str, legal: Iterable[object]) -> Mistake:
    """@param what with its article, as in "a study"."""
    words = [str(word) for word in legal]
    return Mistake(
        f"'{name}' is not {what}{did_you_mean(name, words)}; legal: {listing(words)}."
    )
