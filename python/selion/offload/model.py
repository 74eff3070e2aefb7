# SPDX-License-Identifier: Apache-2.0
"""How long work takes that one host shares out among workers."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Literal

from selion import native
from selion.mistake import Mistake

Pattern = Literal["plain", "pipelined", "overlapped"]

_most_count = (1 << 32) - 1  # what the library counts workers and sides of blocks with


@dataclass(frozen=True, slots=True)
class Prediction:
    """What to expect of some number of workers. Times in seconds, of one round."""

    total: float
    speedup: float  #: over one worker that gets all of it, plain
    transfer_share: float  #: of the total: how much of it the host moves data
    is_saturated: bool  #: it does all the time
    saturates_at: int  #: fewest workers for which that is so; 0: none of `speedups`
    best_workers: int  #: fewest that come within 1 % of the best of `speedups`
    speedups: tuple[float, ...]  #: of 1, 2, 3, ... workers


def predict(
    send: float,
    fetch: float,
    compute: float,
    workers: int,
    *,
    pattern: Pattern = "plain",
    same_for_all: bool = False,
    most: int = 16,
) -> Prediction:
    """What a round of work takes.

    :param send: seconds that the host needs to send all arguments
    :param fetch: seconds that it needs to fetch all results
    :param compute: seconds that one worker would need for all of it
    :param pattern: whether the host waits for all workers before the next round (plain), gives a
        worker its next call when its results are there (pipelined), or before that (overlapped)
    :param same_for_all: every worker gets all arguments and returns all results
    :param most: workers that the curve goes up to, 2**20 of them at most
    """
    _expect_counts(workers=workers, most=most)
    parts = native.load().predict_offload(
        send, fetch, compute, workers, pattern, same_for_all, most
    )
    total, speedup, share, is_saturated, saturates_at, best, curve = parts
    return Prediction(total, speedup, share, is_saturated, saturates_at, best, tuple(curve))


def verdict(
    send: float,
    fetch: float,
    compute: float,
    workers: int,
    *,
    pattern: Pattern = "plain",
    same_for_all: bool = False,
    most: int = 16,
    block: int = 0,
) -> str:
    """The same in a sentence.

    :param block: side of the square blocks that the work is done in; then larger ones are proposed
        where they would keep all workers busy
    """
    _expect_counts(workers=workers, most=most, block=block)
    return str(
        native.load().offload_verdict(
            send, fetch, compute, workers, pattern, same_for_all, most, block
        )
    )


def _expect_counts(**counts: int) -> None:
    for name, count in counts.items():
        if not 0 <= operator.index(count) <= _most_count:
            raise Mistake(f"{name} is {count}; legal is 0 to {_most_count}.")
