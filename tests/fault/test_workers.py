# SPDX-License-Identifier: Apache-2.0
"""Workers that die, take too long or are started wrongly: a sentence for each, and nothing left."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from jobs import clean_environment, patiently, programs, run, site, soon, wait_until_gone


def lines(*arguments: str, machine: str = "threads:1", **changes: str) -> list[str]:
    outcome = run("workers", *arguments, machine=machine, **changes)
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
        'over: the call of routine "id" was not done within its time',
        f"replaced {1 if kind == 'process' else 0}",
    ]


@pytest.mark.parametrize("kind, machine", [("thread", "threads:1"), ("rank", "threads:2@2")])
def test_calls_that_are_skipped_take_no_time_of_workers(kind, machine):
    cancelled = 'the call of routine "rest" was cancelled before a worker had begun it'
    assert lines(f"skipped-{kind}", machine=machine) == [f"skipped: {cancelled}", "right"]


@pytest.mark.parametrize("what", ["wait", "any", "all", "read", "room", "pool"])
@pytest.mark.parametrize("machine", ["threads:3", "processes:3", "threads:3@1"])
@patiently
def test_waits_for_ranks_that_are_workers_are_told_with_their_line(machine, what, timeout):
    outcome = run("workers", f"hang-{what}", machine=machine, SELION_HANG_ACTION="abort",
                  SELION_HANG_TIMEOUT=timeout)
    assert outcome.status == 1
    told = outcome.err.splitlines()
    assert f"  rank 0 waits in a wait for workers at {site('workers.cpp', what)}" in told
    assert f"  rank 1 waits in counter::wait at {site('workers.cpp', 'routine')}" in told
    assert f"  rank 2 waits in worker_pool::serve at {site('workers.cpp', 'serve')}" in told


def test_simulated_workers_that_wait_in_vain_are_told_with_their_line():
    outcome = run("workers", "hang-wait", machine="sim:multispert,boards=2")
    assert outcome.status == 1
    assert f"in a wait for workers at {site('workers.cpp', 'wait')}" in outcome.err
    assert f"in worker_pool::serve at {site('workers.cpp', 'serve')}" in outcome.err


@pytest.mark.parametrize("machine", ["sim:multispert", "sim:multispert,dma=true"])
def test_a_bus_that_reaches_idle_boards_only_does_not_keep_the_host(machine):
    late = "was not done within its time"
    told = lines("ranks-given-up", machine=machine)
    looking, deaf = told[:8], told[8:]
    for each, name, longest in ((looking, "computing", 200), (deaf, "never_looking", 20_000)):
        times = [int(line.split()[1]) for line in each[1::2]]
        assert each[::2] == [f'late: the call of routine "{name}" {late}', "next: done",
                             "cancelled: done", "ended: done"]
        assert 4500 < times[0] <= 5000
        assert times[1] <= longest
        assert times[2] < 10  # the notice waits by itself
        assert times[3] <= longest + 200
    assert int(deaf[3].split()[1]) > 10_000  # until its routine has ended


@pytest.mark.parametrize("machine", ["sim:multispert", "sim:multispert,dma=true",
                                     "sim:multispert,dma=true,clock=33", "sim:crossbar,ranks=5"])
def test_transfers_that_do_not_keep_the_host_are_measured(machine):
    verdict, share = lines("ways", machine=machine)
    assert verdict.startswith("4 workers: 100 % of the time is transfer"), verdict
    assert 90 <= int(share.split()[0]) <= 110


def test_pools_of_ranks_take_what_small_memories_have():
    assert lines("small-memory", machine="sim:epiphany-iii") == ["100"]
    assert lines("small-memories", machine="sim:multispert") == ["100", "100"]


@pytest.mark.parametrize("what", ["call", "array", "argument", "replica"])
def test_handles_that_have_been_moved_away_say_so(what):
    outcome = run("workers", f"moved-{what}", machine="threads:1")
    assert outcome.status == 1
    assert "the handle has been moved away; use the one that it went to" in outcome.err
    if what in ("call", "array"):
        assert site("workers.cpp", f"moved-{what}") in outcome.err


def test_arrays_die_with_their_worker():
    told = lines("lost-arrays")
    assert told[0] in ("call: done",) or told[0].startswith("call: worker 0 was ended by signal 9")
    assert told[1] == "read: worker 0 has died and was replaced; what lay in its memory is gone"


def test_a_pool_before_its_program_serves_has_an_end():
    """Each of its workers would make a pool of its own first."""
    outcome = run("workers", "early")
    assert outcome.status == 1
    assert sorted(line.split()[1] for line in outcome.out.splitlines()) == ["this", "worker"]
    assert "makes a pool before it serves as one" in outcome.out
    assert "before it was ready" in outcome.out


def test_a_child_of_the_host_is_refused():
    refusal = "this pool belongs to the process that has forked this one: make a pool here"
    told = lines("forked")
    assert told[:3] == [f"{what}: {refusal}" for what in ("cancel", "call", "array")]
    assert told[3:] == ["host: done", "behind: done", "again: done"]


def test_a_host_that_spins_sees_that_a_worker_has_died():
    begun = time.monotonic()
    dead = 'worker 0 was ended by signal 9 (Killed) while it ran routine "dies"'
    assert lines("spinning") == [f"dies: {dead}", "next: done"]
    assert time.monotonic() - begun < 40


def test_workers_that_are_killed_with_their_pool(tmp_path):
    begun = time.monotonic()
    assert lines("killed", str(tmp_path / "begun")) == [
        "done: done",
        'running: worker 0 was killed with its pool while it ran routine "announce"',
        "sent: the pool's workers have been killed",
        "waiting: the pool's workers have been killed",
        "later: the pool's workers have been killed",
        "threads: workers that are threads or ranks cannot be killed: cancel their calls, and have "
        "routines look at worker::is_cancelled",
    ]
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("closed", [(0,), (0, 1), (0, 1, 2)])
def test_a_host_without_standard_streams(closed):
    host = subprocess.run(
        [programs / "test_workers", "quiet"],
        preexec_fn=lambda: [os.close(each) for each in closed],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
        timeout=60,
        check=False,
    )
    assert host.returncode == 0


def test_failures_that_nobody_has_asked_for():
    outcome = run("workers", "unseen")
    assert outcome.status == 0
    assert "3 calls of a worker pool have failed and nobody has asked; the first: " in outcome.err
    assert "std::logic_error: I will not" in outcome.err


def test_pools_that_cannot_be():
    outcome = run("workers", "refusals", machine="threads:1")
    assert outcome.status == 0, outcome.err
    assert outcome.sentences() == [
        "this program was started as worker 0, but not by the pool itself: let the program that "
        "the pool starts `exec` it"
    ]
    told = dict(line.split(": ", 1) for line in outcome.out.splitlines())
    assert told == {
        "none": "a pool of 0 workers; 1 to 4096 are possible",
        "deep": "a worker pool with depth 65; 1 to 64 calls may be under way on one worker",
        "rank": "a pool whose workers are ranks needs two ranks at least: rank 0 is the host, the "
        "others are its workers",
        "seen": "workers that are ranks see no memory of the host's: leave shared_bytes out, and "
        "use replicate, or allocate",
        "program": "worker 0 ended with status 0 before it was ready; a worker's program calls "
        "selion::run or selion::serve_as_worker",
        "missing": "cannot start worker 0, /nowhere/worker: No such file or directory",
        "wrapper": "worker 0 ended with status 1 before it was ready; a worker's program calls "
        "selion::run or selion::serve_as_worker",
        "memory": "a worker pool with memory_bytes 18446744073709551615; at most 140737488355328 "
        "are possible",
        "shared": "a worker pool with shared_bytes 18446744073709551615; at most 140737488355328 "
        "are possible",
        "thread": "a worker pool with a program of its own wants worker_kind::process",
        "large": "the workers' program has no routine \"nothing\"; it has announce, "
        "chatter, complain, computing, dies, for_ever, forks, id, length_of, never_looking, "
        "report, rest, shout, three, total, until_cancelled",
        "padded": "the arguments of routine \"three\" are 4160 bytes long; a worker's memory "
        "has 4096: send them in parts, or set memory_bytes",
    }


@pytest.mark.parametrize("kind, machine", [("process", "threads:1"), ("thread", "threads:1"),
                                           ("rank", "processes:2")])
def test_what_a_routine_has_forked_is_no_worker(kind, machine):
    assert lines(f"forking-{kind}", machine=machine) == ["0 1 100 100 100 100"]


def test_a_thread_that_cannot_be_started():
    (told,) = lines("threads")
    assert re.fullmatch(
        r"threads: cannot start worker \d+, a thread: Resource temporarily unavailable; make a "
        r"pool of fewer, or raise `ulimit -u`",
        told,
    )


def test_replicas_outlive_a_worker():
    gone = 'an argument of routine "total" lay in the memory of worker 1, which has died since'
    told = lines("lost-replica")
    assert told[:6] == ["call: done"] * 6
    assert told[6] in (f"none left: {gone}", f"none left: {gone.replace('worker 1', 'worker 0')}")
    assert told[7] == "replaced 2"


def test_a_pool_goes_on_with_the_workers_that_are_left(tmp_path):
    told = lines("lost-successor", str(tmp_path / "worker"))
    assert all("cannot start worker 0, " in line for line in told[:2])
    assert told[2:] == ["any: done"] * 3


files = pytest.mark.parametrize(
    "what, machine",
    [("files", "threads:1"), *(("rank-files", each) for each in ("threads:2", "processes:2"))],
)


@files
def test_files_that_can_be_read_and_others(tmp_path, what, machine):
    file = tmp_path / "file"
    file.write_bytes(bytes(3 << 20))
    start = 'read: routine "length_of" on worker 0 ended with an exception of type selion::error: '
    assert lines(what, str(file), machine=machine) == [
        str(3 << 20),
        start + 'cannot read "/nowhere/file": No such file or directory',
        start + 'cannot read "/proc": Is a directory',
        start + 'cannot read "": No such file or directory',
    ]


def test_ranks_print_more_than_a_message_holds():
    assert lines("rank-shouts", machine="threads:2") == ["!" * (5 << 20)]


def test_processes_print_in_one_piece():
    host = subprocess.Popen(
        [programs / "test_workers", "chatter"],
        stdout=subprocess.PIPE,
        env=clean_environment(SELION_MACHINE="threads:1"),
    )
    time.sleep(0.5)  # the pipe is full, and all wait for us
    told = host.communicate(timeout=60)[0].splitlines()
    assert sorted(told) == [b"a" * 300_000] * 10 + [b"b" * 300_000] * 10


def test_slots_of_calls_are_part_of_a_small_heap():
    assert lines("rank-depth", machine="threads:2", SELION_HEAP="1M") == ["call: done"]


def test_slaves_take_what_they_say_and_can_be_exchanged():
    assert lines("spc", str(programs / "spc_slave")) == [
        f"sum {(65536 - 8) // 4}",
        "all: done",
        'more: routine "selion.spc" on worker 0 ended with an exception of type selion::error: '
        "the call's arguments are 65540 bytes long; the slave's event loop takes 65536",
        "new: an SPC server is waited for that has no call",
        "sum 5",
        "own: done",
        'vector: routine "selion.spc" on worker 0 ended with an exception of type selion::error: '
        "argument 1 of the call is 2 elements of i32, not one",
        "long: an SPC call's arguments are 8 TiB long; this host has no room for them: send them "
        "in parts",
        "endless: 2305843009213693952 elements of 8 bytes are more than any memory has",
    ]


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
    assert not wait_until_gone(workers, soon)


def started(program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program], env=clean_environment(), capture_output=True, text=True,
                          timeout=60)


def test_the_source_s_example():
    host = started(programs / "spc_host")
    assert (host.returncode, host.stdout) == (0, "sum 32896, sum of squares 5625216\n")
    slave = started(programs / "spc_slave")
    assert slave.returncode == 1
    assert slave.stderr == "selion: this program is a slave: a host starts it, as spc_server\n"


def test_the_source_s_example_tells_of_a_slave_that_is_missing_or_dies(tmp_path):
    shutil.copy(programs / "spc_host", tmp_path)
    missing = started(tmp_path / "spc_host")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == (f"spc_host: cannot start worker 0, {tmp_path}/spc_slave: "
                              "No such file or directory\n")
    (tmp_path / "spc_slave").symlink_to("/bin/false")
    dead = started(tmp_path / "spc_host")
    assert (dead.returncode, dead.stdout) == (1, "")
    assert dead.stderr.splitlines()[-1].startswith("spc_host: ")


def told_by_a_program(*arguments: str, **where: Path) -> list[str]:
    outcome = subprocess.run([programs / "test_worker_processes", *arguments], text=True,
                             env=clean_environment(), stdout=subprocess.PIPE, timeout=60, **where)
    assert outcome.returncode == 0
    return outcome.stdout.splitlines()


def test_successors_are_the_same_program_elsewhere():
    here = {"cwd": programs}
    assert told_by_a_program("elsewhere", "./test_worker_processes", **here) == ["goes on"]


def test_a_process_that_has_the_number_of_a_dead_worker_is_left_alone():
    told = told_by_a_program("number")
    if told == ["no number"]:
        pytest.skip("processes cannot be given numbers here")
    assert told == ["goes on", "other lives"]
