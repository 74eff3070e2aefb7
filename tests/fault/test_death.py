# SPDX-License-Identifier: Apache-2.0
"""A rank that dies ends the job in under 2 s, and standard error says which rank, how, and what it
was doing; nothing is left behind."""

from __future__ import annotations

import os
import platform
import random
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from jobs import (
    Job, files_used_by, is_alive, is_sanitized, members_of, names_of_memory, programs, run, site,
    soon, trying, wait_until_gone,
)

_source = Path(__file__).resolve().parents[2]

machines = {"threads:3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4}
simulated = {"sim:crossbar,ranks=3": 3, "sim:crossbar,ranks=3,context=threads": 3}
process_machines = {name: ranks for name, ranks in machines.items() if "processes" in name}
#: What the sentence must say of each death, and the exit status.
deaths = {
    "segv": ("signal 11", {-11, 139}),
    "abort": ("signal 6", {-6, 134}),
    "trap": ("signal 5", {-5, 133}),
    "sys": ("signal 31", {-31, 159}),
    "overflow": ("signal 11", {-11, 139}),
    "throw": ("an exception of type std::runtime_error: the cause is told", {1}),
    "throw_int": ("an exception of type int: it is no std::exception", {1}),
    "exit0": (r"exit\(0\)|exit status 0", {1}),
    "exit7": (r"exit\(7\)|exit status 7", {7}),
    "_exit3": ("exit status 3", {3}),
}
by_signal = ("segv", "abort", "trap", "sys", "overflow")
# Where a rank never calls Selion, the one that dies must not share its thread.
apart = {"threads:3@3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4}


def end_of(victim: int, machine: str, ranks: int, how: str, first: str = "barrier",
           within: float = soon):
    with Job("dying", how, str(victim), first, machine=machine) as job:
        processes = job.processes(ranks)
        job.wait_for("^dying$")
        start = time.monotonic()
        outcome = job.end(within=within)
        print(f"{machine} {how}, first {first}: ended after {time.monotonic() - start:.3f} s")
        assert not any(is_alive(one) for one in processes.values())
        return outcome


@pytest.mark.parametrize("how", deaths)
@pytest.mark.parametrize("machine", machines | simulated)
def test_a_death_is_told(machine: str, how: str):
    if is_sanitized and how in by_signal:
        pytest.skip("the sanitizer reports fatal signals itself")
    if how == "_exit3" and machine not in process_machines:
        pytest.skip("_exit ends the process that all ranks are in, with no chance to say anything")
    ranks = (machines | simulated)[machine]
    outcome = end_of(1, machine, ranks, how)
    what, statuses = deaths[how]
    assert outcome.status in statuses
    [sentence] = outcome.sentences()
    assert outcome.err == f"selion: {sentence}\n"
    assert re.search(what, sentence)
    assert bool(re.search("its stack (of .* )?has ended", sentence)) == (how == "overflow")
    if how == "_exit3" and machine == "processes:2x2":
        assert "ranks 0-1 of 4" in sentence  # the kernel does not say which thread it was
    else:
        assert sentence.startswith(f"rank 1 of {ranks} ")
        assert f"after barrier #3 at {site('dying.cpp', 'last call')}" in sentence


@pytest.mark.parametrize("machine", machines | simulated)
def test_what_has_been_started_last_is_told(machine: str):
    [sentence] = end_of(1, machine, (machines | simulated)[machine], "throw", "starts").sentences()
    assert f"in its own code, after broadcast at {site('dying.cpp', 'start')}" in sentence


@pytest.mark.skipif(is_sanitized, reason="the sanitizer reports fatal signals itself")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="others tell such an address")
@pytest.mark.parametrize("machine", ["threads:3", "processes:3", "sim:crossbar,ranks=3"])
def test_a_garbage_pointer_is_told_from_a_null_one(machine: str):
    [sentence] = end_of(1, machine, 3, "garbage").sentences()
    assert "signal 11" in sentence
    assert " at an address that no program can have (a garbage pointer, " in sentence
    assert "0x0" not in sentence


@pytest.mark.skipif(is_sanitized, reason="the sanitizer reports fatal signals itself")
@pytest.mark.parametrize(("machine", "stack"), {
    "threads:3@3": "its stack has ended (`ulimit -s` sets its size)",
    "threads:3@1": "its stack of 2 MiB has ended (SELION_STACK sets its size)",
    "processes:3": "its stack has ended (`ulimit -s` sets its size)",
    "sim:crossbar,ranks=3": "its stack of 2 MiB has ended (SELION_STACK sets its size)",
    "sim:crossbar,ranks=3,context=threads": "its stack has ended (`ulimit -s` sets its size)",
}.items())
def test_what_sets_the_size_of_a_stack_is_told(machine: str, stack: str):
    outcome = run("dying", "overflow", "1", machine=machine, SELION_STACK="2M")
    [sentence] = outcome.sentences()
    assert stack in sentence


@pytest.mark.skipif(is_sanitized, reason="the sanitizer reports fatal signals itself")
@pytest.mark.parametrize("machine", ["threads:3@1", "sim:crossbar,ranks=3"])
def test_a_large_array_reaches_no_other_ranks_stack(machine: str):
    outcome = run("dying", "large_frame", "1", machine=machine, SELION_STACK="2M")
    assert outcome.status in {-11, 139}
    [sentence] = outcome.sentences()
    assert sentence.startswith("rank 1 of 3 ")
    assert "its stack of 2 MiB has ended" in sentence


@pytest.mark.skipif(is_sanitized, reason="the sanitizer reports fatal signals itself")
@pytest.mark.parametrize("machine", ["threads:3", "threads:8@2", "processes:3"])
def test_a_death_within_the_allocator_is_told(machine: str):
    """It has its lock, and can give no memory for a sentence."""
    outcome = run("dying", "corrupt", "1", machine=machine)
    assert outcome.status in {-6, 134}
    told = re.compile(r"rank 1 of \d .*signal 6\b")
    assert any(map(told.match, outcome.sentences())), outcome.err


@pytest.mark.skipif(is_sanitized, reason="the sanitizer reports fatal signals itself")
@pytest.mark.parametrize("how", ["segv_spoiled", "segv_seen"])
@pytest.mark.parametrize("machine", ["threads:3", "threads:8@2", "processes:3",
                                     "sim:crossbar,ranks=3"])
def test_a_death_is_told_though_telling_it_is_one_too(machine: str, how: str):
    """The sentence wants memory, and the heap is no longer one."""
    outcome = run("dying", how, "1", machine=machine)
    [sentence] = outcome.sentences()
    number = int(re.match(r"rank 1 of \d .*signal (\d+)\b", sentence)[1])
    assert outcome.status in {-number, 128 + number}
    # Where others have left blocks in its heap, the allocator may be the first to see it.
    assert number in (signal.SIGSEGV, signal.SIGABRT)


@pytest.mark.skipif(is_sanitized, reason="the sanitizer reports fatal signals itself")
@pytest.mark.parametrize("kind", ["threads", "processes"])
@pytest.mark.parametrize(("how", "option"), [("overflow_in_handler", ",progress=interrupt"),
                                             ("overflow_joined", "")])
def test_a_thread_beside_a_rank_that_overflows_names_the_rank(kind: str, how: str, option: str):
    outcome = run("dying", how, "1", machine=f"{kind}:3{option}", SELION_THREAD_LEVEL="multiple")
    assert outcome.status in {-11, 139}
    [sentence] = outcome.sentences()
    assert sentence.startswith("rank 1 of 3 ")
    assert "signal 11" in sentence
    assert "its stack has ended (`ulimit -s` sets its size)" in sentence


@pytest.mark.skipif(is_sanitized, reason="the sanitizer reports fatal signals itself")
@pytest.mark.parametrize("how", ["segv", "abort"])
@pytest.mark.parametrize("machine", ["threads:4@4", "threads:4@2", "processes:3"])
def test_one_of_those_that_die_together_is_told_of(machine: str, how: str):
    for _ in range(20):
        outcome = run("dying", how, "0", "together", machine=machine)
        assert outcome.status in deaths[how][1]
        [sentence] = outcome.sentences()
        assert re.search(deaths[how][0], sentence)


@pytest.mark.parametrize("first", ["busy", "deaf"])
@pytest.mark.parametrize("how", ["segv", "throw", "exit0"])
@pytest.mark.parametrize("machine", apart)
def test_ranks_that_work_end_too(machine: str, how: str, first: str):
    if is_sanitized and how in by_signal:
        pytest.skip("the sanitizer reports fatal signals itself")
    outcome = end_of(apart[machine] - 1, machine, apart[machine], how, first)
    assert outcome.status != 0
    assert len(outcome.sentences()) == 1


@pytest.mark.skipif(is_sanitized, reason="a sanitizer takes its time")
@trying(attempt=range(3))
def test_the_end_comes_in_under_two_seconds(attempt: int):
    """Though a rank has to be killed. Others may have the processors, so once is enough."""
    end_of(2, "processes:3", 3, "throw", "deaf", within=2)


@pytest.mark.parametrize("how", ["throw", "exit0"])
@pytest.mark.parametrize("machine", apart)
def test_a_rank_that_reads_input_ends_too(machine: str, how: str):
    """It holds the lock of its stream, which must not keep the job from ending."""
    outcome = end_of(apart[machine] - 1, machine, apart[machine], how, "reading")
    assert outcome.status != 0
    assert len(outcome.sentences()) == 1


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("machine", process_machines)
def test_any_process_may_be_killed(machine: str, number: int):
    ranks = process_machines[machine]
    with Job("dying", "wait", "1", machine=machine) as job:
        processes = job.processes(ranks)
        job.wait_for("^dying$")
        if number >= len(set(processes.values())):
            pytest.skip(f"{machine} has no such process")
        target = sorted(set(processes.values()))[number]
        killed = sorted(rank for rank, process in processes.items() if process == target)
        start = time.monotonic()
        os.kill(target, signal.SIGKILL)
        outcome = job.end(within=soon)
        print(f"{machine}: ended {time.monotonic() - start:.3f} s after SIGKILL")
        assert not any(is_alive(one) for one in processes.values())
    [sentence] = outcome.sentences()
    if len(killed) > 1:
        assert f"(ranks {killed[0]}-{killed[-1]} of {ranks})" in sentence
    else:
        assert f"rank {killed[0]} of {ranks} " in sentence
        calls = ("last call", "waits to be killed" if killed == [1] else "others wait")
        assert any(site("dying.cpp", call) in sentence for call in calls)
    assert "signal 9 (Killed)" in sentence
    assert outcome.status == 137


@pytest.mark.skipif(is_sanitized, reason="the sanitizer reports fatal signals itself")
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS])
def test_a_signal_that_was_sent_has_no_address(number: signal.Signals):
    """Where a fault has its address, it has the number of its sender."""
    with Job("dying", "wait", "1", machine="processes:3") as job:
        processes = job.processes(3)
        job.wait_for("^dying$")
        os.kill(processes[1], number)
        outcome = job.end(within=soon)
    [sentence] = outcome.sentences()
    assert sentence.startswith(f"rank 1 of 3 was ended by signal {int(number)} (")
    assert "address" not in sentence and "its stack" not in sentence


