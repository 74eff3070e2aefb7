# SPDX-License-Identifier: Apache-2.0
"""Bash ends words at `:` and `=`, which stand in the middle of machine specs and settings: what it
asks is put together again, and of the answers only what follows the last of those characters is for
Bash."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

_broken_at = ":="


def join(words: Sequence[str], current: int) -> tuple[list[str], int]:
    """Words that only Bash has taken apart, and the place of the one that is completed.

    @param current its place among `words`; behind them where it has no letter yet.
    """
    joined: list[str] = []
    place = current
    goes_on = False
    for index, word in enumerate(words):
        is_break = word != "" and set(word) <= set(_broken_at)
        if joined and (goes_on or is_break):
            joined[-1] += word
        else:
            joined.append(word)
        goes_on = is_break
        if index == current:
            place = len(joined) - 1
    return joined, place if current < len(words) else len(joined)


def behind_the_break(word: str, incomplete: str) -> str:
    """What of an answer takes the place of what Bash takes for the word."""
    start = re.match(f".*[{_broken_at}]", incomplete)
    return word[start.end() :] if start and word.startswith(start[0]) else word


def complete(app: Callable[[], Any]) -> None:
    """Answers what Bash asks in the environment, and ends."""
    words = os.environ.get("COMP_WORDS", "").split("\n")
    joined, place = join(words, int(os.environ.get("COMP_CWORD", "0")))
    incomplete = joined[place] if place < len(joined) else ""
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(joined), str(place)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        app()
    for line in said.getvalue().splitlines():
        print(behind_the_break(line, incomplete))
    sys.exit(0)
