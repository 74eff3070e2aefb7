# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM end a job at once, with its state and a status that tells why."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time

import pytest
from jobs import (
    Job,
    clean_environment,
    is_alive,
    limit,
    programs,
    run,
    site,
    soon,
    trying,
    wait_until_gone,
)

machines = {"threads:3@3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4}


@pytest.mark.parametrize("first", ["barrier", "busy", "deaf"])
@pytest.mark.parametrize("whom", ["group", "first"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("machine", machines)
def test_a_signal_ends_the_job(machine: str, number: signal.Signals, whom: str, first: str):
    if "threads" in machine and first == "deaf" and number == signal.SIGTERM:
        pytest.skip("a program that ignores SIGTERM in its only process is not ended by it")
    with Job("dying", "wait", str(machines[machine] - 1), first, machine=machine) as job:
        processes = job.processes(machines[machine])
        job.wait_for("^dying$")
        start = time.monotonic()
        if whom == "group":
            os.killpg(job.process.pid, number)
        else:
            os.kill(job.process.pid, number)
        outcome = job.end(within=soon)
        print(f"{machine} {number.name}: ended after {time.monotonic() - start:.3f} s")
        assert outcome.status == -number
        assert not any(is_alive(one) for one in processes.values())
        state, *others = outcome.sentences()
        assert state == f"state of the job on {machine}"
        assert re.findall(r"^  ranks? .*", outcome.err, re.M)
        if "processes" in machine:
            [sentence] = others
            assert sentence.startswith("interrupted by ")
        else:
            assert others == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("machine", ["threads:3", "threads:4@2", "processes:3", "sim:crossbar"])
def test_the_last_thing_said_is_where_all_ranks_are(machine: str, number: signal.Signals):
    """Of loops that no hang report can tell from work."""
    with Job("waiting", "polls", machine=machine) as job:
        job.wait_for("^ready$", 3)
        os.killpg(job.process.pid, number)
        outcome = job.end(within=soon)
    assert outcome.status == -number
    assert outcome.err.startswith(f"selion: state of the job on {machine}")
    assert f"last known call: test at {site('waiting.cpp', 'poll')} for a signal" in outcome.err


@pytest.mark.parametrize("machine", ["threads:3", "threads:4@2"])
def test_what_a_rank_ignores_is_ignored(machine: str):
    """Also by the thread that reads the signals which the program leaves alone."""
    with Job("dying", "wait", "2", "deaf", machine=machine) as job:
        job.wait_for("^dying$")
        for _ in range(50):
            os.kill(job.process.pid, signal.SIGTERM)
            time.sleep(0.01)
        assert job.process.poll() is None
        os.kill(job.process.pid, signal.SIGINT)
        assert job.end(within=soon).status == -signal.SIGINT
        assert job.err.count("state of the job") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_a_thread_that_is_older_than_the_job_is_no_hindrance(machine: str,
                                                             number: signal.Signals):
    """The system may give it the signal, which it has not blocked."""
    with Job("starting", "beside", machine=machine, SELION_HANG_TIMEOUT="0") as job:
        job.wait_for("^waiting ", machines[machine])
        os.kill(job.process.pid, signal.SIGUSR1)
        job.wait_for("state of the job on")
        os.kill(job.process.pid, number)
        outcome = job.end(within=soon)
    assert outcome.status == -number
    assert outcome.sentences()[-1].startswith("interrupted by ")


def test_ends_of_processes_are_noticed_at_once_beside_an_older_thread():
    """It would take up to a second each time, and more than the limit all together."""
    outcome = run("starting", "many", "80", machine="processes:2", SELION_HANG_TIMEOUT="0")
    assert (outcome.status, outcome.out, outcome.err) == (0, "0 failed\n", "")


@pytest.mark.parametrize("machine", ["threads:2", "threads:2@1", "processes:2", "processes:1x2",
                                     "sim:crossbar,ranks=2"])
def test_what_a_rank_has_started_has_no_signal_blocked(machine: str):
    outcome = run("starting", "blocked", machine=machine)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.count("blocked 0\n") == outcome.out.count("blocked") == 2


@pytest.mark.parametrize("machine", ["threads:2", "sim:crossbar,ranks=2"])
def test_what_a_rank_has_started_ends_by_ctrl_c(machine: str):
    """Its signals are not blocked, as those of the thread that reads them are."""
    outcome = run("surroundings", "children", machine=machine)
    assert outcome.out == "fork died of 15\nexec died of 15\n"
    assert (outcome.status, outcome.err) == (0, "")


@trying(attempt=range(3))
def test_a_signal_while_processes_are_started(attempt: int):
    """Those that are not there yet are started no more. The signal may come too late."""
    count = 600
    with Job("surroundings", "arguments", machine=f"processes:{count}") as job:
        job.wait_for("^rank ")  # before it has met any other
        os.kill(job.process.pid, signal.SIGTERM)
        outcome = job.end(within=30)
    assert outcome.status == -signal.SIGTERM
    [state, sentence] = outcome.sentences()
    assert state == f"state of the job on processes:{count}"
    assert sentence.startswith("interrupted by ")
    # The last ones may have had no time to say anything.
    assert max(int(rank) for rank in re.findall(r"^rank (\d+) ", outcome.out, re.M)) < count - 50


@pytest.mark.parametrize("machine", machines)
def test_ctrl_c_at_a_terminal(machine: str):
    own, theirs = pty.openpty()
    program = subprocess.Popen(
        [programs / "test_dying", "wait", "1"],
        env=clean_environment(SELION_MACHINE=machine),
        stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # now it controls us
    )
    os.close(theirs)
    try:
        text = b""
        while b"dying" not in text:
            text += os.read(own, 4096)
        ranks = {int(line.split()[3]) for line in text.decode().split("\r\n")
                 if line.startswith("rank ")}
        os.write(own, b"\x03")
        assert program.wait(timeout=soon) == -signal.SIGINT
        assert wait_until_gone(ranks, soon) == []
    finally:
        program.kill()
        program.wait(timeout=limit)
        os.close(own)
