# SPDX-License-Identifier: Apache-2.0
"""Ranks in Python that die while their job goes on, on the machine `fabric`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

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


# Rank 2 dies within the last of the calls: of those before it has answered one.
_calls = """
import os, signal
import selion

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def main(world):
    bell = world.signal()
    world.barrier()
    if world.rank != 0:
        try:
            bell.wait_until(99)  # until rank 2 dies
        except ConnectionError:
            pass
    else:
        early = world.call(2, abs, -3)
        assert early.result() == 3
        last = [world.call(2, die), world.call(2, abs, -4)]
        world.call(2, abs, -5)  # which nobody looks at
        for each in last * 2:
            try:
                each.result()
            except ConnectionError as error:
                print("told", error, flush=True)
        assert all(each.is_ready for each in last) and early.result() == 3
        try:
            world.call(2, abs, -6)
        except ConnectionError as error:
            print("refused", error, flush=True)
        def call_further(world):
            return world.call(2, abs, -7).is_ready
        # A handler waits for nothing, so rank 1 is asked until it has heard of the death.
        while not world.call(1, call_further, world).result():
            pass
        print("ready", flush=True)
    assert world.dead_ranks() == [2]
    with world.survivors() as living:
        assert world.call(1 - world.rank, abs, -8).result() == 8
        living.barrier()

selion.run(main)
"""


# Rank 1 stands still, and dies while rank 0 reads its memory.
_reads = """
import os, signal, sys, threading, time, weakref
import numpy as np
import selion

class Kept(np.ndarray): pass

def main(world):
    part = world.allocate(1 << 20)
    victim = world.all_gather(os.getpid())[1]
    world.barrier()
    if world.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    reader = threading.get_ident()
    def kill():
        while sys._current_frames()[reader].f_code.co_name != "<lambda>":
            time.sleep(0.01)
        time.sleep(0.3)  # it is about to wait
        os.kill(victim, signal.SIGKILL)
    threading.Thread(target=kill).start()
    def read(begin):
        out = np.empty(1 << 20).view(Kept)
        try:
            begin(out)
        except ConnectionError:
            return weakref.ref(out)
    dropped = np.empty(1 << 20).view(Kept)
    part.start_get(1, out=dropped)
    outs = [read(lambda out: part.get(1, out=out)) for _ in range(2)] + [weakref.ref(dropped)]
    del dropped
    assert world.dead_ranks() == [1]
    for _ in range(10):  # which let go of what is over
        part.start_put(np.ones(1), 0).wait()
    print("kept", [each() is not None for each in outs], flush=True)

selion.run(main)
"""

# Rank 2 dies while collectives are under way that the others have dropped.
_drops = """
import os, signal, weakref
import numpy as np
import selion

class Kept(np.ndarray): pass

def main(world):
    bell = world.signal()
    if world.rank == 2:
        bell.wait_until(2)
        os.kill(os.getpid(), signal.SIGKILL)
    outs = [np.ones(4).view(Kept) for _ in range(3)]
    refs = [weakref.ref(each) for each in outs]
    while outs:
        world.split_phase.broadcast(outs.pop(), root=2)
    last = world.split_phase.all_reduce(np.ones(4))
    bell.notify(2)
    try:
        last.result()
    except ConnectionError:
        pass
    assert world.dead_ranks() == [2]
    with world.survivors() as living:
        for _ in range(10):
            living.split_phase.barrier().wait()
        print("kept", [each() is not None for each in refs], flush=True)

selion.run(main)
"""


def _expect_fabric() -> None:
    from selion import machine_kinds

    (fabric,) = (kind for kind in machine_kinds() if kind.name == "fabric")
    if not fabric.available and "leaves it out" in fabric.reason:
        pytest.skip(fabric.reason)
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")


def _run_fabric(folder: Path, text: str, for_mpirun: dict[str, str], ranks: int = 3,
                hosts: int = 1) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    path.write_text(text)
    return subprocess.run(
        ["mpirun", "-n", str(ranks), sys.executable, str(path)],
        env=clean_environment(
            SELION_MACHINE="fabric",
            SELION_RANK_DEATH="report",
            SELION_TEST_HOSTS=str(hosts),
            **for_mpirun,
            OMPI_MCA_orte_enable_recovery="1",
        ),
        capture_output=True,
        text=True,
        timeout=2 * seconds,
    )


def test_what_a_death_has_ended_raises_whenever_it_is_asked(tmp_path, for_mpirun):
    _expect_fabric()
    done = _run_fabric(tmp_path, _program, for_mpirun)
    told = sorted(line for line in done.stdout.splitlines() if line[:5] in ("told ", "livin"))
    assert told == ["living 2"] * 2 + ["told 0"] * 4 + ["told 1"] * 4, done.stdout + done.stderr


def test_a_call_ends_with_the_death_of_its_target(tmp_path, for_mpirun):
    _expect_fabric()
    done = _run_fabric(tmp_path, _calls, for_mpirun)
    lines = [line for line in done.stdout.splitlines() if line.split()[0] in
             ("told", "refused", "ready")]
    assert lines == ["told rpc: rank 2 of 3 is dead"] * 4 + [
        "refused send: rank 2 of 3 is dead", "ready"], done.stdout + done.stderr


def test_memory_that_a_death_may_still_fill_stays(tmp_path, for_mpirun):
    """Also when it counts as read. Of what was under way: the second read begins nothing."""
    _expect_fabric()
    done = _run_fabric(tmp_path, _reads, for_mpirun, ranks=2, hosts=2)
    assert "kept [True, False, True]" in done.stdout, done.stdout + done.stderr


def test_memory_of_dropped_collectives_that_a_death_has_ended_stays(tmp_path, for_mpirun):
    _expect_fabric()
    done = _run_fabric(tmp_path, _drops, for_mpirun)
    kept = [line for line in done.stdout.splitlines() if line[:5] == "kept "]
    assert kept == ["kept [True, True, True]"] * 2, done.stdout + done.stderr


def test_a_death_on_one_host_ends_the_job_and_its_calls(job):
    status, out, errors = job.run(
        """
        if world.rank == 0:
            world.call(1, lambda: os.kill(os.getpid(), signal.SIGKILL)).result()
        world.barrier()
        """
    )
    assert (status != 0, out) == (True, "") and "signal 9" in errors
