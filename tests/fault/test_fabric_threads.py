# SPDX-License-Identifier: Apache-2.0
"""Several ranks in a process of the machine `fabric`: they meet as so many processes would, and end
with their process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from jobs import (
    clean_environment, is_sanitized, limit, names_of_memory, programs, trying, wait_until_gone,
)
from launched import Launched, for_mpirun, skip_without_fabric, soon
from test_fabric import _shares
from test_fabric_sharing import _expect_quick_rounds, _memory, _named_memory
from two_hosts import TwoHosts

skip_without_fabric()

python = Path(__file__).resolve().parents[2] / "python"


def test_ranks_are_numbered_process_by_process():
    with Launched(2, "test_dying", "none", "1", "barrier", SELION_MACHINE="fabric:x3") as job:
        processes = job.processes(6)
        job.wait_for("^dying$")
    assert sorted(processes) == [0, 1, 2, 3, 4, 5]
    first, second = processes[0], processes[3]
    assert first != second
    assert [processes[rank] for rank in range(6)] == 3 * [first] + 3 * [second]


@pytest.mark.parametrize("changes, expected", [
    ({}, dict.fromkeys(range(4), "memory shared by ranks 0 to 3")),
    ({"SELION_TEST_HOSTS": "2"}, {0: "memory shared by ranks 0 to 1",
                                  1: "memory shared by ranks 0 to 1",
                                  2: "memory shared by ranks 2 to 3",
                                  3: "memory shared by ranks 2 to 3"}),
    ({"SELION_MACHINE": "fabric:x2,direct=off"}, dict.fromkeys(range(4), "all memory its own")),
])
def test_ranks_say_whose_memory_they_share(changes: dict, expected: dict):
    changes = {"SELION_MACHINE": "fabric:x2", **changes}
    with Launched(2, "test_mailbox", "right", SELION_VERBOSE="1", **changes) as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    assert _memory(outcome.err) == expected
    assert re.search(r"fabric:2x2\S*: rank 3 of 4 on host", outcome.err), outcome.err


@pytest.mark.parametrize("changes", [
    {"SELION_MACHINE": "fabric:x2"},
    {"SELION_MACHINE": "fabric:x2", "SELION_TEST_HOSTS": "2"},
    {"SELION_MACHINE": "fabric:x2,progress=interrupt"},
])
def test_idle_ranks_sleep(changes: dict):
    with Launched(2, "test_dying", "none", "1", "barrier", **changes) as job:
        processes = set(job.processes(4).values())
        job.wait_for("^dying$")
        assert max(_shares(job, processes)) <= 2 * 0.1


@pytest.mark.parametrize("changes", [
    {}, {"SELION_TEST_HOSTS": "2"}, {"SELION_MACHINE": "fabric:x2,direct=off"},
])
@trying(attempt=range(3))
def test_sleepers_are_woken_at_once(changes: dict, attempt: int):
    _expect_quick_rounds(2, **{"SELION_MACHINE": "fabric:x2", **changes})


@pytest.mark.parametrize("machine", ["fabric:x2", "fabric:x2,direct=off"])
@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_is_killed_ends_all_and_leaves_nothing(machine: str, victim: int):
    before = names_of_memory()
    with Launched(2, "test_dying", "none", "1", "barrier", SELION_MACHINE=machine) as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        assert not set().union(*(_named_memory(one) for one in processes.values()))
        os.kill(processes[2 * victim], signal.SIGKILL)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    # The launcher's words are of processes, which it calls ranks; ours may come first.
    first = 2 * victim
    assert re.search(rf"process of ranks {first} to {first + 1} of 4 has died|rank {victim}\b",
                     outcome.err), outcome.err
    assert not wait_until_gone(processes.values(), soon)
    assert names_of_memory() <= before


deaths = {
    "segv": "rank 3 of 4 died of Segmentation fault",
    "throw": "rank 3 of 4 ended with an exception of type std::runtime_error: the cause is told",
    "exit7": r"rank 3 of 4 called exit\(7\) before its function returned",
}


@pytest.mark.parametrize("how", deaths)
def test_the_rank_that_dies_is_named_not_its_process(how: str):
    if is_sanitized and how == "segv":
        pytest.skip("the sanitizer reports fatal signals itself")
    with Launched(2, "test_dying", how, "3", "barrier", SELION_MACHINE="fabric:x2") as job:
        processes = job.processes(4)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(deaths[how], outcome.err), outcome.err
    assert not wait_until_gone(processes.values(), soon)


def test_each_rank_that_waits_for_too_long_says_so():
    with Launched(2, "test_dying", "none", "1", "barrier", SELION_MACHINE="fabric:x2",
                  SELION_HANG_TIMEOUT="0.5") as job:
        for rank in range(4):
            job.wait_for(rf"hang: 0.5 s are over: rank {rank} of 4 on host \S+ waits")


def test_selion_run_counts_ranks(tmp_path: Path):
    command = [sys.executable, "-m", "selion", "run", "-m", "fabric:x2", "-n", "4", "-v",
               programs / "test_mailbox", "right"]
    environment = clean_environment(PYTHONPATH=str(python), **for_mpirun)
    done = subprocess.run(command, env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=limit)
    assert done.returncode == 0, done.stderr
    ranks = re.findall(r"fabric:2x2: rank (\d) of 4 on host", done.stderr)
    assert sorted(ranks) == ["0", "1", "2", "3"]


# --- on two hosts ---------------------------------------------------------------------------------


def _checksum(text: str) -> str:
    return re.search(r"^ +checksum +(\S+)$", text, re.MULTILINE)[1]


@pytest.mark.skipif(not (programs / "em3d").exists(), reason="it is not built")
def test_results_on_two_hosts_are_those_on_threads(hosts: TwoHosts):
    arguments = ("--random", "--nodes", "60", "--iterations", "30", "--verify")
    alone = subprocess.run([programs / "em3d", *arguments], capture_output=True, text=True,
                           env=clean_environment(SELION_MACHINE="threads:4"), timeout=limit)
    with Launched(2, "em3d", *arguments, hosts=hosts, SELION_MACHINE="fabric:x2",
                  SELION_VERBOSE="1") as job:
        outcome = job.end()
    assert outcome.status == 0, outcome.err
    assert "em3d on fabric:2x2" in outcome.out
    assert _checksum(outcome.out) == _checksum(alone.stdout)
    places = dict(re.findall(r"rank (\d) of 4 on host (host-[ab]) over", outcome.err))
    assert places == {"0": "host-a", "1": "host-a", "2": "host-b", "3": "host-b"}


def test_a_cut_cable_ends_all_ranks_in_time(hosts: TwoHosts):
    with Launched(2, "test_dying", "none", "1", "busy", hosts=hosts, SELION_MACHINE="fabric:x2",
                  SELION_FABRIC_TIMEOUT="2", SELION_FABRIC_INTERFACE="second") as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        hosts.cut("second")
        outcome = job.end(within=soon)
        assert not wait_until_gone(processes.values(), soon)
    assert outcome.status != 0
    assert re.search(r"rank [02] of 4 on host host-[ab] has had no sign of life of rank [02] of 4",
                     outcome.err), outcome.err


@pytest.mark.parametrize("what", ["barrier", "strict", "gather", "broadcast"])
def test_a_collective_s_time_is_over_also_where_nobody_takes_what_was_sent(what: str,
                                                                          tmp_path: Path):
    """The other rank computes until this one has given up."""
    with Launched(2, "test_waiting", "timeout", what, str(tmp_path / "over"),
                  SELION_TEST_HOSTS="2") as job:
        outcome = job.end(within=2 * soon)
    assert (outcome.status, outcome.out, outcome.err) == (0, "timed out\n", "")
