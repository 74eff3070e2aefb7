# SPDX-License-Identifier: Apache-2.0
"""A job that waits leaves the processors to others: under 5 % of one, all ranks together."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from jobs import Job, is_sanitized

machines = [f"{kind}:{shape}" for kind, shapes in {
    "threads": ["2@2", "64@64", "64@2", "2@2,progress=interrupt"],
    "processes": ["2", "64", "2x32", "2,progress=interrupt"],
}.items() for shape in shapes]
seconds = 5
share = 0.05


def cpu_seconds(stack: ExitStack, milliseconds: int) -> dict[str, Job]:
    return {machine: stack.enter_context(Job("waiting", "long", str(milliseconds), machine=machine))
            for machine in machines}


@pytest.mark.skipif(is_sanitized, reason="a sanitizer's own work would be counted")
def test_waiting_costs_nothing():
    """All jobs at once: what they burn does not depend on when. What the same job costs without
    the wait is taken off."""
    spent = {}
    for milliseconds in (1, seconds * 1000):
        with ExitStack() as stack:
            jobs = cpu_seconds(stack, milliseconds)
            for machine, job in jobs.items():
                outcome = job.end()
                assert outcome.status == 0 and outcome.err == outcome.out == ""
                spent[machine, milliseconds] = outcome.cpu_seconds
    shares = {machine: (spent[machine, seconds * 1000] - spent[machine, 1]) / seconds
              for machine in machines}
    for machine, value in shares.items():
        print(f"{machine}: {value:.2%} of a processor; start and end {spent[machine, 1]:.3f} s")
    assert {machine: value for machine, value in shares.items() if value > share} == {}
