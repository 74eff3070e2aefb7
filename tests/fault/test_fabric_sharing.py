# SPDX-License-Identifier: Apache-2.0
"""Ranks of one host that share memory on the machine `fabric`: who does, how they sleep and wake
each other, and that nothing of it is left behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from jobs import files_used_by, limit, names_of_memory, programs, trying, wait_until_gone
from launched import Launched, skip_without_fabric, soon
from test_fabric import _shares
from two_hosts import TwoHosts

skip_without_fabric()

#: How much of its host's memory a rank maps: that of all ranks, of some, of none but itself.
settings = {
    "all": {},
    "some": {"SELION_TEST_HOSTS": "2"},
    "own": {"SELION_MACHINE": "fabric,direct=off"},
}


def _memory(err: str) -> dict[int, str]:
    """What each rank says of its memory."""
    pattern = r"rank (\d+) of .* reserved, (memory shared by ranks \d+ to \d+|all memory its own)"
    return {int(rank): words for rank, words in re.findall(pattern, err)}


@pytest.mark.parametrize("how, expected", {
    "all": {rank: "memory shared by ranks 0 to 3" for rank in range(4)},
    "some": {0: "memory shared by ranks 0 to 1", 1: "memory shared by ranks 0 to 1",
             2: "memory shared by ranks 2 to 3", 3: "memory shared by ranks 2 to 3"},
    "own": dict.fromkeys(range(4), "all memory its own"),
}.items())
def test_ranks_say_whose_memory_they_share(how: str, expected: dict):
    with Launched(4, "test_mailbox", "right", SELION_VERBOSE="1", **settings[how]) as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    assert _memory(outcome.err) == expected


def _apart() -> list[str]:
    """Starts a program among processes that see no others."""
    command = ["unshare", "--pid", "--fork"]
    if shutil.which(command[0]) is None:
        pytest.skip("there is no unshare (Debian: util-linux)")
    made = subprocess.run([*command, "true"], capture_output=True, text=True, timeout=limit)
    if made.returncode != 0:
        pytest.skip(f"no namespace of processes can be made: {made.stderr.strip()}")
    return command


def test_ranks_that_do_not_see_each_other_use_the_network():
    with Launched(3, "test_mailbox", "right", before=_apart(), SELION_VERBOSE="1") as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    assert _memory(outcome.err) == dict.fromkeys(range(3), "all memory its own")


@pytest.mark.parametrize("how", settings)
def test_idle_ranks_sleep(how: str):
    with Launched(4, "test_dying", "none", "1", "barrier", **settings[how]) as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        assert max(_shares(job, processes.values())) <= 0.1


def _expect_quick_rounds(processes: int, **changes: str) -> None:
    """Nobody oversleeps a call: a lost wake-up is found after 250 ms, and a round has twelve."""
    with Launched(processes, "test_waiting", "rounds", "60", SELION_SPIN="0", **changes) as job:
        outcome = job.end(within=limit)
    assert outcome.status == 0, outcome.err
    rounds_ms = [float(ms) for ms in re.findall(r"^round (\S+) ms$", outcome.out, re.MULTILINE)]
    assert len(rounds_ms) == 59
    # The host may have been busy.
    assert sorted(rounds_ms)[-3] < 240, rounds_ms


@pytest.mark.parametrize("how", settings)
@trying(attempt=range(3))
def test_sleepers_are_woken_at_once(how: str, attempt: int):
    _expect_quick_rounds(4, **settings[how])


def _named_memory(process: int) -> set[str]:
    """Files that a rank has open or mapped where programs leave things behind, but for the
    launcher's own."""
    named = {name for name in files_used_by(process)
             if re.match(r"/(dev/shm|tmp)/(?!\S*(ompi|pmix))", name)}
    return {name for name in named if not Path(name).is_relative_to(programs)}


@pytest.mark.parametrize("how", settings)
@pytest.mark.parametrize("victim", [0, 1, 3])
def test_a_rank_that_is_killed_ends_all_and_leaves_nothing(how: str, victim: int):
    before = names_of_memory()
    with Launched(4, "test_dying", "none", "1", "barrier", **settings[how]) as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        assert not set().union(*(_named_memory(one) for one in processes.values()))
        os.kill(processes[victim], signal.SIGKILL)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(rf"rank {victim}\b", outcome.err), outcome.err
    assert not wait_until_gone(processes.values(), soon)
    assert names_of_memory() <= before


def test_ranks_of_two_hosts_share_memory_within_each(hosts: TwoHosts):  # noqa: F811
    with Launched(4, "test_mailbox", "right", hosts=hosts, SELION_VERBOSE="1") as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    places = dict(re.findall(r"rank (\d) of 4 on host (host-[ab])", outcome.err))
    assert places == {"0": "host-a", "1": "host-a", "2": "host-b", "3": "host-b"}
    first, second = "memory shared by ranks 0 to 1", "memory shared by ranks 2 to 3"
    assert _memory(outcome.err) == {0: first, 1: first, 2: second, 3: second}
