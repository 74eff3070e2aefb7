# SPDX-License-Identifier: Apache-2.0
"""Deaths, exceptions, exits and statuses of ranks come in the order of virtual time, not in that in
which the host runs the ranks."""

import pytest

machines = ["sim:crossbar,ranks=3", "sim:crossbar,ranks=3,context=threads", "sim:clovertown",
            "sim:sp-lapi,ranks=3,progress=interrupt"]


@pytest.mark.parametrize("machine", machines)
def test_the_earliest_status_is_the_job_s(on_machine, machine):
    assert on_machine(machine, "test_ending_in_time", "return").returncode == 5


@pytest.mark.parametrize("machine", machines)
def test_the_earliest_exception_ends_the_job(on_machine, machine):
    done = on_machine(machine, "test_ending_in_time", "throw")
    assert done.returncode == 1
    assert "rank 1 of" in done.stderr and ": early, " in done.stderr
    assert "late" not in done.stderr


@pytest.mark.parametrize("machine", machines)
def test_the_earliest_exit_ends_the_job(on_machine, machine):
    done = on_machine(machine, "test_ending_in_time", "exit")
    assert done.returncode == 5
    assert done.stderr.count("called exit") == 1
    assert "rank 1 of" in done.stderr and " called exit(5) before" in done.stderr


@pytest.mark.parametrize("how", ["throw_late", "exit_late"])
@pytest.mark.parametrize("machine", machines)
def test_a_rank_that_is_killed_before_its_end_has_no_other(on_machine, machine, how):
    done = on_machine(f"{machine},kill=0@1ms", "test_ending_in_time", how)
    assert done.returncode == 1
    assert "rank 0 of" in done.stderr and "was killed at 1000000000 ps" in done.stderr
    assert "late" not in done.stderr and "called exit" not in done.stderr
