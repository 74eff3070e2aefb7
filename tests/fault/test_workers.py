# SPDX-License-Identifier: Apache-2.0
"""Workers that die, take too long or are started wrongly: a sentence for each, and nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from jobs import clean_environment, programs, run


def lines(*arguments: str, machine: str = "threads:1") -> list[str]:
    outcome = run("workers", *arguments, machine=machine)
    assert outcome.status == 0, outcome.err
    return outcome.out.splitlines()


@pytest.mark.parametrize("kind", ["process", "thread"])
def test_calls_that_take_too_long(kind):
    told = lines(f"timeout-{kind}")
    running = "rest" if kind == "process" else "until_cancelled"
    assert told == [
        'waiting: the call of routine "rest" was not done within its time',
        f'running: the call of routine "{running}" was not done within its time',
        "behind: done",
        f"replaced {1 if kind == 'process' else 0}",
    ]


def test_arrays_die_with_their_worker():
    told = lines("lost-arrays")
    assert told[0] in ("call: done",) or told[0].startswith("call: worker 0 was ended by signal 9")
    assert told[1] == "read: worker 0 has died and was replaced; what lay in its memory is gone"


def test_failures_that_nobody_has_asked_for():
    outcome = run("workers", "unseen")
    assert outcome.status == 0
    assert "3 calls of a worker pool have failed and nobody has asked; the first: " in outcome.err
    assert "std::logic_error: I will not" in outcome.err


def test_pools_that_cannot_be():
    told = dict(line.split(": ", 1) for line in lines("refusals"))
    assert told == {
        "none": "a pool of 0 workers; 1 to 4096 are possible",
        "deep": "a worker pool with depth 65; 1 to 64 calls may be under way on one worker",
        "rank": "a pool whose workers are ranks needs two ranks at least: rank 0 is the host, the "
        "others are its workers",
        "program": "worker 0 ended with status 0 before it was ready; a worker's program calls "
        "selion::run or selion::serve_as_worker",
        "missing": "cannot start worker 0, /nowhere/worker: No such file or directory",
        "thread": "a worker pool with a program of its own wants worker_kind::process",
        "large": "the workers' program has no routine \"nothing\"; it has complain, id, report, "
        "rest, until_cancelled",
    }


@pytest.mark.parametrize("machine", ["threads:1", "processes:2"])
def test_workers_print_and_read(machine):
    assert lines("services", machine=machine)[0] == "Linux"


@pytest.mark.parametrize(
    "machine", ["threads:3", "processes:2", "threads:4@2", "sim:multispert", "sim:crossbar,ranks=3"]
)
def test_ranks_print_and_read_on_the_host(machine):
    assert lines("rank-services", machine=machine) == ["Linux"]


@pytest.mark.parametrize("machine", ["threads:1", "processes:1"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_worker_outlives_its_host(machine, number):
    host = subprocess.Popen(
        [programs / "test_workers", "wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env=clean_environment(SELION_MACHINE=machine),
    )
    workers = [int(host.stdout.readline().split()[1]) for _ in range(2)]
    if number == signal.SIGINT:  # as a terminal sends it
        os.killpg(host.pid, number)
    else:
        host.send_signal(number)
    host.wait(timeout=30)
    end = time.monotonic() + 20
    while any(is_alive(each) for each in workers) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(is_alive(each) for each in workers)


def is_alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_the_source_s_example():
    host = subprocess.run([programs / "spc_host"], capture_output=True, text=True, timeout=60)
    assert (host.returncode, host.stdout) == (0, "sum 32896, sum of squares 5625216\n")
    slave = subprocess.run([programs / "spc_slave"], capture_output=True, text=True, timeout=60)
    assert slave.returncode == 1
    assert slave.stderr == "selion: this program is a slave: a host starts it, as spc_server\n"
