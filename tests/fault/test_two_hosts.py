# SPDX-License-Identifier: Apache-2.0
"""Jobs on two hosts: whatever happens to a host, or to the way between them, ends all ranks in
bounded time, with a sentence and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from jobs import Job, is_alive, programs, trying, wait_until_gone
from launched import Launched, for_mpirun, skip_without_fabric, soon
from two_hosts import TwoHosts

skip_without_fabric()

python = Path(__file__).resolve().parents[2] / "python"


def test_ranks_of_two_hosts_meet(hosts: TwoHosts):
    with Launched(4, "test_mailbox", "right", hosts=hosts, SELION_VERBOSE="1") as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    places = dict(re.findall(r"rank (\d) of 4 on host (host-[ab]) over \S+ on \w+", outcome.err))
    assert sorted(places) == ["0", "1", "2", "3"]
    assert sorted(places.values()) == ["host-a", "host-a", "host-b", "host-b"]


def test_a_rank_that_is_killed_on_the_other_host_ends_all(hosts: TwoHosts):
    with Launched(3, "test_dying", "none", "1", "busy", hosts=hosts) as job:
        processes = job.processes(3)
        job.wait_for("^dying$")
        os.kill(processes[2], signal.SIGKILL)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    # The launcher deals ranks out in turn, so it calls this one 1.
    assert re.search(r"rank 1\b.*(host-b|10\.231\.7\.2)", outcome.err), outcome.err
    assert not wait_until_gone(processes.values(), soon)


def test_a_cut_cable_ends_all_ranks_in_time(hosts: TwoHosts):
    with Launched(4, "test_dying", "none", "1", "busy", hosts=hosts, SELION_FABRIC_TIMEOUT="2",
                  SELION_FABRIC_INTERFACE="second") as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        hosts.cut("second")
        outcome = job.end(within=soon)
        assert not wait_until_gone(processes.values(), soon)
    assert outcome.status != 0
    # As the hosts call themselves: the launcher knows them by their addresses.
    assert re.search(r"rank \d of 4 on host host-[ab] has had no sign of life of rank \d of 4 on "
                     r"host host-[ab] for 2 s.*: that host, or the way to it, is gone",
                     outcome.err), outcome.err


def test_ranks_that_are_cut_off_from_their_launcher_end(hosts: TwoHosts):
    with Launched(4, "test_dying", "none", "1", "busy", hosts=hosts, SELION_FABRIC_TIMEOUT="2",
                  SELION_FABRIC_INTERFACE="cable") as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        hosts.cut("cable")
        left = wait_until_gone(processes.values(), 2 + soon)
        told = job.wait_for("has had no sign of life of rank")
    assert not left
    assert told


def test_selion_run_ends_when_a_host_is_cut_off(hosts: TwoHosts):
    # The launcher is told to notice in time; else it would wait for as long as TCP does.
    command = [*hosts.enter("host-a"), sys.executable, "-m", "selion", "run", "-m", "fabric",
               "--hosts", ",".join(hosts.addresses()), "-n", "4", programs / "test_dying"]
    with Job("", "none", "1", "busy", command=command, PYTHONPATH=str(python), **for_mpirun,
             **hosts.for_mpirun()) as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        hosts.cut("cable")
        outcome = job.end(within=2 * soon)
        assert not wait_until_gone(processes.values(), soon)
    assert outcome.status != 0
    assert re.search("lost communication|no sign of life", outcome.err), outcome.err


def test_a_job_without_a_bound_outlives_a_cut(hosts: TwoHosts):
    with Launched(2, "test_dying", "none", "1", "busy", hosts=hosts, SELION_FABRIC_TIMEOUT="0",
                  SELION_FABRIC_INTERFACE="second") as job:
        processes = job.processes(2)
        job.wait_for("^dying$")
        hosts.cut("second")
        job.run_for(1.5)
        assert all(is_alive(one) for one in processes.values())


#: Who is not heard of for as long as this, because others have the processors, is taken for dead.
bounds = trying(bound=(1, 4, 12))


@bounds
def test_ranks_that_compute_are_not_taken_for_dead(hosts: TwoHosts, bound: int):
    # Rank 0 calls nothing for several times the bound, and rank 1 waits for it.
    with Launched(2, "test_dying", "none", "1", "busy", hosts=hosts,
                  SELION_FABRIC_TIMEOUT=str(bound)) as job:
        processes = job.processes(2)
        job.wait_for("^dying$")
        job.run_for(3 * bound)
        assert all(is_alive(one) for one in processes.values())
        assert "sign of life" not in job.err


@bounds
def test_a_job_that_was_stopped_goes_on(hosts: TwoHosts, bound: int):
    with Launched(2, "test_dying", "none", "1", "busy", hosts=hosts,
                  SELION_FABRIC_TIMEOUT=str(bound)) as job:
        processes = job.processes(2)
        job.wait_for("^dying$")
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for one in processes.values():
                os.kill(one, number)
            job.run_for(2 * bound)
        assert all(is_alive(one) for one in processes.values()), job.err


def test_a_host_that_dies_ends_the_others(hosts: TwoHosts):
    with Launched(4, "test_dying", "none", "1", "busy", hosts=hosts) as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        hosts.kill_all_on("host-b")
        outcome = job.end(within=soon)
        assert not wait_until_gone(processes.values(), soon)
    assert outcome.status != 0
    assert outcome.err  # the launcher's words: its agent is gone before any rank is silent


def test_no_host_keeps_ranks_of_a_launcher_that_was_killed(hosts: TwoHosts):
    with Launched(4, "test_dying", "none", "1", "busy", hosts=hosts) as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        os.kill(job.process.pid, signal.SIGKILL)
        assert not wait_until_gone(processes.values(), soon)
        assert not wait_until_gone(hosts.processes_on("host-b"), soon)


@pytest.mark.parametrize("wish, offer", [
    ("SELION_FABRIC_INTERFACE=lo", r"\S+ on lo"),
    ("SELION_FABRIC_PROVIDER=shm", r"shm on shm"),
])
def test_what_stays_within_a_host_is_refused(hosts: TwoHosts, wish: str, offer: str):
    name, value = wish.split("=")
    with Launched(2, "test_mailbox", "right", hosts=hosts, **{name: value}) as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(rf"fabric: libfabric has no usable provider for {wish}; there is .*{offer} "
                     r"\(other hosts do not reach it\)", outcome.err), outcome.err


@pytest.mark.parametrize("how", ["blackhole", "unreachable"])
def test_a_peer_that_is_not_reached_is_named_at_the_start(hosts: TwoHosts, how: str):
    hosts.bar("second", how)
    with Launched(4, "test_mailbox", "right", hosts=hosts, SELION_FABRIC_INTERFACE="second",
                  SELION_FABRIC_TIMEOUT="3") as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(r"rank \d of 4 on host host-[ab].*(the way to or from|no sign of life of) "
                     r"rank \d of 4 on host", outcome.err), outcome.err


@pytest.mark.parametrize("death", ["end", "report"])
def test_a_firewall_that_lets_only_datagrams_pass_is_named(hosts: TwoHosts, death: str):
    hosts.bar_connections("second")
    with Launched(4, "test_mailbox", "right", hosts=hosts, SELION_FABRIC_INTERFACE="second",
                  SELION_FABRIC_TIMEOUT="3", SELION_RANK_DEATH=death) as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    who = r"rank \d of 4 on host host-[ab]"
    reason = (r"no connection \(TCP\) has come about for 3 s( \([^)]+\))?, while signs of life "
              r"\(UDP\) arrive: a firewall lets only datagrams pass")
    said = (f"{who} cannot reach {who}: {reason}; the job ends" if death == "end" else
            f"{who} (is taken for dead by others and ends|has died): "
            # Both sides find it out at a time, and who hears of it first has no reason of its own.
            f"({reason}|others say so, who have no sign of life of it, or no connection to it)")
    assert re.search(said, outcome.err), outcome.err


def test_a_rank_that_fails_on_the_other_host_says_so(hosts: TwoHosts):
    with Launched(3, "test_dying", "throw", "2", "barrier", hosts=hosts) as job:
        processes = job.processes(3)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert "rank 2 of 3 ended with an exception of type std::runtime_error" in outcome.err
    assert not wait_until_gone(processes.values(), soon)
