# SPDX-License-Identifier: Apache-2.0
"""Collectives that a member gives up, and what its team leaves to those who come late."""

import pytest


def finds_nothing(done) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_was_lent_to_a_late_member_outlives_its_ranks_function(on_machine):
    finds_nothing(on_machine("sim:clovertown", "test_late_members", "data"))


@pytest.mark.parametrize("machine", ["sim:sp-lapi", "sim:bluegene-p,ranks=8",
                                     "sim:crossbar,ranks=4"])
def test_a_late_member_may_send_to_who_has_gone(on_machine, machine):
    # A checking build compares calls, which waits for everybody.
    finds_nothing(on_machine(machine, "test_late_members", "message", SELION_CHECK_CALLS="off"))


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("how", ["signals", "arrivals"])
def test_late_signals_of_a_barrier_reach_no_other_team(on_machine, how, seed):
    machine = f"sim:crossbar,ranks=8,delay=0.01@300us,seed={seed}"
    finds_nothing(on_machine(machine, "test_late_members", how, SELION_CHECK_CALLS="off"))
