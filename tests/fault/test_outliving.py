# SPDX-License-Identifier: Apache-2.0
"""Jobs on the machine `fabric` that outlive ranks which die: whoever wants something of them has an
error in bounded time, and the others go on to the end."""

from __future__ import annotations

import os
import random
import re
import signal
import time

import pytest
from jobs import trying, wait_until_gone
from launched import Launched, skip_without_fabric, soon
from two_hosts import TwoHosts

skip_without_fabric()

#: How much of its host's memory a rank maps: that of all ranks, of some, of none but itself.
settings = {
    "all": {},
    "some": {"SELION_TEST_HOSTS": "2"},
    "own": {"SELION_MACHINE": "fabric,direct=off"},
    "interrupts": {"SELION_MACHINE": "fabric,progress=interrupt"},
}


class Outliving(Launched):
    """Its launcher lets the others go on."""

    def __init__(self, ranks: int, *arguments: str, **changes):
        super().__init__(ranks, "test_outliving", *arguments, SELION_RANK_DEATH="report",
                         OMPI_MCA_orte_enable_recovery="1", **changes)


def _expect_goal(job: Outliving, living: int) -> None:
    """Those who live come to an end that they like, together."""
    job.wait_for(r"^rank \d is (not )?content$", living)
    found = re.findall(r"^rank \d goes on with (\d)$", job.out, re.MULTILINE)
    assert found == [str(living)] * living, job.out + job.err
    assert "not content" not in job.out, job.out + job.err


def _expect_end(job: Outliving, living: int) -> None:
    _expect_goal(job, living)
    assert job.end(within=2 * soon).status == 0, job.out + job.err


# In each case three of the ten ways to wait for a rank.
@pytest.mark.parametrize("how, first", [("all", 0), ("all", 8), ("some", 0), ("some", 3),
                                        ("some", 6), ("own", 4), ("own", 7), ("interrupts", 3)])
def test_who_waits_for_a_rank_that_is_killed_has_an_error(how: str, first: int):
    with Outliving(4, "pending", "2", str(first), **settings[how]) as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        os.kill(processes[2], signal.SIGKILL)
        start = time.monotonic()
        assert len(job.wait_for(r"^rank \d .*: rank 2 is dead$", 3)) == 3
        assert time.monotonic() - start < soon
        _expect_end(job, 3)
    assert "rank 2 of 4" in job.err and "has died: " in job.err
    assert not wait_until_gone(processes.values(), soon)


@pytest.mark.parametrize("how", settings)
def test_a_collective_whose_members_live_ends_when_one_has_left_it(how: str):
    with Outliving(4, "apart", "3", **settings[how]) as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        os.kill(processes[3], signal.SIGKILL)
        job.wait_for("^rank 0 hears of rank 3$")
        _expect_end(job, 3)
    assert not wait_until_gone(processes.values(), soon)


@pytest.mark.parametrize("how", settings)
def test_ranks_that_are_killed_at_any_moment_do_not_hold_up_the_others(how: str):
    dice = random.Random(how)
    for _ in range(2):
        with Outliving(4, "storm", "", "3", **settings[how]) as job:
            processes = job.processes(4)
            job.run_for(dice.uniform(0.05, 0.3))
            victim = dice.randrange(4)
            os.kill(processes[victim], signal.SIGKILL)
            _expect_end(job, 3)
        assert not wait_until_gone(processes.values(), soon)


@pytest.mark.parametrize("how", settings)
def test_two_that_are_killed_almost_together_do_not_hold_up_the_others(how: str):
    dice = random.Random(how)
    for _ in range(2):
        with Outliving(4, "storm", "", "3", **settings[how]) as job:
            processes = job.processes(4)
            job.run_for(dice.uniform(0.05, 0.3))
            first, second = dice.sample(range(4), 2)
            os.kill(processes[second], signal.SIGSTOP)  # no team without the first one has it
            os.kill(processes[first], signal.SIGKILL)
            job.run_for(dice.uniform(0, 0.02))
            os.kill(processes[second], signal.SIGKILL)
            _expect_end(job, 2)
        assert not wait_until_gone(processes.values(), soon)


@pytest.mark.parametrize("how", settings)
def test_who_hears_of_a_death_while_it_looks_for_the_living_is_not_sent_back(how: str):
    with Outliving(4, "meet", "1,2", **settings[how]) as job:
        processes = job.processes(4)
        job.wait_for("^dying$", 2)
        os.kill(processes[1], signal.SIGKILL)
        job.wait_for("^rank 0 knows of one$")
        os.kill(processes[2], signal.SIGKILL)
        _expect_end(job, 2)


def test_who_is_told_of_a_death_does_not_reach_memory_of_the_dead_any_more():
    with Outliving(5, "touch", "1") as job:
        processes = job.processes(5)
        job.wait_for("^dying$")
        os.kill(processes[1], signal.SIGKILL)
        _expect_end(job, 4)


