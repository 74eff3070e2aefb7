# SPDX-License-Identifier: Apache-2.0
"""Ranks in Python that die while their job goes on, on the machine `fabric`."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from conftest import clean_environment, needs_module, seconds

pytestmark = needs_module

_program = """
import os, signal
import numpy as np
import selion

def main(world):
    bell = world.signal()
    if world.rank == 2:
        bell.wait_until(2)
        os.kill(os.getpid(), signal.SIGKILL)
    start = world.split_phase
    started = [start.all_reduce(np.ones(4)), start.all_gather(np.ones(4))]
    bell.notify(2)
    for each in started * 2:
        try:
            each.result()
        except ConnectionError:
            print("told", world.rank, flush=True)
    assert world.dead_ranks() == [2]
    with world.survivors() as living:
        print("living", living.size, flush=True)

selion.run(main)
"""


def _expect_fabric() -> None:
    from selion import machine_kinds

    (fabric,) = (kind for kind in machine_kinds() if kind.name == "fabric")
    if not fabric.available and "leaves it out" in fabric.reason:
        pytest.skip(fabric.reason)
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")


def test_what_a_death_has_ended_raises_whenever_it_is_asked(tmp_path, for_mpirun):
    _expect_fabric()
    path = tmp_path / "program.py"
    path.write_text(_program)
    done = subprocess.run(
        ["mpirun", "-n", "3", sys.executable, str(path)],
        env=clean_environment(
            SELION_MACHINE="fabric",
            SELION_RANK_DEATH="report",
            **for_mpirun,
            OMPI_MCA_orte_enable_recovery="1",
        ),
        capture_output=True,
        text=True,
        timeout=2 * seconds,
    )
    told = sorted(line for line in done.stdout.splitlines() if line[:5] in ("told ", "livin"))
    assert told == ["living 2"] * 2 + ["told 0"] * 4 + ["told 1"] * 4, done.stdout + done.stderr
