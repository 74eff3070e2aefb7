# SPDX-License-Identifier: Apache-2.0
"""A wait that lasts too long is explained: who is absent from which call, and where; so is the
state of a job that is asked for it."""

from __future__ import annotations

import re
import signal
import time

import pytest
from jobs import Job, limit, patiently, run, site

machines = {"threads:3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4}


def others(ranks: int, but: int = 1) -> str:
    """`0, 2-7`: all ranks but one."""
    left = [rank for rank in range(ranks) if rank != but]
    parts = []
    for rank in left:
        if parts and parts[-1][1] == rank - 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


@pytest.mark.parametrize("machine", machines)
@patiently
def test_a_skipped_barrier_is_explained_and_ended(machine: str, timeout: str):
    outcome = run("waiting", "skip", machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    barrier, instead = site("waiting.cpp", "barrier"), site("waiting.cpp", "instead")
    assert outcome.status == 1
    first, *middle, last = outcome.err.strip().split("\n")
    assert re.fullmatch(rf"selion: hang: a rank of {machine}(@\d+)? has waited for {timeout} s",
                        first)
    assert middle == [
        f"  ranks {others(machines[machine])} wait in barrier #2 at {barrier}",
        f"    absent: rank 1: in wait_until at {instead}",
        f"  rank 1 waits in wait_until at {instead} for a signal of at least 1; it is 0",
    ]
    assert last == "selion: SELION_HANG_ACTION=abort: the job ends"


@pytest.mark.parametrize("machine", [*machines, "threads:3,progress=interrupt"])
@patiently
def test_waits_for_counters_and_answers_are_explained(machine: str, timeout: str):
    outcome = run("waiting", "operations", machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    lines = outcome.err.strip().split("\n")
    future, counter = site("waiting.cpp", "future"), site("waiting.cpp", "counter")
    assert f"  rank 0 waits in future::wait at {future}" in lines
    assert f"  rank 1 waits in counter::wait at {counter}" in lines
    assert f"    absent: rank 0: in future::wait at {future}" in lines
    assert f"    absent: rank 1: in counter::wait at {counter}" in lines


@patiently
def test_a_collective_of_the_library_is_told_by_the_line_that_asked_for_it(timeout: str):
    outcome = run("waiting", "summary", machine="threads:3", SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    where, instead = site("waiting.cpp", "summary"), site("waiting.cpp", "no summary")
    lines = outcome.err.strip().split("\n")
    assert f"  ranks 0, 2 wait in all_reduce #2 at {where}" in lines
    assert f"    absent: rank 1: in wait_until at {instead}" in lines


@pytest.mark.parametrize("machine", machines)
@patiently
def test_a_report_comes_once_and_the_job_goes_on(machine: str, timeout: str):
    with Job("waiting", "line", machine=machine, SELION_HANG_TIMEOUT=timeout) as job:
        job.wait_for("^ready$")
        job.wait_for(r"for a signal of at least 3; it is 1$")
        job.say("go on\n")
        outcome = job.end()
    assert outcome.status == 0
    [sentence] = outcome.sentences()
    assert sentence.startswith("hang: ")


@pytest.mark.parametrize("how", ["serves", "tests"])
@pytest.mark.parametrize("machine", ["threads:3", "threads:4@2", "processes:3", "processes:2x2"])
def test_ranks_that_look_again_and_again_do_not_hang(machine: str, how: str):
    outcome = run("waiting", how, "1500", machine=machine, SELION_HANG_TIMEOUT="0.4",
                  SELION_HANG_ACTION="abort")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")


@pytest.mark.parametrize("machine", machines)
def test_where_nobody_waits_the_state_is_the_last_calls(machine: str):
    ranks, place = machines[machine], site("waiting.cpp", "poll")
    with Job("waiting", "polls", machine=machine) as job:
        job.wait_for("^ready$", ranks)
        end, number, report = time.monotonic() + limit, 0, ""
        # Until then a rank is on its way into the loop.
        while report != (f"  ranks 0-{ranks - 1} do not wait; last known call: test at {place} for "
                         "a signal of at least 2; it is 0"):
            assert time.monotonic() < end, job.err
            number += 1
            job.process.send_signal(signal.SIGUSR1)
            job.wait_for(r"^selion: state of the job on .*\n  .*\n", number)
            report = job.err.rsplit("selion: ", 1)[1].rstrip("\n").split("\n", 1)[1]


@pytest.mark.parametrize("older", [(), ("thread",)], ids=["alone", "beside-an-older-thread"])
@pytest.mark.parametrize("machine", machines)
def test_a_signal_asks_for_the_state(machine: str, older: tuple[str, ...]):
    ranks = machines[machine]
    with Job("waiting", "line", *older, machine=machine) as job:
        job.wait_for("^ready$")
        lines = [f"  ranks 1-{ranks - 1} wait in wait_until at {site('waiting.cpp', 'signal')} for "
                 "a signal of at least 3; it is 1"]
        end, number, report = time.monotonic() + limit, 0, []
        # Until then a rank is on its way into the wait.
        while [line for line in report if not line.startswith("  rank 0 ")] != lines:
            assert time.monotonic() < end, job.err
            number += 1
            job.process.send_signal(signal.SIGUSR1)
            job.wait_for("^selion: state of the job on", number)
            report = job.err.rsplit("selion: ", 1)[1].rstrip("\n").split("\n")[1:]
        job.say("go on\n")
        assert job.end().status == 0


@pytest.mark.parametrize("machine", machines)
@patiently
def test_a_rank_that_has_returned_is_absent(machine: str, timeout: str):
    outcome = run("waiting", "return", machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    barrier, end = site("waiting.cpp", "before the end"), site("waiting.cpp", "run")
    waiting = others(machines[machine])
    assert outcome.err.strip().split("\n")[1:-1] == [
        f"  ranks {waiting} wait in barrier #2 at {barrier}",
        "    absent: rank 1: its function has returned",
        f"  rank 1 waits in the end of run at {end}",
        f"    absent: ranks {waiting}: in barrier #2 at {barrier}",
    ]


@pytest.mark.parametrize("machine", ["threads:3", "processes:3"])
@patiently
def test_what_a_rank_has_returned_is_told_where_others_wait_for_it(machine: str, timeout: str):
    outcome = run("waiting", "status", machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    assert ("    absent: rank 1: its function has returned 7 (which ends no other rank: an "
            "exception or std::exit(7) ends the job)\n") in outcome.err


@pytest.mark.parametrize("machine", machines)
def test_a_time_limit_tells_itself_and_whom_it_has_waited_for(machine: str):
    outcome = run("waiting", "limit", machine=machine)
    ranks = machines[machine]
    assert outcome.status == 0, outcome.err
    place, late = site("waiting.cpp", "limited"), site("waiting.cpp", "late")
    lines = outcome.out.strip().split("\n")
    assert len(lines) == ranks - 1
    for line in lines:
        assert re.fullmatch(rf"rank \d has waited too long in barrier #2 at {place}, which was to "
                            rf"end within 0.25 s; absent: rank 1, in wait_until at {late}", line)


@pytest.mark.parametrize(("how", "mark", "status"),
                         [("return", "before the end", ""), ("status", "others have failed", " 7")])
def test_a_deadlock_of_simulated_ranks_is_told_as_hangs_are(how: str, mark: str, status: str):
    outcome = run("waiting", how, machine="sim:crossbar,ranks=3")
    assert outcome.status == 1
    first, waiting, absent = outcome.err.strip().split("\n")
    assert re.fullmatch(r"selion: deadlock at \d+ ps: nothing can happen any more", first)
    assert waiting == f"  ranks 0, 2 wait in barrier #2 at {site('waiting.cpp', mark)}"
    assert absent.startswith(f"    absent: rank 1: its function has returned{status}")
    assert ("std::exit(7)" in absent) == bool(status)


def test_simulated_ranks_that_wait_for_signals_are_told_together():
    outcome = run("waiting", "summary", machine="sim:crossbar,ranks=4")
    where, instead = site("waiting.cpp", "summary"), site("waiting.cpp", "no summary")
    assert outcome.err.strip().split("\n")[1:] == [
        f"  ranks 0, 2-3 wait in all_reduce #2 at {where}",
        f"    absent: rank 1: in wait_until at {instead}",
        f"  rank 1 waits in wait_until at {instead} for a signal of at least 1; it is 0",
    ]


@pytest.mark.parametrize("machine", ["threads:3@3", "processes:3"])
@patiently
def test_a_rank_that_works_for_ever_is_absent(machine: str, timeout: str):
    outcome = run("waiting", "work", machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    allocate, sync = site("waiting.cpp", "allocate"), site("waiting.cpp", "sync")
    assert (f"  ranks 0, 2 wait in sync #2 at {sync}\n    absent: rank 1: in its own code, "
            f"after allocate #1 at {allocate}\n") in outcome.err


@pytest.mark.parametrize("machine", machines)
@patiently
def test_a_rank_whose_thread_is_busy_is_told_from_an_absent_one(machine: str, timeout: str):
    if machine.startswith("processes:3") or machine == "threads:3":
        pytest.skip("ranks may have threads of their own")
    outcome = run("waiting", "work", machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    assert "    absent: rank 1: in its own code, after allocate #1 at " in outcome.err


@pytest.mark.parametrize("what", ["send", "block", "parked"])
@pytest.mark.parametrize("machine", ["threads:2@2", "processes:2"])
@patiently
def test_a_message_for_which_there_is_no_room_is_told_with_its_line(machine: str, what: str,
                                                                    timeout: str):
    outcome = run("waiting", "vain", what, machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    assert f"  rank 0 waits in send at {site('waiting.cpp', what)}\n" in outcome.err


@pytest.mark.parametrize("machine", ["threads:2@2", "processes:2"])
@patiently
def test_an_answer_for_which_there_is_no_room_is_no_call_of_the_program(machine: str,
                                                                        timeout: str):
    outcome = run("waiting", "answer", machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    assert "  rank 0 waits in send at an unknown place\n" in outcome.err


@pytest.mark.parametrize("machine", machines)
@patiently
def test_a_healthy_job_says_nothing(machine: str, timeout: str):
    long = str(round(1000 * min(3 * float(timeout), 30)))
    outcome = run("waiting", "often", long, machine=machine, SELION_HANG_TIMEOUT=timeout)
    assert outcome.status == 0
    assert outcome.err == ""


@pytest.mark.parametrize("machine", machines)
def test_reports_can_be_switched_off(machine: str):
    with Job("waiting", "line", machine=machine, SELION_HANG_TIMEOUT="0") as job:
        job.wait_for("^ready$")
        job.process.send_signal(signal.SIGUSR1)
        job.wait_for("^selion: state of the job on")
        job.say("go on\n")
        outcome = job.end()
    assert outcome.status == 0
    assert "selion: hang" not in outcome.err
