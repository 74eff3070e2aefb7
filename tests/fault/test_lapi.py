# SPDX-License-Identifier: Apache-2.0
"""Handlers of LAPI that do wrong end the job with a sentence."""

import pytest

from jobs import check_level, run

sentences = {
    "wait": "LAPI_Waitcntr in a header handler, which must not wait",
    "no_place": "a message of LAPI from task 0 cannot be handled: there is no place for the data",
    "no_handler": "a message of LAPI from task 0 cannot be handled: the header handler is null, or",
}


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
    if what == "wait" and check_level < 1:
        pytest.skip("noticed from check level 1 on")
    outcome = run("lapi_mistakes", what, machine=machine)
    assert outcome.status == 1, outcome.err
    assert len(outcome.sentences()) == 1
    assert outcome.sentences()[0].startswith(f"rank 1 of 2: {sentences[what]}")
