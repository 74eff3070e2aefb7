# SPDX-License-Identifier: Apache-2.0
"""Jobs that begin where they cannot, need not or must not, and programs that leave during one."""

from __future__ import annotations

import json
import mmap
import os
import re
import resource
import signal
from pathlib import Path

import pytest
from test_tuning import rows_for, write
from jobs import Job, is_sanitized, patiently, run, soon

machines = {"threads:3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4}


def ranks_that_say(what: str, ranks: int) -> list[str]:
    return [f"{what} rank {rank} of {ranks}" for rank in range(ranks)]


def lines(text: str) -> list[str]:
    return sorted(text.rstrip("\n").split("\n"))


@pytest.mark.parametrize("first", ["processes:20000", "sim:nowhere"])
def test_a_job_after_one_that_could_not_start(first: str):
    """The ranks of the second pass by the first call, though nothing has come of it."""
    outcome = run("starting", "each", first, "processes:2")
    assert outcome.status == 0
    assert len(outcome.sentences()) == 1
    assert lines(outcome.out) == sorted([*ranks_that_say("processes:2", 2), "statuses 2 0"])


def test_jobs_on_different_machines_run_once(tmp_path: Path):
    """Ranks that are processes pass by what was done before they were started."""
    chosen = {"threads:2": 2, "processes:2": 2, "sim:crossbar,ranks=3": 3, "processes:3": 3}
    trace, meters = tmp_path / "t.json", tmp_path / "m.jsonl"
    outcome = run("starting", "each", *chosen, SELION_TRACE=str(trace), SELION_METERS=str(meters))
    assert (outcome.status, outcome.err) == (0, "")
    assert lines(outcome.out) == sorted([
        *(line for machine, ranks in chosen.items() for line in ranks_that_say(machine, ranks)),
        "statuses 0 0 0 0",
    ])
    for number, ranks in enumerate(chosen.values(), 1):
        middle = "" if number == 1 else f".{number}"
        assert json.loads((tmp_path / f"t{middle}.json").read_text())
        read = [json.loads(line) for line in
                (tmp_path / f"m{middle}.jsonl").read_text().splitlines()]
        barriers = [line["rank"] for line in read if line.get("name") == "barrier"]
        assert sorted(barriers) == list(range(ranks))
    assert len(list(tmp_path.iterdir())) == 2 * len(chosen)


def test_a_program_may_leave_out_a_job_that_is_over(tmp_path: Path):
    meters = tmp_path / "m.jsonl"
    outcome = run("starting", "left", SELION_METERS=str(meters))
    assert (outcome.status, outcome.err) == (0, "")
    assert lines(outcome.out) == sorted([*ranks_that_say("first", 2), *ranks_that_say("second", 3)])
    read = [json.loads(line) for line in (tmp_path / "m.2.jsonl").read_text().splitlines()]
    assert sorted(line["rank"] for line in read if line.get("name") == "barrier") == [0, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.2.jsonl", "m.jsonl"]


def test_a_device_takes_what_all_jobs_record():
    outcome = run("starting", "left", SELION_METERS="/dev/stdout")
    assert (outcome.status, outcome.err) == (0, "")
    read = [json.loads(line) for line in lines(outcome.out) if line.startswith("{")]
    assert sorted(line["rank"] for line in read if line.get("name") == "barrier") == [
        0, 0, 1, 1, 2]


@pytest.mark.skipif(is_sanitized, reason="a sanitizer looks for leaks in the copy, in vain")
def test_copies_of_ranks_start_no_processes():
    """Each would start ranks, and these copies of themselves, without end."""
    outcome = run("starting", "copy", machine="processes:2")
    assert outcome.status == 2
    assert set(lines(outcome.out)) == {"copy 0", "copy 1"}  # of two ranks, if there is time
    assert any("is a copy (fork)" in sentence for sentence in outcome.sentences())
    assert run("starting", "copy", machine="threads:2").status == 0


@pytest.mark.parametrize("machine", machines)
def test_two_jobs_at_once_are_refused(machine: str):
    for _ in range(5):
        outcome = run("starting", "at_once", machine=machine, SELION_HANG_TIMEOUT="0")
        assert outcome.status == 1
        assert outcome.sentences()
        assert all("a job is under way" in sentence for sentence in outcome.sentences())


@pytest.mark.parametrize("left", ["0", "1", "2", "3"])
@pytest.mark.parametrize("machine", machines)
def test_a_program_that_has_all_files_open(machine: str, left: str):
    def allow_few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    outcome = run("starting", "full", left, machine=machine, prepare=allow_few)
    if left in "01":
        assert outcome.status == 1
        [sentence] = outcome.sentences()
        assert "there is no file descriptor for" in sentence
        assert "raise `ulimit -n`" in sentence
    else:
        assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.skipif(is_sanitized, reason="a sanitizer starts threads of its own")
@pytest.mark.parametrize("machine", ["threads:3", "threads:8@2", "threads:1"])
def test_a_thread_that_cannot_be_made_is_told(machine: str):
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        pytest.skip("the stacks of threads cannot be made too large here")

    def want_large_stacks() -> None:
        beyond_any_address_space = 1 << 60
        limits = (beyond_any_address_space, resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_STACK, limits)

    outcome = run("starting", "plain", machine=machine, prepare=want_large_stacks)
    assert outcome.status == 1
    [sentence] = outcome.sentences()
    assert sentence.startswith("cannot make a thread for ranks")


@pytest.mark.skipif(is_sanitized, reason="a sanitizer maps more than that")
@pytest.mark.parametrize("machine", ["threads:2", "threads:8@2", "processes:2", "sim:crossbar"])
def test_a_limit_of_writable_memory_is_kept_to(machine: str):
    def allow_little() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))

    outcome = run("starting", "plain", machine=machine, prepare=allow_little)
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("machine", machines)
def test_a_program_may_close_what_it_has_not_opened(machine: str, tmp_path: Path):
    """Ranks that are processes have got files of the first one."""
    table = tmp_path / "table.json"
    write(table, rows_for("processes:2", "lines:k_nomial:2"))
    for changes in ({}, {"SELION_TUNING": str(table)}):
        outcome = run("starting", "closed", machine=machine, **changes)
        assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("machine", machines)