def test_all_ranks_of_a_process_die_with_it():
    with Outliving(3, "storm", "", "3", SELION_MACHINE="fabric:x2") as job:
        processes = job.processes(6)
        job.run_for(0.1)
        os.kill(processes[2], signal.SIGKILL)
        _expect_end(job, 4)
    assert processes[2] == processes[3]
    assert not wait_until_gone(processes.values(), soon)


def test_two_that_die_one_after_the_other_are_outlived():
    with Outliving(5, "pending", "1,3", "0") as job:
        processes = job.processes(5)
        job.wait_for("^dying$", 2)
        for victim in (3, 1):
            os.kill(processes[victim], signal.SIGKILL)
            job.run_for(0.2)
        _expect_end(job, 3)


def test_by_default_a_death_ends_the_job():
    with Launched(3, "test_outliving", "pending", "1", "0") as job:
        processes = job.processes(3)
        job.wait_for("^dying$")
        os.kill(processes[1], signal.SIGKILL)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert "is dead" not in outcome.out


def test_an_exception_that_nobody_handles_is_a_death():
    with Launched(3, "test_dying", "throw", "1", "barrier", SELION_RANK_DEATH="report",
                  OMPI_MCA_orte_enable_recovery="1") as job:
        processes = job.processes(3)
        outcome = job.end(within=2 * soon)
    assert re.search("rank 1 of 3 ended with an exception of type std::runtime_error.*; the others "
                     "go on", outcome.err), outcome.err
    # These do not handle it either.
    for rank in (0, 2):
        assert re.search(rf"rank {rank} of 3 ended with an exception of type selion::error: "
                         r"barrier: rank [012] of 3 is dead", outcome.err), outcome.err
    assert not wait_until_gone(processes.values(), soon)


def test_rank_0_decides_and_other_machines_warn():
    with Launched(2, "test_mailbox", "right", SELION_RANK_DEATH="never") as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert "SELION_RANK_DEATH=never is not understood; it takes end, report" in outcome.err


#: Who is not heard of for as long as this, because others have the processors, is taken for dead.
bounds = trying(bound=(2, 6))


def test_tasks_of_lapi_cannot_outlive_each_other():
    """What they wait for is owed by all, and no function of LAPI could say who has died."""
    with Launched(2, "test_lapi_mistakes", "gfence", SELION_RANK_DEATH="report") as job:
        outcome = job.end()
    assert outcome.status == 1, outcome.err
    assert "LAPI_Init: a program with LAPI's names cannot outlive a task; leave out" in outcome.err



@bounds
def test_the_ranks_of_a_host_that_dies_are_outlived(hosts: TwoHosts, bound: int):
    with Outliving(4, "pending", "2,3", "3", hosts=hosts, SELION_FABRIC_INTERFACE="second",
                   SELION_FABRIC_TIMEOUT=str(bound)) as job:
        processes = job.processes(4)
        job.wait_for("^dying$", 2)
        for victim in (2, 3):
            os.kill(processes[victim], signal.SIGKILL)
        _expect_goal(job, 2)
        assert not wait_until_gone(processes.values(), soon)


@bounds
def test_a_host_that_is_cut_off_is_outlived(hosts: TwoHosts, bound: int):
    hosts.mend("second")
    with Outliving(4, "pending", "2,3", "3", hosts=hosts, SELION_FABRIC_INTERFACE="second",
                   SELION_FABRIC_TIMEOUT=str(bound)) as job:
        processes = job.processes(4)
        job.wait_for("^dying$", 2)
        start = time.monotonic()
        hosts.cut("second")
        job.wait_for(r"^rank [01] .*: rank [23] is dead$", 2)
        assert time.monotonic() - start < bound + soon
        # Those beyond the cut take the others for dead, and wait for nobody.
        _expect_goal(job, 2)
        assert not wait_until_gone([processes[rank] for rank in (0, 1)], soon)


def test_ranks_do_not_outlive_their_launcher(hosts: TwoHosts):
    with Outliving(4, "pending", "2,3", "3", hosts=hosts) as job:
        processes = job.processes(4)
        job.wait_for("^dying$", 2)
        os.kill(job.process.pid, signal.SIGKILL)
        assert not wait_until_gone(processes.values(), soon)
        assert not wait_until_gone(hosts.processes_on("host-b"), soon)


def test_pools_whose_workers_are_ranks_are_refused():
    """Their host would wait for a worker that is dead."""
    with Launched(2, "test_workers", "rank-services", SELION_MACHINE="fabric",
                  SELION_RANK_DEATH="report", OMPI_MCA_orte_enable_recovery="1") as job:
        job.wait_for("a pool whose workers are ranks does not outlive one of them", 2)
        job.end(within=2 * soon)
