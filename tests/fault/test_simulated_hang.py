# SPDX-License-Identifier: Apache-2.0
"""A simulated rank that keeps the processor from all others is told, in real time."""

from __future__ import annotations

import re
import signal

import pytest
from jobs import Job, patiently, run, site

machine = "sim:crossbar,ranks=3"
kinds = [machine, f"{machine},context=threads"]


def first_line(timeout: str) -> str:
    return (rf"hang: the same rank of {machine}(,context=threads)? has had the processor for "
            rf"{timeout} s of real time, at \d+ ps of virtual time")


@pytest.mark.parametrize("kind", kinds)
@pytest.mark.parametrize("how", ["computes", "tests", "gets", "locks"])
@patiently
def test_a_rank_that_lets_nobody_else_run_is_told_and_ends_the_job(kind: str, how: str,
                                                                   timeout: str):
    outcome = run("waiting", "keeps", how, "0", machine=kind, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    call = {"tests": f"test at {site('waiting.cpp', 'tests')} for a signal of at least 1; it is 0",
            "gets": f"get at {site('waiting.cpp', 'gets')}"}
    told = [line for line in outcome.err.strip().split("\n") if "the host's clock" not in line]
    first, running, waiting, absent, last = told
    assert re.fullmatch("selion: " + first_line(timeout), first)
    known = call.get(how, f"allocate #2 at {site('waiting.cpp', 'word')}")
    assert running == f"  rank 1 has the processor; last known call: {known}"
    assert waiting == f"  ranks 0, 2 wait in barrier #3 at {site('waiting.cpp', 'kept out')}"
    assert absent == "    absent: rank 1: it has the processor"
    assert last == "selion: SELION_HANG_ACTION=abort: the job ends"


@pytest.mark.parametrize("kind", kinds)
def test_a_signal_asks_a_simulation_for_its_state(kind: str):
    with Job("waiting", "keeps", "computes", "0", machine=kind, SELION_HANG_TIMEOUT="0") as job:
        job.wait_for("^ready$")
        for number in (1, 2):
            job.process.send_signal(signal.SIGUSR1)
            job.wait_for(r"^selion: state of the job on sim:crossbar,ranks=3.* at \d+ ps of "
                         r"virtual time\n"
                         r"  rank 1 has the processor; last known call: allocate #2 at .*\n"
                         r"  ranks 0, 2 wait in barrier #3 at ", number)
        assert job.process.poll() is None


@pytest.mark.parametrize("kind", kinds)
def test_ranks_that_take_turns_are_told_as_of_one_moment(kind: str):
    """One of them has the processor, and is not among those that do not wait."""
    with Job("waiting", "polls", machine=kind) as job:
        job.wait_for("^ready$", 3)
        for number in range(1, 11):
            job.process.send_signal(signal.SIGUSR1)
            job.wait_for(r"^selion: state of the job on .*\n  rank .*\n  ranks .*\n", number)
            report = job.err.rsplit("selion: state", 1)[1]
            [running] = re.findall(r"^  rank (\d) has the processor; ", report, re.MULTILINE)
            [others] = re.findall(r"^  ranks (\S+(?:, \d)?) do not wait; ", report, re.MULTILINE)
            assert others == {"0": "1-2", "1": "0, 2", "2": "0-1"}[running]


def test_a_long_computation_is_told_once_and_goes_on():
    outcome = run("waiting", "keeps", "computes", "1000", machine=machine,
                  SELION_HANG_TIMEOUT="0.2")
    assert outcome.status == 0
    told = [one for one in outcome.sentences() if one.startswith("hang: ")]
    assert len(told) == 1
    assert re.fullmatch(first_line("0.2"), told[0])


def test_who_computes_alone_keeps_nobody_waiting():
    outcome = run("waiting", "work_alone", "1000", machine="sim:crossbar,ranks=2",
                  SELION_HANG_TIMEOUT="0.2", SELION_HANG_ACTION="abort")
    assert outcome.status == 0
    assert "hang: " not in outcome.err


@pytest.mark.parametrize("kind", kinds)
@patiently
def test_handlers_that_go_on_while_all_wait_are_told_as_such(kind: str, timeout: str):
    outcome = run("waiting", "ball", "1", machine=kind, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    told = [line for line in outcome.err.strip().split("\n") if "the host's clock" not in line]
    first, running, waiting, last = told
    assert re.fullmatch("selion: " + first_line(timeout), first)
    assert re.fullmatch("  (a handler of rank [01] has|handlers of messages have) the processor",
                        running)
    assert waiting == (f"  ranks 0-2 wait in wait_until at {site('waiting.cpp', 'ball')} for a "
                       "signal of at least 1; it is 0")
    assert last == "selion: SELION_HANG_ACTION=abort: the job ends"


@pytest.mark.parametrize("kind", kinds)
@patiently
def test_handlers_that_go_on_when_all_have_returned_are_told(kind: str, timeout: str):
    outcome = run("waiting", "ball", machine=kind, SELION_HANG_TIMEOUT=timeout,
                  SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    told = [line for line in outcome.err.strip().split("\n") if "the host's clock" not in line]
    first, running, done, last = told
    assert re.fullmatch("selion: " + first_line(timeout), first)
    assert re.fullmatch("  (a handler of rank [01] has|handlers of messages have) the processor",
                        running)
    assert done == "  ranks 0-2 do not wait; their functions have returned"
    assert last == "selion: SELION_HANG_ACTION=abort: the job ends"