def test_a_thread_that_waits_for_input_is_no_hindrance(machine: str):
    with Job("starting", "reader", machine=machine) as job:
        job.wait_for("^over$")
        outcome = job.end()
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("machine", machines)
def test_a_program_that_leaves_during_a_job_has_failed(machine: str):
    with Job("starting", "leave", machine=machine, SELION_HANG_TIMEOUT="0") as job:
        job.wait_for("^leaving rank", machines[machine])
        job.process.stdin.close()
        outcome = job.end(within=soon)
    assert outcome.status == 1
    assert outcome.sentences() == [
        "a thread of the program called exit(0) while a job ran; the job ends"]


@pytest.mark.parametrize("machine", machines)
def test_mistakes_after_the_function_end_the_job(machine: str):
    """All processes make them at the same time, and afterwards the first one does."""
    outcome = run("starting", "late", machine=machine)
    assert outcome.status == 1
    sentences = outcome.sentences()
    assert len(sentences) == (2 if machine.startswith("processes") else 1)
    assert all("this thread belongs to no rank" in sentence for sentence in sentences)


@pytest.mark.skipif(is_sanitized, reason="a sanitizer maps more than that")
@pytest.mark.parametrize("machine", ["threads:2", "threads:2@1", "processes:2"])
def test_a_program_that_keeps_its_memory_in_place_keeps_no_reserve_there(machine: str):
    """What ranks may grow to is not touched at once."""
    outcome = run("starting", "locked", machine=machine, SELION_HEAP="256M")
    if outcome.status == 65:
        pytest.skip("no memory can be kept in place here")
    assert (outcome.status, outcome.err) == (0, "")
    touched = [int(one) for one in re.findall(r"^VmRSS:\s+(\d+) kB$", outcome.out, re.M)]
    assert len(touched) == 2
    assert max(touched) < 200 * 1024


@pytest.mark.skipif(is_sanitized, reason="a sanitizer has memory of its own for each thread")
def test_many_threads_take_little_memory_for_each_other():
    """What each keeps for each is there once they have to do with one another."""
    outcome = run("starting", "memory", machine="threads:1000@1000", SELION_HEAP="1M",
                  SELION_HANG_TIMEOUT="0")
    assert (outcome.status, outcome.err) == (0, "")
    [touched] = re.findall(r"^VmRSS:\s+(\d+) kB$", outcome.out, re.M)
    # Each thread touches some pages of its own.
    assert int(touched) < 150 * 1024 + 1000 * (mmap.PAGESIZE // 1024 - 4) * 8


@pytest.mark.parametrize("machine", machines)
def test_a_job_may_begin_while_the_program_leaves(machine: str):
    """Under processes each of the first job's leaves as well, and has no part in the second."""
    outcome = run("starting", "runs_late", machine=machine)
    assert (outcome.status, outcome.err) == (0, "")
    ranks = machines[machine]
    said = [line for line in lines(outcome.out) if line.startswith("late rank")]
    assert said == ranks_that_say("late", ranks)
    assert outcome.out.count("late status 3\n") == 1


@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
@patiently
def test_processes_that_do_not_end_are_told(machine: str, timeout: str):
    """Their ranks have returned, so that no wait of a rank tells of them."""
    who = ["rank 0", "rank 1", "rank 2"] if machine == "processes:3" else ["ranks 0-1", "ranks 2-3"]
    with Job("starting", "ranks_stay", machine=machine, SELION_HANG_TIMEOUT=timeout) as job:
        for name in who:
            job.wait_for(rf"^  {name} \(process \d+\)$")
        os.kill(job.process.pid, signal.SIGTERM)
        outcome = job.end(within=soon)
    assert outcome.status == -signal.SIGTERM
    assert re.search(rf"hang: .* of {machine} ha(s|ve) not ended {timeout} s after", job.err)
    ended = run("starting", "ranks_stay", machine=machine, SELION_HANG_TIMEOUT=timeout,
                SELION_HANG_ACTION="abort")
    assert ended.status == 1
    assert ended.sentences()[-1] == "SELION_HANG_ACTION=abort: the job ends"


@pytest.mark.skipif(is_sanitized, reason="a sanitizer makes frames larger")
@pytest.mark.parametrize("machine", ["threads:1", "threads:2@2", "processes:2", "processes:1x2",
                                     "sim:crossbar,ranks=2,context=threads"])
def test_ranks_have_a_large_stack_where_it_is_unlimited(machine: str):
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        pytest.skip("stacks are limited here")

    def lift() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY,) * 2)

    outcome = run("starting", "stack", machine=machine, prepare=lift)
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("machine", ["threads:3", "threads:8@2"])
@patiently
def test_a_hang_that_ends_the_job_keeps_what_was_printed(machine: str, timeout: str):
    outcome = run("starting", "print", machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    assert lines(outcome.out) == [f"rank {rank} prints" for rank in range(machines[machine])]


@pytest.mark.parametrize("machine", machines)
def test_ranks_have_the_arguments_that_the_program_was_started_with(machine: str):
    """Also if it has written over them, as some do to tell the system what they are at."""
    outcome = run("starting", "retitled", "kept", machine=machine)
    assert (outcome.status, outcome.err) == (0, "")
    assert lines(outcome.out) == sorted(ranks_that_say("kept", machines[machine]))
