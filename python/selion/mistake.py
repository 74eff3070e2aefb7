# SPDX-License-Identifier: Apache-2.0
"""Errors that are answered with one sentence instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterable


class Mistake(Exception):
    """What the user asked for cannot be done: exit status 2, nothing started or written."""

    exit_status = 2


class Failure(Mistake):
    """What was asked for is sound but did not succeed: exit status 1."""

    exit_status = 1


def listing(words: Iterable[object]) -> str:
    """The legal values of something, for the end of a sentence."""
    return ", ".join(str(word) for word in words) or "none"
