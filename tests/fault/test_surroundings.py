# SPDX-License-Identifier: Apache-2.0
"""Arguments, environment, input and output of a job; jobs after one another and in each other."""

from __future__ import annotations

import os
import re
import resource
import signal

import pytest
from jobs import Job, is_sanitized, run, site

machines = {"threads:3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4}


def lines(text: str) -> list[str]:
    return sorted(text.rstrip("\n").split("\n"))


@pytest.mark.parametrize("machine", machines)
def test_arguments_and_environment_reach_every_rank(machine: str):
    awkward = ["two words", "", "quo\"te", "-v", "ümlaut", "new\nline"]
    outcome = run("surroundings", "arguments", *awkward, machine=machine, COLOUR="green")
    assert outcome.status == 0 and outcome.err == ""
    seen = " ".join(f"<{argument}>" for argument in awkward)
    for rank in range(machines[machine]):
        assert outcome.out.count(f"rank {rank} sees {seen} and green\n") == 1


@pytest.mark.parametrize("machine", machines)
def test_input_is_read_by_the_first_process_only(machine: str):
    with Job("surroundings", "input", machine=machine) as job:
        job.say("x" * 1000)
        job.process.stdin.close()
        outcome = job.end()
    assert outcome.status == 0 and outcome.err == ""
    read = {int(rank): int(count)
            for rank, count in re.findall(r"^rank (\d+) reads (\d+)$", outcome.out, re.MULTILINE)}
    assert len(read) == machines[machine] and sum(read.values()) == 1000
    if machine == "processes:3":
        assert read == {0: 1000, 1: 0, 2: 0}
    if machine == "processes:2x2":
        assert read[2] == read[3] == 0


@pytest.mark.parametrize("machine", machines)
def test_the_status_of_a_rank_is_that_of_the_job(machine: str):
    assert run("surroundings", "status", "5", machine=machine).status == 5
    assert run("surroundings", "status", "0", machine=machine).status == 0


@pytest.mark.parametrize("machine", machines)
def test_two_jobs_in_one_program(machine: str):
    outcome = run("surroundings", "twice", machine=machine)
    assert outcome.status == 0 and outcome.err == ""
    ranks = range(machines[machine])
    assert lines(outcome.out) == sorted([
        *(f"first rank {rank}" for rank in ranks),
        *(f"second rank {rank} after 5" for rank in ranks),
        "statuses 5 0",
    ])


@pytest.mark.parametrize("machine", machines)
def test_programs_that_a_rank_starts(machine: str):
    """They are told nothing of the job's own affairs, and may be jobs themselves."""
    outcome = run("surroundings", "programs", machine=machine)
    assert outcome.status == 0 and outcome.err == ""
    assert lines(outcome.out) == ["rank 0 sees <inner> and no colour",
                                  "rank 1 sees <inner> and no colour"]


@pytest.mark.skipif(is_sanitized, reason="a sanitizer looks for leaks in the copy, in vain")
@pytest.mark.parametrize("machine", machines)
@pytest.mark.parametrize(("how", "status"),
                         [("exits", 9), ("returns", 7), ("runs", 7), ("meets", 1), ("puts", 1),
                          ("throws", 1)])
def test_a_process_that_a_rank_forks_is_no_rank(machine: str, how: str, status: int):
    outcome = run("surroundings", "fork", how, machine=machine)
    assert outcome.status == 0
    assert outcome.out == f"the child left with {status}\n" * machines[machine]
    said = {"meets": "a thread of the program: this process is a copy (fork) of a rank's and "
                     "belongs to no rank",
            "puts": "must not call Selion",
            "throws": "has forked ended with an exception of type std::runtime_error: lost; "
                      "the rank goes on"}.get(how)
    assert outcome.err.count(said) == machines[machine] if said else outcome.err == ""


def test_a_limit_of_files_is_told():
    """By which the system would end the process, without a word."""
    def narrow():
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))

    outcome = run("surroundings", "status", "0", machine="processes:2", prepare=narrow)
    assert outcome.status not in (0, -25, 153)
    assert "raise `ulimit -f`" in outcome.err


@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_lines_carry_the_rank(machine: str):
    outcome = run("surroundings", "lines", machine=machine, SELION_PREFIX="1")
    assert outcome.status == 0
    names = ["[0]", "[1]", "[2]"] if machine == "processes:3" else ["[0-1]", "[2-3]"] * 2
    assert lines(outcome.out) == sorted(f"{name} {text}" for name in names
                                        for text in ("one", "two halves"))
    assert lines(outcome.err) == sorted(f"{name} trouble" for name in names)


def test_a_line_without_end_gets_one():
    outcome = run("surroundings", "lines", "open", machine="processes:3", SELION_PREFIX="1")
    assert outcome.status == 0
    assert "[0] no end of line\n" in outcome.out
    assert outcome.out.count("\n") == 7


