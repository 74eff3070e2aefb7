# SPDX-License-Identifier: Apache-2.0
"""What the library says of programs with LAPI's names: of handlers that do wrong, and of hangs."""

import pytest

from jobs import check_level, patiently, run, site

sentences = {
    "wait": "LAPI_Waitcntr in a header handler, which must not wait",
    "no_place": "a message of LAPI from task 0 cannot be handled: there is no place for the data",
    "no_handler": "a message of LAPI from task 0 cannot be handled: the header handler is null, or",
    "gfence": "LAPI_Gfence in a completion handler, which runs within another call of its task",
    "address_init": "LAPI_Address_init in a completion handler, which runs within another call",
    "throw": "a completion handler of a message from rank 0 ended with an exception of type "
             "std::runtime_error: no such file; the job ends",
    "term": "LAPI_Term in a completion handler, which runs within another call of its task",
}
calls = {"wait", "gfence", "address_init", "term"}  #: which a handler must not make


@pytest.mark.parametrize("machine", ["threads:2,progress=interrupt",
                                     "processes:2,progress=interrupt"])
def test_handlers_on_another_thread_are_refused(machine: str):
    outcome = run("lapi_mistakes", "wait", machine=machine)
    assert outcome.status == 1, outcome.err
    assert outcome.sentences()[0].startswith("LAPI_Init: tasks of LAPI serve messages in their own")
    assert "leave out progress=interrupt" in outcome.err


@pytest.mark.parametrize("what", sentences)
@pytest.mark.parametrize("machine", ["threads:2", "processes:2", "sim:sp-lapi"])
def test_a_wrong_handler_is_told(machine: str, what: str):
    if what in calls and check_level < 1:
        pytest.skip("noticed from check level 1 on")
    outcome = run("lapi_mistakes", what, machine=machine)
    assert outcome.status == 1, outcome.err
    assert len(outcome.sentences()) == 1
    assert outcome.sentences()[0].startswith(f"rank 1 of 2: {sentences[what]}")
    if what in calls:
        assert f"  called at {site('lapi_mistakes.cpp', what)}\n" in outcome.err


@pytest.mark.parametrize("how", ["direct", "pointer"])
@pytest.mark.parametrize("machine, last", [("threads:2", 1), ("processes:3", 2)])
@patiently
def test_a_hang_names_the_calls_of_a_program_in_c(machine: str, last: int, how: str, timeout: str):
    outcome = run("lapi_waiting", how, machine=machine, SELION_HANG_ACTION="abort",
                  SELION_HANG_TIMEOUT=timeout)
    assert outcome.status == 1, outcome.err
    fence, counter = site("lapi_waiting.c", "fence"), site("lapi_waiting.c", "counter")
    lines = outcome.err.splitlines()
    before = "ranks 0-1 wait" if last == 2 else "rank 0 waits"  # alike
    assert f"  {before} in counter::wait at {fence}" in lines
    waits = [line for line in lines if line.startswith(f"  rank {last} waits in counter::wait at ")]
    assert len(waits) == 1
    assert waits[0].endswith(f" at {counter}") == (how == "direct")
