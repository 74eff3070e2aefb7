# SPDX-License-Identifier: Apache-2.0
"""Signals of several words: whoever has come is seen to."""

from __future__ import annotations

import pytest

from conftest import needs_module

pytestmark = needs_module


@pytest.mark.parametrize("machine", ["processes:1", "processes:3", "sim:crossbar,ranks=5"])
def test_any_of_several_words(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        came = world.signal(n)
        wanted = [1] * n
        for turn in range(3):
            for q in range(n):
                came.notify((r + q) % n, index=r)
            for _ in range(n):
                which = came.wait_any(wanted)
                assert came.value(which) >= wanted[which]
                wanted[which] += 1
            world.barrier()
        assert wanted == [4] * n
        assert came.wait_any(wanted, timeout=0.001) is None
        assert came.wait_any(3) == 0 and came.wait_any() == 0
        assert came.wait_any(np.array([9] * (n - 1) + [2])) == n - 1
        """,
        machine,
    )


refused = {
    "bells.wait_any([1])": "ValueError: wait_any takes a value, or one for each signal: there are "
    "3 signals and values for 1.",
    "bells.wait_any('x')": "TypeError",
    "bells.wait_any(-1)": "TypeError",
    "bells.wait_any(1, timeout=-1)": "ValueError: A time-out is a number of seconds; legal",
    "bells.free(); bells.wait_any()": "ValueError: The signals have been given back with free().",
}


@pytest.mark.parametrize("call", refused)
def test_what_is_refused(job, call):
    status, _, errors = job.run(f"bells = world.signal(3); {call}", "processes:2")
    assert status == 1
    assert refused[call] in errors
