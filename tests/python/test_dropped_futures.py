# SPDX-License-Identifier: Apache-2.0
"""What futures keep for others that a program has dropped before they were ready."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import clean_environment, needs_module, seconds

pytestmark = needs_module

_kept = """
        import weakref
        class Kept(np.ndarray): pass
        def start(part, many):
            values = np.ones(4).view(Kept)
            many.append(weakref.ref(values))
            part.start_put(values, (world.rank + 1) % world.size)
"""


def test_a_future_that_is_not_ready_keeps_what_it_reads(job):
    job.expect_no_fault(
        _kept + """
        part, many = world.allocate(4), []
        start(part, many)
        assert many[0]() is not None
        world.barrier()
        """,
        "sim:crossbar,ranks=2",
    )


@pytest.mark.parametrize("machine", ["processes:2", "sim:crossbar,ranks=24"])
def test_what_dropped_futures_keep_is_let_go_as_others_are_started(job, machine):
    """As many as have been dropped, whatever the other ranks of the process have dropped."""
    job.expect_no_fault(
        _kept + """
        part, many = world.allocate(4), []
        for i in range(200):
            start(part, many)
            if i % 4 == 0: world.barrier()
        world.barrier()
        world.barrier()
        for i in range(40):
            part.start_put(np.ones(4), (world.rank + 1) % world.size).wait()
        assert not any(each() is not None for each in many)
        world.barrier()
        """,
        machine,
    )


def test_what_dropped_futures_keep_is_let_go_with_their_job(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("""
import weakref
import numpy as np
import selion
class Kept(np.ndarray): pass
many, futures = [], []
def main(world):
    part = world.allocate(4)
    for i in range(20):
        values = np.ones(4).view(Kept)
        many.append(weakref.ref(values))
        futures.append(part.start_put(values, 1 - world.rank))
    del futures[::2]
for _ in range(2):
    selion.run(main)
    del futures[:]
    print(sum(each() is not None for each in many), "of", len(many))
""")
    done = subprocess.run([sys.executable, str(path)], text=True, capture_output=True,
                          env=clean_environment(SELION_MACHINE="sim:crossbar,ranks=2"),
                          timeout=seconds)
    assert (done.stdout, done.stderr) == ("0 of 40\n0 of 80\n", "")