@pytest.mark.parametrize("machine", machines)
def test_the_first_process_may_be_killed(machine: str):
    with Job("dying", "wait", "1", machine=machine) as job:
        processes = set(job.processes(machines[machine]).values())
        job.wait_for("^dying$")
        start = time.monotonic()
        os.kill(job.process.pid, signal.SIGKILL)
        assert wait_until_gone(processes, soon) == []
        print(f"{machine}: all gone {time.monotonic() - start:.3f} s after SIGKILL of the first")
        assert job.end(within=soon).status == -9


@pytest.mark.skipif(is_sanitized, reason="a sanitizer will not watch a program with privileges")
@pytest.mark.parametrize("machine", process_machines)
def test_the_first_process_of_a_program_with_privileges_may_be_killed(machine: str,
                                                                      tmp_path: Path):
    """The system forgets who wants to die with it as such a program is executed."""
    program = tmp_path / "test_dying"
    shutil.copy(programs / "test_dying", program)
    groups = {os.getegid() + 1} if os.geteuid() == 0 else set(os.getgroups()) - {os.getegid()}
    if not groups or os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
        pytest.skip("no program can be given privileges here")
    try:
        os.chown(program, -1, groups.pop())
    except OSError as trouble:
        pytest.skip(f"no program can be given to another group here: {trouble}")
    program.chmod(0o2755)
    with Job("", "wait", "1", machine=machine, command=[program]) as job:
        processes = set(job.processes(machines[machine]).values())
        job.wait_for("^dying$")
        os.kill(job.process.pid, signal.SIGKILL)
        assert wait_until_gone(processes, soon) == []


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("machine", machines)
def test_any_moment_will_do(machine: str, seed: int):
    """While processes are being started, too, nobody is forgotten."""
    moments = random.Random(seed)
    with Job("dying", "wait", "1", machine=machine) as job:
        job.run_for(moments.uniform(0, 0.03))
        number = moments.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        os.kill(job.process.pid, number)
        assert job.end(within=soon).status == -number
        assert wait_until_gone(members_of(job.process.pid), soon) == []


@pytest.mark.parametrize("machine", machines)
def test_nothing_has_a_name_in_a_file_system(machine: str):
    """What has no name cannot be left behind, whoever is killed."""
    before = names_of_memory()
    with Job("dying", "wait", "1", machine=machine) as job:
        processes = set(job.processes(machines[machine]).values())
        job.wait_for("^dying$")
        for process in {job.process.pid, *processes}:
            for name in files_used_by(process):
                if name.startswith(str(_source)):  # the program itself; a clone may lie in /tmp
                    continue
                is_removed = name.endswith(" (deleted)")
                assert not name.startswith(("/dev/shm/", "/tmp/")) or is_removed, name
                if is_removed and not is_sanitized:
                    assert name.startswith("/memfd:selion"), name
        os.kill(job.process.pid, signal.SIGKILL)
        assert wait_until_gone(processes, soon) == []
    assert names_of_memory() <= before
    assert not Path(f"/proc/{job.process.pid}").exists()
