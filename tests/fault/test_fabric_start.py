# SPDX-License-Identifier: Apache-2.0
"""Jobs on the machine `fabric` that cannot start: a rank does not come, or is not of the job. Each
ends in bounded time, with a sentence that names the rank."""

from __future__ import annotations

import re
from collections.abc import Collection

import pytest
from jobs import programs, trying
from launched import Launched, skip_without_fabric, soon
from two_hosts import TwoHosts

skip_without_fabric()

_waits = r"rank {} of {} on host \S+ has waited for 1 s for rank {} of {} on host \S+ to start: "


class Incomplete(Launched):
    """A job of `test_mailbox` some of whose processes do something else."""

    def __init__(self, ranks: int, others: Collection[int], instead: str, **changes):
        which = "|".join(map(str, others))
        command = f"""case $OMPI_COMM_WORLD_RANK in {which}) {instead};; esac
                      exec {programs / "test_mailbox"} right"""
        super().__init__(ranks, "/bin/sh", "-c", command, **changes)


_short = {"SELION_FABRIC_TIMEOUT": "1", "SELION_HANG_TIMEOUT": "6",
          "SELION_HANG_ACTION": "abort"}


@pytest.mark.parametrize("absent, speaker", [([1], 0), ([0], 1), ([0, 1], 2), ([0, 2], 1)])
def test_a_rank_that_does_not_come_is_named(absent: list[int], speaker: int):
    with Incomplete(4, absent, "exec sleep 600", **_short) as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    told = re.findall(_waits.format(r"(\d)", 4, r"(\d)", 4) +
                      'has it come to selion::run, and is its SELION_MACHINE "fabric:4"\\? '
                      "The job ends if it has not in 5 s", outcome.err)
    assert told == [(str(speaker), str(absent[0]))], outcome.err
    assert "SELION_HANG_ACTION=abort: the job ends" in outcome.err


@pytest.mark.parametrize("absent, speaker", [(1, 0), (0, 1)])
def test_a_rank_that_does_not_come_on_another_host_is_named(lasting_hosts: TwoHosts, absent: int,
                                                            speaker: int):
    with Incomplete(2, [absent], "exec sleep 600", hosts=lasting_hosts, **_short) as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(_waits.format(speaker, 2, absent, 2), outcome.err), outcome.err
    assert "SELION_HANG_ACTION=abort: the job ends" in outcome.err


def test_a_rank_that_comes_late_is_waited_for(lasting_hosts: TwoHosts):
    with Incomplete(2, [1], "sleep 4", hosts=lasting_hosts, SELION_FABRIC_TIMEOUT="1") as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    assert re.search(_waits.format(0, 2, 1, 2) + r".*\? The job goes on waiting: interrupt its "
                     r"launcher \(Ctrl-C\) if that is in vain; SELION_HANG_ACTION=abort ends it",
                     outcome.err), outcome.err


def test_a_rank_that_calls_run_less_often_is_named():
    with Launched(2, "test_starting", "again", **_short) as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(_waits.format(0, 2, 1, 2) + "has it called selion::run 2 times, and",
                     outcome.err), outcome.err


_deaths = ["kill -9 $$", "export SELION_FABRIC_PROVIDER=carrier-pigeon"]


@pytest.mark.parametrize("instead", _deaths)
@trying(attempt=range(3))  # the launcher itself may break down over a death so early
def test_a_death_while_ranks_start_ends_the_job_also_where_deaths_are_reported(instead: str,
                                                                               attempt: int):
    with Incomplete(3, [1], instead, SELION_RANK_DEATH="report", SELION_FABRIC_TIMEOUT="1",
                    OMPI_MCA_orte_enable_recovery="1") as job:
        outcome = job.end(within=soon)
    # The launcher tells those who have come by then.
    assert re.search(r"rank 1 of 3 has died while ranks start|"
                     r"a fence has ended without all processes: one has died|"
                     r"rank 1 of 3 on host \S+ has left no card: it has ended before|"
                     r"rank [02] of 3 on host \S+ has waited for 3 s for all to start, and with "
                     "SELION_RANK_DEATH=report the launcher may not tell that one has died; the "
                     "job ends", outcome.err), outcome.err


@pytest.mark.parametrize("value", ["carrier-pigeon", ""])
def test_a_filter_of_libfabric_that_leaves_no_provider_is_named(value: str):
    with Launched(2, "test_mailbox", "right", FI_PROVIDER=value) as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert f'FI_PROVIDER="{value}" is set' in outcome.err, outcome.err
    assert "see 'selion doctor --fabric'" in outcome.err


@pytest.mark.parametrize("provider, is_told", [("tcp;ofi_rxm", False), ("sockets", True),
                                               ("udp;ofi_rxd", True)])
def test_a_provider_that_strangers_harm_is_told_of(provider: str, is_told: bool):
    with Launched(2, "test_mailbox", "right", SELION_VERBOSE="1",
                  SELION_FABRIC_PROVIDER=provider) as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    warning = f"whoever reaches a port of this job can end or hang it .* {provider} "
    assert bool(re.search(warning, outcome.err)) == is_told, outcome.err


def test_different_programs_are_told_apart():
    with Incomplete(2, [1], f"exec {programs / 'test_waiting'}") as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert "runs another program, or another build of it" in outcome.err


def test_different_machines_are_told_apart_however_many_ranks_they_have():
    with Incomplete(2, [1], "export SELION_MACHINE=fabric:x2", SELION_MACHINE="fabric") as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(r'rank 1 of 2 on host \S+ was started as machine "fabric:2x2", not "fabric:2"|'
                     r'rank 0 of 4 on host \S+ was started as machine "fabric:2", not "fabric:2x2"',
                     outcome.err), outcome.err
