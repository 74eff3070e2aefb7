# SPDX-License-Identifier: Apache-2.0
"""Ways that meet in several jobs, and what follows from it.

A job shows one mood of the host: where memory lies, which processors it was given, how near these
are to each other, what else runs there. All that a way takes may be twice as much in the next job.
So ways are compared within a job, as parts of what the quickest takes there, and it is these parts
whose middle over jobs is taken.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

Job = Mapping[str, float]
"""Nanoseconds of each way that took part."""


def middle(parts: Sequence[float]) -> float:
    """The geometric mean; of three and more without the least and the greatest, which may come from
    a disturbance."""
    kept = sorted(parts)[1:-1] if len(parts) >= 3 else parts
    return math.exp(statistics.fmean(math.log(each) for each in kept))


def taken(jobs: Sequence[Job]) -> dict[str, float]:
    """What each way takes, all jobs considered: the middle of its parts, times what the quickest
    typically takes. @param jobs their common ways are compared; others took part in the first one
    only, at least."""
    common = set(jobs[0]).intersection(*jobs[1:])
    best = [min(job[way] for way in common) for job in jobs]
    typical = statistics.median(best)
    return {way: typical * middle([job[way] / quickest
                                   for job, quickest in zip(jobs, best, strict=True)
                                   if way in job])
            for way in jobs[0]}