@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_a_death_is_told_between_prefixed_lines(machine: str):
    outcome = run("dying", "throw", "1", machine=machine, SELION_PREFIX="1")
    assert outcome.status == 1
    name = "1" if machine == "processes:3" else "0-1"
    [line] = outcome.err.rstrip("\n").split("\n")
    assert line.startswith(f"[{name}] selion: rank 1 of {machines[machine]} ended with an exc")
    assert site("dying.cpp", "last call") in line


@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_much_output_is_complete(machine: str):
    """Whole lines, and each once, also when they come faster than they are taken away."""
    outcome = run("surroundings", "much", "20000", machine=machine, SELION_PREFIX="1")
    assert outcome.status == 0
    found = {int(rank): int(count) for rank, count in
             re.findall(r"^\[[\d-]+\] rank (\d+) line (\d+) of 20000$", outcome.out, re.MULTILINE)}
    assert found == dict.fromkeys(range(machines[machine]), 19999)
    assert outcome.out.count("\n") == 20000 * machines[machine]


@pytest.mark.parametrize("machine", machines)
@pytest.mark.parametrize("file", [0, 2])
def test_a_standard_file_may_be_closed(machine: str, file: int):
    outcome = run("surroundings", "arguments", machine=machine, prepare=lambda: os.close(file))
    assert outcome.status == 0 and outcome.err == ""
    assert outcome.out.count(" and no colour\n") == machines[machine]


def test_output_may_be_closed():
    outcome = run("surroundings", "lines", machine="processes:3", prepare=lambda: os.close(1),
                  SELION_PREFIX="1")
    assert outcome.status == 0
    assert lines(outcome.err) == ["[0] trouble", "[1] trouble", "[2] trouble"]


@pytest.mark.parametrize("status", ["0", "5"])
@pytest.mark.parametrize("machine", machines)
def test_the_program_may_care_for_its_children_itself(machine: str, status: str):
    def ignore_children() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    ignoring = run("surroundings", "status", status, machine=machine, prepare=ignore_children)
    assert (ignoring.status, ignoring.err) == (int(status), "")
    reaping = run("surroundings", "reaping", status, machine=machine, SELION_HANG_TIMEOUT="0")
    assert (reaping.status, reaping.err) == (int(status), "")


@pytest.mark.skipif(is_sanitized, reason="the sanitizer reports fatal signals itself")
@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_a_death_whose_status_the_program_has_taken_is_told(machine: str):
    place = f"barrier #1 at {site('surroundings.cpp', 'reaped')}"
    aborted = run("surroundings", "reaping", "abort", machine=machine)
    assert aborted.status == 134
    [sentence] = aborted.sentences()
    assert "was ended by signal 6" in sentence and place in sentence
    killed = run("surroundings", "reaping", "kill", machine=machine)
    assert killed.status == 1
    [sentence] = killed.sentences()
    assert "has ended before its function returned, in" in sentence
    assert place in sentence or machine == "processes:2x2"  # which of its ranks, nobody knows
    assert "how is not known, because the program's own handler of SIGCHLD has taken" in sentence


@pytest.mark.parametrize("handler", ["", "own"])
@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_a_program_may_have_told_the_system_to_keep_no_children(machine: str, handler: str):
    own = {"HANDLER": handler} if handler else {}
    for status in (0, 5):
        outcome = run("surroundings", "keeping_none", str(status), machine=machine, **own)
        assert (outcome.status, outcome.err) == (status, "")
    killed = run("surroundings", "keeping_none", "kill", machine=machine, **own)
    assert killed.status == 137
    [sentence] = killed.sentences()
    assert "was ended by signal 9" in sentence


@pytest.mark.parametrize("machine", machines)
def test_blocked_signals_are_no_hindrance(machine: str):
    def block() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGUSR1})

    outcome = run("surroundings", "status", "5", machine=machine, prepare=block)
    assert (outcome.status, outcome.err) == (5, "")


@pytest.mark.parametrize("place", ["", "x", "3 0 1", "0 0 0", "99999999999 1 1"])
@pytest.mark.parametrize("machine", machines)
def test_a_place_in_a_job_that_is_not_ours_is_ignored(machine: str, place: str):
    outcome = run("surroundings", "arguments", machine=machine, SELION_JOB_PLACE=place,
                  SELION_JOB_EARLIER="1 2")
    assert outcome.status == 0 and outcome.err == ""
    assert outcome.out.count(" and no colour\n") == machines[machine]


@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_a_program_may_start_a_job_before_its_own(machine: str):
    """Every process of the outer job does: each is executed from the start of main."""
    outcome = run("surroundings", "before", machine=machine)
    assert outcome.status == 0 and outcome.err == ""
    processes = 1 + (3 if machine == "processes:3" else 2)
    assert lines(outcome.out) == sorted(["started with 3"] * 2 * processes +
                                        ["started with 2"] * machines[machine])
