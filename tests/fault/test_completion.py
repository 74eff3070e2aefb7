# SPDX-License-Identifier: Apache-2.0
"""Completion handlers that may wait, at the end of a job, in one that hangs, and idle."""

from __future__ import annotations

import pytest
from jobs import is_sanitized, patiently, run, site, trying

machines = {"threads:1": 1, "threads:3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4,
            "threads:3,direct=off": 3, "threads:3,progress=interrupt": 3,
            "threads:8@2,progress=interrupt": 8, "processes:3,progress=interrupt": 3}
simulated = {"sim:crossbar,ranks=4": 4, "sim:crossbar,ranks=4,reception.kind=polling": 4,
             "sim:crossbar,context=threads,ranks=3": 3, "sim:sp-lapi,ranks=4,progress=interrupt": 4,
             "sim:niagara2,ranks=8": 8}


@pytest.mark.parametrize("machine", machines)
def test_a_job_ends_when_they_have_run(machine: str):
    """Each rank's last act is a message; what is to be done for it sends three more."""
    outcome = run("completing", "last", machine=machine)
    assert outcome.status == 0, outcome.err
    assert outcome.err == ""
    assert outcome.out == "completed\n" * (4 * machines[machine])


@pytest.mark.parametrize("machine", machines)
@pytest.mark.parametrize("attempt", range(3))
def test_a_job_ends_when_what_handlers_send_is_handled(machine: str, attempt: int):
    """A message goes to and fro when all have returned; its last handler sends more than a ring
    holds."""
    outcome = run("completing", "relay", machine=machine)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "passed\nmany\n"


@pytest.mark.parametrize("machine", [*machines, *simulated])
def test_they_run_on_a_rank_that_has_returned(machine: str):
    outcome = run("completing", "after", machine=machine)
    assert outcome.status == 0, outcome.err
    assert outcome.err == ""
    assert outcome.out == "complete\n" * ({**machines, **simulated}[machine] - 1)


@pytest.mark.parametrize("machine", [name for name in machines if machines[name] > 1])
@patiently
def test_one_that_waits_for_ever_is_explained(machine: str, timeout: str):
    outcome = run("completing", "stuck", machine=machine, SELION_HANG_ACTION="abort",
                  SELION_HANG_TIMEOUT=timeout)
    assert outcome.status == 1
    if "interrupt" in machine:
        assert "  rank 1 waits in its completion handlers at " in outcome.err
        assert "    absent: rank 1: in its completion handlers at " in outcome.err
    who = "a completion handler of rank 1" if "interrupt" in machine else "rank 1"
    assert (f"  {who} waits in wait_until at {site('completing.cpp', 'stuck')} for a signal of at "
            "least 1; it is 0\n") in outcome.err


@pytest.mark.parametrize("machine", ["sim:crossbar,ranks=4"])
def test_one_that_waits_for_ever_is_a_deadlock(machine: str):
    outcome = run("completing", "stuck", machine=machine)
    assert outcome.status == 1
    assert (f"  rank 1 waits in wait_until at {site('completing.cpp', 'stuck')} for a signal of at "
            "least 1; it is 0\n") in outcome.err


@pytest.mark.skipif(is_sanitized, reason="a sanitizer's own work would be counted")
@pytest.mark.parametrize("machine", ["threads:2@2,progress=interrupt",
                                     "processes:2,progress=interrupt"])
@trying(attempt=range(3))
def test_nothing_to_complete_costs_nothing(machine: str, attempt: int):
    """Waiting first burns what patience takes: a job that waits longer must burn as much."""
    short, long = (run("completing", "idle", str(ms), machine=machine) for ms in (500, 2500))
    assert short.status == long.status == 0
    assert long.cpu_seconds - short.cpu_seconds < 0.05 * 2
