# SPDX-License-Identifier: Apache-2.0
"""Pools of workers in Python: results, arrays, errors, deaths, and the executor's interface."""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import json
import math
import functools
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
from selion.offload import Pool, WorkerDied, predict, verdict
from selion.offload import messages, start

pytestmark = needs_module


def add(left, right=0):
    return left + right


def where_and_pid(array):
    return array.__array_interface__["data"][0], os.getpid()


def fail(text):
    raise ValueError(text)


def end(*unused):
    os._exit(3)


@pytest.fixture(scope="module")
def shared_pool():
    with Pool(workers=2, shared_bytes=64 << 20) as pool:
        yield pool


def comes_true(condition, seconds=60):
    """Whether it does within that time."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def seen_within(path, seconds):
    """Whether a file is made within that time."""
    return comes_true(path.exists, seconds)


def begins_and_waits(begun, path):
    begun.touch()
    return seen_within(path, 60)


def test_results_come_back(shared_pool):
    assert shared_pool.submit(add, 2, right=3).result() == 5
    assert shared_pool.submit(add, "a", "b").result() == "ab"
    assert shared_pool.submit(lambda: None).result() is None
    offset = 7
    assert shared_pool.submit(lambda value: value + offset, 1).result() == 8
    assert shared_pool.submit(add, list(range(3000)), [1]).result()[-1] == 1


def test_map_keeps_the_order(shared_pool):
    assert list(shared_pool.map(add, range(50), range(50))) == [2 * i for i in range(50)]
    chunked = shared_pool.map(add, range(50), range(40), chunksize=7)
    assert list(chunked) == [2 * i for i in range(40)]
    assert list(shared_pool.map(add, [])) == []


class Scaled:
    """A function without a hash."""

    __hash__ = None

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, value):
        return self.factor * value


def test_functions_without_a_hash(shared_pool):
    one, two = Scaled(1), Scaled(2)
    assert shared_pool.submit(one, 5).result() == 5
    assert shared_pool.submit(two, 5).result() == 10
    assert list(shared_pool.map(two, range(6), chunksize=2)) == [0, 2, 4, 6, 8, 10]


def test_more_functions_than_are_kept():
    with Pool(workers=1, shared_bytes=4 << 20) as pool:
        functions = [lambda value, i=i: value + i for i in range(600)]
        for _ in range(2):
            assert [pool.submit(each, 1).result() for each in functions] == list(range(1, 601))


def big_or_die(count):
    return np.full(100_000, count) if count else os._exit(1)


def test_results_are_not_exchanged_when_a_worker_dies():
    with Pool(workers=1, depth=4) as pool:
        calls = [pool.submit(big_or_die, count) for count in (1, 2, 0, 3, 4)]
        time.sleep(0.2)  # all of them are over before the first result is fetched
        for count, call in zip((1, 2, 0, 3, 4), calls, strict=True):
            try:
                assert call.result(60).tolist() == [count] * 100_000
            except WorkerDied:
                assert count < 3
        assert isinstance(calls[2].exception(), WorkerDied)


def test_waiting_sees_a_death():
    with Pool(workers=1) as pool:
        dying = pool.submit(end)
        done, _ = concurrent.futures.wait([dying], timeout=60)
        assert done == {dying} and isinstance(dying.exception(), WorkerDied)


def test_calls_go_on_in_the_background(shared_pool, tmp_path):
    for i in range(20):
        shared_pool.submit((tmp_path / str(i)).touch)
    assert comes_true(lambda: len(list(tmp_path.iterdir())) == 20), (
        "calls wait for somebody who asks")


def test_a_call_that_is_given_up(tmp_path):
    file = tmp_path / "file"
    with Pool(workers=1) as pool:
        pool.submit(seen_within, file, 60)
        waiting = [pool.submit(add, i) for i in range(6)]
        assert waiting[-1].cancel() and waiting[-1].cancelled()
        with pytest.raises(concurrent.futures.CancelledError):
            waiting[-1].result()
        file.touch()
        assert [each.result() for each in waiting[:-1]] == list(range(5))
        assert not waiting[0].cancel()


def test_objects_of_the_main_program(tmp_path):
    program = tmp_path / "own.py"
    program.write_text(
        "from dataclasses import dataclass\nfrom selion.offload import Pool\n"
        "@dataclass\nclass Point:\n    x: int\n"
        "def moved(point):\n    return Point(point.x + 1)\n"
        "with Pool(workers=1) as pool:\n"
        "    assert pool.submit(moved, Point(2)).result() == Point(3)\n"
    )
    subprocess.run([sys.executable, program], check=True)


def test_a_pool_that_nobody_waits_for():
    pool = Pool(workers=1)
    pid = pool.submit(os.getpid).result()
    slow = pool.submit(time.sleep, 0.1)
    pool.shutdown(wait=False)
    assert comes_true(lambda: not os.path.exists(f"/proc/{pid}/exe"))
    assert slow.done()


def end_slowly():
    atexit.register(time.sleep, 5)
    return os.getpid()


def test_a_pool_that_ends_by_itself_can_be_ended_at_once():
    pool = Pool(workers=1)
    pid = pool.submit(end_slowly).result()
    last = pool.submit(time.sleep, 0.1)
    pool.shutdown(wait=False)
    assert comes_true(lambda: last.done() and pool._core is None)
    begun = time.monotonic()
    pool.kill_workers()
    assert time.monotonic() - begun < 2
    pool.shutdown()  # waits
    assert time.monotonic() - begun > 2
    assert not os.path.exists(f"/proc/{pid}/exe")


def test_exceptions_tell_where_they_come_from(shared_pool):
    with pytest.raises(ValueError, match="no such thing") as raised:
        shared_pool.submit(fail, "no such thing").result()
    assert "in fail" in str(raised.value.__cause__)
    assert isinstance(shared_pool.submit(fail, "x").exception(), ValueError)

    class Odd(Exception):
        def __init__(self, one, two):
            super().__init__("odd")

    def raise_odd():
        raise Odd(1, 2)

    with pytest.raises(RuntimeError, match="Odd: odd"):
        shared_pool.submit(raise_odd).result()


def test_a_worker_that_dies_tells_which_function_it_ran():
    with Pool(workers=1) as pool:
        for ended in (pool.map(end, [1, 2], chunksize=2), pool.map(functools.partial(end), [1])):
            with pytest.raises(WorkerDied, match="while it ran (end|partial)$"):
                next(ended)


def test_a_worker_that_dies_is_replaced():
    with Pool(workers=1) as pool:
        calls = [pool.submit(add, i, i) for i in range(20)]
        dying = pool.submit(end)
        later = [pool.submit(add, i, i) for i in range(20)]
        with pytest.raises(WorkerDied, match="worker 0 ended with status 3 while it ran end$"):
            dying.result()
        assert [each.result() for each in calls + later] == [2 * i for i in range(20)] * 2
        assert pool.replaced == 1
        os.kill(pool.submit(os.getpid).result(), signal.SIGKILL)
        assert pool.submit(add, 1, 1).result() == 2
        assert pool.replaced == 2


def test_it_is_an_executor(shared_pool, tmp_path):
    calls = [shared_pool.submit(add, i, i) for i in range(30)]
    done = concurrent.futures.as_completed(calls, timeout=60)
    assert sorted(each.result() for each in done) == [2 * i for i in range(30)]
    calls = [shared_pool.submit(time.sleep, 0.01) for _ in range(4)]
    finished, waiting = concurrent.futures.wait(calls, timeout=60)
    assert len(finished) == 4 and not waiting
    seen = threading.Event()
    shared_pool.submit(add, 1, 1).add_done_callback(lambda call: seen.set())
    assert seen.wait(60)
    file = tmp_path / "file"
    slow = shared_pool.submit(seen_within, file, 60)
    with pytest.raises(TimeoutError):
        slow.result(timeout=0.01)
    for none in (0, -1, -math.inf):
        with pytest.raises(TimeoutError):
            slow.result(timeout=none)
    with pytest.raises(ValueError, match="The time-out is nan seconds; legal is a number"):
        slow.result(timeout=math.nan)
    file.touch()
    assert slow.result(timeout=math.inf) and slow.result(timeout=1e300) and slow.result()


def test_a_pool_that_has_ended(shared_pool):
    pool = Pool(workers=1)
    call = pool.submit(add, 1, 2)
    pool.shutdown()
    assert call.result() == 3
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(add, 1, 2)
    with pytest.raises(RuntimeError, match="shut down"):
        pool.array(3)
    pool.shutdown()


def test_no_workers():
    with pytest.raises(Mistake, match="a pool of 0 workers"):
        Pool(workers=0)


@pytest.mark.parametrize("meanwhile", ["pass", "os.fork() or time.sleep(300)"])
def test_nothing_is_left_when_the_host_is_killed(meanwhile):
    """Nor do children of it that live on keep its workers."""
    program = (
        "import os, time\nfrom selion.offload import Pool\n"
        "pool = Pool(workers=2)\n"
        "workers = {pool.submit(os.getpid).result() for _ in range(50)}\n"
        f"{meanwhile}\nprint(*workers, flush=True)\n"
        "pool.submit(time.sleep, 300)\ntime.sleep(300)\n"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=os.getcwd(),
        start_new_session=True,
    )
    try:
        workers = [int(each) for each in host.stdout.readline().split()]
        host.kill()
        host.wait()
        have_ended = comes_true(
            lambda: not any(os.path.exists(f"/proc/{each}/exe") for each in workers)
        )
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(host.pid, signal.SIGKILL)
    assert workers and have_ended


def test_messages_survive_the_way():
    memory = memoryview(bytearray(4096))
    request = messages.Request(3, (700, 40), (900, 9), 4096, b"payload", ((1, 2), (64, 8)))
    packed = request.pack()
    assert len(packed) == request.bytes
    memory[128 : 128 + len(packed)] = packed
    read = messages.Request.read(memory, 128)
    assert (read.number, read.function, read.initial) == (3, (700, 40), (900, 9))
    assert (read.room, bytes(read.payload)) == (4096, b"payload")
    assert read.buffers == ((1, 2), (64, 8))


def test_predictions():
    found = predict(5e-3, 5e-3, 50e-3, 8, pattern="pipelined")
    assert found.total == pytest.approx(10e-3)
    assert found.is_saturated and found.saturates_at == 6 == found.best_workers
    assert found.speedups[2] == pytest.approx(3)
    assert predict(4e-3, 8e-3, 100e-3, 4).total == pytest.approx(34e-3)
    sentence = verdict(5e-3, 5e-3, 50e-3, 8, pattern="pipelined", block=64)
    assert "saturated from 6 workers; best with 6; " in sentence
    assert sentence.endswith("use blocks of at least 104 × 104")
    with pytest.raises(ValueError, match="legal: plain, pipelined, overlapped"):
        predict(1, 1, 1, 1, pattern="fast")
    with pytest.raises(ValueError, match="no workers"):
        predict(1, 1, 1, 0)


def test_long_results_do_not_wait_for_calls_that_are_queued(tmp_path):
    file = tmp_path / "file"
    with Pool(workers=1) as pool:
        long = pool.submit(np.ones, 1000)
        for _ in range(12):
            pool.submit(time.sleep, 0.05)
        last = pool.submit(seen_within, file, 20)
        assert long.result(60).sum() == 1000
        file.touch()
        assert last.result(60)


def test_a_long_result_may_be_late(tmp_path):
    begun, file = tmp_path / "begun", tmp_path / "file"
    with Pool(workers=1) as pool:
        long = pool.submit(np.ones, 1000)
        slow = pool.submit(begins_and_waits, begun, file)
        assert seen_within(begun, 60)  # it is over, and its worker is busy
        with pytest.raises(TimeoutError):
            long.result(0.1)
        assert not long.cancel() and not long.done()
        assert not slow.done()
        file.touch()
        assert long.result(60).sum() == 1000 and slow.result(60)


def test_who_asks_again_and_again_sees_the_end():
    with Pool(workers=1) as pool:
        calls = [pool.submit(np.ones, count) for count in (1, 1000)]
        assert comes_true(lambda: all(each.done() for each in calls))
        assert not any(each.running() for each in calls)
        assert calls[1].result().sum() == 1000


def test_a_call_that_is_over_is_done():
    for pause in (0.5, 2, 8, 32):  # with a slow host a worker takes longer to start
        with Pool(workers=1) as pool:  # each anew: nobody has asked before
            short = pool.submit(add, 1)
            time.sleep(pause)
            if short.done():
                return
    raise AssertionError("nobody has seen the end of a call")


def test_submit_does_not_wait_for_room(tmp_path):
    file = tmp_path / "submitted"
    with Pool(workers=1) as pool:
        slow = pool.submit(seen_within, file, 60)
        calls = [pool.submit(add, i) for i in range(1500)]
        file.touch()
        assert slow.result(60)
        assert [each.result(60) for each in calls] == list(range(1500))


def write_at_exit(path):
    import atexit

    def write():
        time.sleep(0.8)
        path.write_text("kept")

    atexit.register(write)


def test_workers_have_time_to_end(tmp_path):
    with Pool(workers=1) as pool:
        pool.submit(write_at_exit, tmp_path / "file").result()
    assert (tmp_path / "file").read_text() == "kept"


def test_a_child_of_the_host_leaves_its_workers_alone(tmp_path):
    program = tmp_path / "forking.py"
    program.write_text(
        "import os, sys, time\nfrom selion.offload import Pool\n"
        "pool = Pool(workers=1)\n"
        "pid = pool.submit(os.getpid).result()\n"
        "slow = pool.submit(time.sleep, 0.5)\n"
        "child = os.fork()\n"
        "if child == 0:\n    sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "slow.result()\n"
        "assert pool.submit(os.getpid).result() == pid and pool.replaced == 0\n"
        "pool.shutdown()\n"
    )
    subprocess.run([sys.executable, program], check=True, timeout=60)


def test_paths_that_importlib_ignores(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path, b"bytes"])
    with Pool(workers=1) as pool:
        assert pool.submit(add, 1, 2).result() == 3


@pytest.mark.parametrize("spin", [float("nan"), float("inf"), -1, 1e12])
def test_times_that_make_no_sense(spin):
    with pytest.raises(Mistake, match="legal is 0 to 1e\\+09, or None"):
        Pool(workers=1, spin=spin)


def test_an_interrupt_does_not_reach_workers_that_are_still_starting(tmp_path):
    # In the place of what a worker imports, which takes time: Ctrl-C comes meanwhile.
    package = tmp_path / "selion" / "offload"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "worker.py").write_text(
        "import os, signal\ndef main():\n    os.kill(os.getpid(), signal.SIGINT)\n    print('on')\n"
    )
    path = json.dumps([str(tmp_path), *sys.path])
    worker = subprocess.run(
        # -S: no hooks that find the true package
        [sys.executable, "-S", "-c", start.command()[2], path],
        capture_output=True, text=True, timeout=60,
    )
    assert (worker.returncode, worker.stdout, worker.stderr) == (0, "on\n", "")


def test_an_interrupt_leaves_the_pool_as_it_is():
    program = (
        "import os, signal, sys, threading, time\nfrom selion.offload import Pool\n"
        "pool = Pool(workers=1)\npool.submit(abs, 1).result()\n"
        "pool.submit(time.sleep, 1)\ncount = 0\n"
        "def interrupt():\n"
        "    while count < 1000:\n        time.sleep(0.001)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "try:\n"
        "    threading.Thread(target=interrupt, daemon=True).start()\n"
        "    while True:\n        pool.submit(abs, count)\n        count += 1\n"
        "except KeyboardInterrupt:\n    print(count > 0)\n"
        "assert pool.submit(abs, -3).result() == 3\n"
        "pool.shutdown(cancel_futures=True)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (told.returncode, told.stdout) == (0, "True\n"), told.stderr
