# SPDX-License-Identifier: Apache-2.0
"""What a pool can be."""

from __future__ import annotations

import operator
import os

from selion.mistake import Mistake

_most_spin_s = 1e9  # in nanoseconds still an integer of 64 bits
_most_depth = 64  # as many calls as a worker has slots for
_most_tasks = (1 << 64) - 1  # as many as are counted
_most_bytes = 1 << 47  # a process has no more addresses


def number_of_workers(workers: int | None, max_workers: int | None) -> int:
    """One of the two, which mean the same; of neither, one for each processor."""
    if workers is not None and max_workers is not None:
        raise Mistake(f"workers is {workers} and max_workers {max_workers}; legal is one of the "
                      "two, which mean the same.")
    given = max_workers if workers is None else workers
    return len(os.sched_getaffinity(0)) if given is None else operator.index(given)


def expect_tasks(most: int | None) -> int:
    """Calls of a worker before another one takes its place; 0: it stays."""
    if most is None:
        return 0
    count = operator.index(most)
    if count < 1:
        raise Mistake(f"max_tasks_per_child is {count} calls; legal is 1 or more, or None.")
    return min(count, _most_tasks)


def expect_legal(count: int, shared_bytes: int, depth: int, spin: float | None) -> None:
    """A sentence for numbers that no pool can have."""
    if count < 1:
        raise Mistake(f"a pool of {count} workers; it needs 1 at least.")
    if not 1 <= depth <= _most_depth:
        raise Mistake(f"depth is {depth} calls; legal is 1 to {_most_depth}.")
    if not 0 <= shared_bytes < 1 << 64:
        raise Mistake(f"shared_bytes is {shared_bytes}; legal is 0 to {_most_bytes}.")
    if spin is not None and not 0 <= spin <= _most_spin_s:
        raise Mistake(f"spin is {spin} seconds; legal is 0 to {_most_spin_s:g}, or None.")
