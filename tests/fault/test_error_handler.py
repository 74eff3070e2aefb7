# SPDX-License-Identifier: Apache-2.0
"""A program's error handler is called once when the library ends the job, after the sentence."""

from __future__ import annotations

import re

import pytest
from jobs import check_level, patiently, run, site

machines = ["threads:3", "threads:8@2", "processes:3", "processes:2x2",
            "threads:3,progress=interrupt", "sim:crossbar,ranks=3"]
#: What the sentence says, and the exit status.
failures = {
    "misuse": (r"rank 1 of \d: quiet: there is no rank 99; ranks are 0 to \d", 1),
    "throw": (r"rank 1 of \d ended with an exception of type std::runtime_error: no room, .*", 1),
    "exit": (r"rank 1 of \d called exit\(3\) before its function returned, .*", 3),
    "handler": (r"rank 1 of \d: a call that rank 1 had sent without waiting .*", 1),
}


def line_of(how: str) -> str:
    return site("failing.cpp", how).rsplit(":", 1)[1] if how == "misuse" else "nowhere"


@pytest.mark.skipif(check_level < 1, reason="bugs are noticed from check level 1 on")
@pytest.mark.parametrize("how", failures)
@pytest.mark.parametrize("machine", machines)
def test_it_is_called_once(machine: str, how: str):
    sentence, status = failures[how]
    outcome = run("failing", how, "notes", machine=machine)
    assert outcome.status == status
    assert re.fullmatch(rf"handler: 1, {line_of(how)}: {sentence}\n", outcome.out)
    [said] = outcome.sentences()
    assert re.fullmatch(sentence, said)


@pytest.mark.skipif(check_level < 1, reason="bugs are noticed from check level 1 on")
@pytest.mark.parametrize("machine", machines)
def test_it_is_called_once_when_all_ranks_fail(machine: str):
    outcome = run("failing", "all", "notes", machine=machine)
    assert outcome.status == 1
    assert outcome.out.count("handler: ") == 1 and len(outcome.sentences()) == 1


@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_the_first_process_notices_a_death(machine: str):
    outcome = run("failing", "kill", "notes", machine=machine)
    assert outcome.status == 137
    rank = "1" if machine == "processes:3" else "nobody"
    assert re.fullmatch(rf"handler: {rank}, nowhere: (rank|process) .* by signal 9 .*\n",
                        outcome.out)


@pytest.mark.parametrize("machine", ["threads:2", "processes:2"])
@patiently
def test_it_learns_of_hangs_that_end_jobs(machine: str, timeout: str):
    outcome = run("failing", "deadlock", "notes", machine=machine, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    assert outcome.out == "handler: nobody, nowhere: SELION_HANG_ACTION=abort: the job ends\n"


def test_it_learns_of_deadlocks():
    outcome = run("failing", "deadlock", "notes", machine="sim:crossbar,ranks=2")
    assert outcome.status == 1
    assert re.fullmatch(r"handler: nobody, nowhere: deadlock at \d+ ps: .*\n", outcome.out)


@pytest.mark.skipif(check_level < 1, reason="bugs are noticed from check level 1 on")
@pytest.mark.parametrize("handler, second", [
    ("throws", "the error handler ended with an exception: the disk is full"),
    ("misuses", r"in the error handler, which must not call Selion: rank 1 of \d: broadcast: .*"),
    ("exits", r"in the error handler, which must not call Selion: rank 1 of \d called exit.*"),
])
@pytest.mark.parametrize("machine", machines)
def test_what_goes_wrong_in_it_ends_the_job(machine: str, handler: str, second: str):
    outcome = run("failing", "misuse", handler, machine=machine)
    assert outcome.status == 1
    assert outcome.out.count("handler: ") == 1
    first, then = outcome.sentences()
    assert re.fullmatch(failures["misuse"][0], first)
    assert re.fullmatch(second, then)


@pytest.mark.skipif(check_level < 1, reason="bugs are noticed from check level 1 on")
@pytest.mark.parametrize("handler", ["none", "gone"])
def test_without_one_nothing_changes(handler: str):
    outcome = run("failing", "misuse", handler, machine="threads:3")
    assert outcome.status == 1 and outcome.out == "" and len(outcome.sentences()) == 1
