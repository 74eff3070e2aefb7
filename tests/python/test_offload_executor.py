# SPDX-License-Identifier: Apache-2.0
"""What programs that were written for other executors take for granted of a pool."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from conftest import needs_module
from selion.mistake import Mistake
from selion.offload import Pool, WorkerDied, predict

pytestmark = needs_module


@pytest.fixture(scope="module")
def shared_pool():
    with Pool(workers=2, shared_bytes=64 << 20) as pool:
        yield pool


class Model:
    def __init__(self):
        self.weights = np.zeros(4)

    def total(self, factor=1.0):
        return factor * float(self.weights.sum())

    def __call__(self, factor):
        return self.total(factor)


def test_methods_see_their_object_as_it_is_when_they_are_called(shared_pool):
    model = Model()
    assert shared_pool.submit(model.total).result() == 0
    model.weights += 1
    assert shared_pool.submit(model.total).result() == 4
    assert shared_pool.submit(model, 2).result() == 8
    assert list(shared_pool.map(model.total, (1, 2, 3))) == [4, 8, 12]
    model.weights += 1
    assert shared_pool.submit(model, 2).result() == 16
    assert list(shared_pool.map(model.total, (1, 2, 3), chunksize=2)) == [8, 16, 24]


def test_partials_and_methods_of_containers_see_what_they_hold(shared_pool):
    numbers = [1]
    total, count = functools.partial(sum, numbers), numbers.count
    assert shared_pool.submit(total).result() == 1 == shared_pool.submit(count, 1).result()
    numbers.append(1)
    assert shared_pool.submit(total).result() == 2 == shared_pool.submit(count, 1).result()


class Counted:
    """Counts how often it is pickled."""

    pickled = 0

    def __call__(self, value):
        return value + 1

    def __reduce__(self):
        Counted.pickled += 1
        return Counted, ()


def test_a_map_pickles_its_function_once(shared_pool):
    before = Counted.pickled
    assert list(shared_pool.map(Counted(), range(50))) == list(range(1, 51))
    assert Counted.pickled == before + 1


def test_a_call_is_running_when_a_worker_has_it():
    with Pool(workers=1, depth=1) as pool:
        first = pool.submit(time.sleep, 0.3)
        second = pool.submit(time.sleep, 0)
        assert first.running() and not second.running()
        assert second.cancel() and not second.running()
        first.result()
        assert not first.running()


def test_a_loop_awaits_calls(shared_pool):
    async def run():
        loop = asyncio.get_running_loop()
        calls = [loop.run_in_executor(shared_pool, abs, -number) for number in range(20)]
        return await asyncio.gather(*calls)

    assert asyncio.run(run()) == list(range(20))


def raise_what_cannot_be_pickled():
    class Odd(Exception):
        def __init__(self, one, two):
            super().__init__("odd")

    raise Odd(1, 2)


def test_exceptions_that_cannot_be_pickled_tell_where_they_come_from(shared_pool):
    with pytest.raises(RuntimeError, match="Odd: odd") as raised:
        shared_pool.submit(raise_what_cannot_be_pickled).result()
    assert "in raise_what_cannot_be_pickled" in str(raised.value.__cause__)


def test_what_cannot_be_pickled_is_what_the_call_has_raised(shared_pool):
    assert "generator" in str(shared_pool.submit(sum, (number for number in range(3))).exception())
    with pytest.raises(TypeError, match="lock"):
        shared_pool.submit(print, threading.Lock()).result()
    with pytest.raises(TypeError, match="lock"):
        shared_pool.submit(threading.Lock).result()


def names_of_a_worker():
    own = [name for name in os.environ if name.startswith("SELION_JOB_")]
    text = subprocess.run(["env"], env=os.environ.copy(), capture_output=True, text=True).stdout
    return own, "SELION_JOB_" in text


def test_programs_that_a_function_starts_are_no_workers(shared_pool):
    assert shared_pool.submit(names_of_a_worker).result() == ([], False)


def test_a_child_of_the_host_is_told_that_the_pool_is_not_its_own(tmp_path):
    program = tmp_path / "forking.py"
    program.write_text(
        "import os, sys\nfrom selion.offload import Pool\n"
        "with Pool(workers=1, depth=4) as pool:\n"
        "    slow = pool.submit(sum, [1])\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        for attempt in (lambda: pool.submit(abs, -1), lambda: pool.array(2),\n"
        "                        lambda: pool.map(abs, [1]), slow.result, slow.cancel,\n"
        "                        lambda: pool.workers):\n"
        "            try:\n                attempt()\n"
        "            except RuntimeError as trouble:\n"
        "                print(trouble, flush=True)\n"
        "        sys.exit(slow.done())\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    assert [pool.submit(abs, -i).result() for i in range(9)] == list(range(9))\n"
        "    assert slow.result() == 1\n"
    )
    told = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines() == [
        "this pool belongs to the process that has forked this one: make a pool here"
    ] * 6


def test_a_program_that_ends_waits_for_its_calls(tmp_path):
    program = tmp_path / "ending.py"
    program.write_text(
        "import pathlib, sys, time\nfrom selion.offload import Pool\n"
        "def touch(number):\n"
        "    time.sleep(0.01)\n    pathlib.Path(sys.argv[1], str(number)).touch()\n"
        "pool = Pool(workers=2)\n"
        "calls = [pool.submit(touch, number) for number in range(30)]\n"
    )
    program.write_text(program.read_text().replace("sys.argv[1]", repr(str(tmp_path / "made"))))
    (tmp_path / "made").mkdir()
    told = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (told.returncode, told.stderr) == (0, "")
    assert len(list((tmp_path / "made").iterdir())) == 30


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"depth": 0}, "depth is 0 calls; legal is 1 to 64."),
        ({"depth": 65}, "depth is 65 calls; legal is 1 to 64."),
        ({"depth": -1}, "depth is -1 calls; legal is 1 to 64."),
        ({"shared_bytes": -1}, "shared_bytes is -1; legal is 0 to 140737488355328."),
        ({"shared_bytes": 1 << 64}, f"shared_bytes is {1 << 64}; legal is 0 to 140737488355328."),
    ],
)
def test_pools_that_cannot_be(options, sentence):
    with pytest.raises(Mistake) as raised:
        Pool(workers=1, **options)
    assert str(raised.value) == sentence


def test_the_number_of_workers_may_have_the_standard_library_s_name():
    with Pool(max_workers=1, max_tasks_per_child=None) as pool:
        assert (pool.workers, pool.submit(abs, -3).result(timeout=60)) == (1, 3)
    with pytest.raises(ValueError, match="^workers is 2 and max_workers 3; legal is one of the"):
        Pool(2, max_workers=3)
    with pytest.raises(ValueError, match="a pool of 0 workers"):
        Pool(max_workers=0)


@pytest.mark.parametrize("name", ["workers", "depth", "shared_bytes"])
def test_numbers_that_are_not_whole(name):
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        Pool(**{name: 2.5})
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        predict(1, 1, 1, 2.5)


def test_arrays_that_cannot_be(shared_pool):
    with pytest.raises(Mistake, match="objects cannot lie in shared memory"):
        shared_pool.array(3, object)
    with pytest.raises(Mistake, match="say how long an element is"):
        shared_pool.array(3, "U")


@pytest.mark.parametrize("name", ["workers", "most"])
@pytest.mark.parametrize("number", [-1, 1 << 32])
def test_predictions_of_numbers_that_cannot_be(name, number):
    given = {"workers": 1, "most": 16, name: number}
    with pytest.raises(Mistake, match=f"{name} is {number}; legal is"):
        predict(1, 1, 1, **given)


def test_children_of_workers_end_with_an_interrupt(tmp_path):
    program = tmp_path / "interrupted.py"
    program.write_text(
        "import os, subprocess, sys\nfrom selion.offload import Pool\n"
        "def start():\n"
        "    child = subprocess.Popen(['sleep', '60'])\n"
        "    print(child.pid, flush=True)\n"
        "    child.wait()\n"
        "with Pool(workers=1) as pool:\n    pool.submit(start).result()\n"
    )
    host = subprocess.Popen(
        [sys.executable, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    child = int(host.stdout.readline())
    os.killpg(host.pid, signal.SIGINT)
    host.wait(timeout=30)
    end = time.monotonic() + 10
    while os.path.exists(f"/proc/{child}/exe") and time.monotonic() < end:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{child}/exe")


interrupted = """
import os, time
from selion.offload import Pool
pool = Pool(workers=1, depth=1)
worker = pool.submit(os.getpid).result()
calls = [pool.submit(time.sleep, 60) for _ in range(3)]
print(worker, flush=True)
"""


@pytest.mark.parametrize(
    "rest",
    [
        "with pool:\n    calls[0].result()\n",
        "calls[0].result()\n",
        "pool.shutdown()\n",
        "",
    ],
)
def test_an_interrupt_ends_a_program_that_waits(tmp_path, rest):
    program = tmp_path / "interrupted.py"
    program.write_text(interrupted + rest)
    host = subprocess.Popen(
        [sys.executable, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        worker = int(host.stdout.readline())
        time.sleep(0.3)  # it waits
        os.killpg(host.pid, signal.SIGINT)
        host.wait(timeout=20)
    finally:
        host.kill()
    assert not os.path.exists(f"/proc/{worker}/exe")


def test_workers_that_are_killed():
    with Pool(workers=1, depth=1) as pool:
        assert pool.submit(abs, -1).result() == 1
        running = pool.submit(time.sleep, 60)
        waiting = pool.submit(time.sleep, 60)
        while not running.running():
            time.sleep(0.01)
        time.sleep(0.1)  # it has begun
        pool.kill_workers()
        with pytest.raises(WorkerDied, match="was killed with its pool"):
            running.result()
        assert waiting.cancelled()
        with pytest.raises(RuntimeError, match="after shutdown"):
            pool.submit(abs, 1)
        pool.kill_workers()


def test_a_pool_that_has_ended_keeps_no_memory():
    def mapped():
        with open("/proc/self/maps") as maps:
            return sum("selion-workers" in line for line in maps)

    before = mapped()
    with Pool(workers=1) as pool:
        calls = [pool.submit(len, "abc"), pool.submit(lambda: 1)]
        assert [call.result() for call in calls] == [3, 1]
    assert mapped() == before
    del pool, calls


reads = []


def read_once():
    """Interrupted when it is read for the first time, which the host does."""
    reads.append(os.getpid())
    if len(reads) == 1:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    return "read"


class ReadOnce:
    def __reduce__(self):
        return read_once, ()


def test_an_interrupt_is_no_result_of_a_call():
    with Pool(workers=1) as pool:
        call = pool.submit(ReadOnce)
        with pytest.raises(KeyboardInterrupt):
            call.result(20)
        assert call.result(20) == "read" and reads == [os.getpid()] * 2


def test_calls_of_a_pool_that_nobody_has_are_called_back():
    found = []

    def start():
        pool = Pool(workers=1)
        for i in range(4):
            call = pool.submit(slow, 0.1 * (i == 0), i)
            call.add_done_callback(lambda done: found.append(done.result()))

    start()
    gc.collect()
    end = time.monotonic() + 60
    while len(found) < 4 and time.monotonic() < end:
        time.sleep(0.01)
    assert found == [0, 1, 2, 3]


def slow(seconds, value):
    time.sleep(seconds)
    return value


def test_many_calls_are_given_up_from_either_end():
    with Pool(workers=1) as pool:
        first = pool.submit(slow, 1, 0)
        calls = [pool.submit(abs, -i) for i in range(4000)]
        given_up = sum(call.cancel() for call in calls[:1000] + calls[:2000:-1])
        assert given_up >= 2990  # but those that a worker has
        assert first.result(60) == 0
        assert [call.result(60) for call in calls[1100:1900]] == list(range(1100, 1900))


def forks(how):
    child = os.fork()
    if child == 0 and how == "exits":
        sys.exit(3)
    if child == 0 and how == "raises":
        raise KeyError("of the child")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if child else how


def note(path, number):
    with open(path, "a") as file:
        file.write(f"{number}\n")
    return number


@pytest.mark.parametrize("how, status", [("returns", 0), ("exits", 3), ("raises", 1)])
def test_what_a_function_forks_is_no_worker(tmp_path, how, status):
    with Pool(workers=1, shared_bytes=8 << 20) as pool:
        assert pool.submit(forks, how).result(60) == status
        calls = [pool.submit(note, str(tmp_path / "notes"), i) for i in range(4)]
        assert [call.result(60) for call in calls] == [0, 1, 2, 3]
    assert (tmp_path / "notes").read_text() == "0\n1\n2\n3\n"
