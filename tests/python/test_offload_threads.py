# SPDX-License-Identifier: Apache-2.0
"""Pools of workers and threads of the host: several that use one, and others that go on."""

from __future__ import annotations

import concurrent.futures
import gc
import os
import threading
import time

import pytest

from conftest import needs_module
from selion.offload import Pool
from selion.offload.call import Call
from selion.offload.turns import Turns

pytestmark = needs_module


@pytest.fixture(scope="module")
def shared_pool():
    with Pool(workers=2, shared_bytes=64 << 20) as pool:
        yield pool


def add(left, right=0):
    return left + right


def end():
    os._exit(3)


def seen_within(path, seconds):
    """Whether a file is made within that time."""
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.005)
    return path.exists()


def tell_whether_seen(path, seconds):
    path.with_suffix(".told").write_text(str(seen_within(path, seconds)))


def test_threads_share_a_pool(shared_pool):
    def work(start):
        return [shared_pool.submit(add, start, i).result() for i in range(200)]

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        results = list(threads.map(work, range(4)))
    assert results == [[start + i for i in range(200)] for start in range(4)]


def test_threads_go_on_while_a_pool_is_let_go(tmp_path):
    file = tmp_path / "made"
    pool = Pool(workers=1)
    pool.submit(add, 1).result(20)
    call = pool.submit(tell_whether_seen, file, 5)
    begun = threading.Event()
    other = threading.Thread(target=lambda: begun.wait() and file.touch())
    other.start()
    begun.set()
    del call, pool
    gc.collect()  # waits for the call
    other.join()
    assert file.with_suffix(".told").read_text() == "True"


def test_threads_go_on_while_a_pool_starts_and_a_worker_is_replaced():
    looks = []
    is_over = threading.Event()

    def look():
        while not is_over.wait(0.001):
            looks.append(time.monotonic())

    other = threading.Thread(target=look)
    other.start()
    try:
        before = time.monotonic()
        with Pool(workers=1) as pool:
            started = time.monotonic()
            dying = pool.submit(end)
            while not dying.done():
                time.sleep(0.001)
            replaced = time.monotonic()
    finally:
        is_over.set()
        other.join()
    # An interpreter's start takes far longer than one round of the thread.
    assert sum(before < each < started for each in looks) > 3
    assert sum(started < each < replaced for each in looks) > 3


def test_callbacks_may_wait_for_others_who_use_the_pool(shared_pool):
    seen = []

    def call_back(_):
        other = threading.Thread(target=lambda: seen.append(shared_pool.submit(abs, -1).result()))
        other.start()
        other.join(10)
        seen.append(other.is_alive())

    call = shared_pool.submit(add, 1)
    call.add_done_callback(call_back)
    assert call.result(20) == 1
    cancelled = [shared_pool.submit(time.sleep, 0.1) for _ in range(8)][-1]
    cancelled.add_done_callback(call_back)
    assert cancelled.cancel()
    end = time.monotonic() + 30
    while len(seen) < 4 and time.monotonic() < end:
        time.sleep(0.01)
    assert sorted(seen, key=str) == [1, 1, False, False]


class Waited:
    """A call that nobody answers, and its pool: waits until somebody wants a turn."""

    def __init__(self):
        self.wanted = threading.Event()
        self.waits = []

    def wait(self, seconds, looks, is_shared):
        self.waits.append(seconds)
        if seconds:
            assert self.wanted.wait(60)
        return False

    def want_turn(self):
        self.wanted.set()


def test_who_wants_the_lock_for_a_moment_ends_a_wait():
    waited, order = Waited(), []
    turns = Turns(waited)

    def want():
        with turns, turns.lock:
            order.append("other")

    other = threading.Thread(target=want)
    with turns.lock:
        other.start()
        turns.wait_for(waited, 1, looks=True, is_shared=False)  # until it has come
        turns.wait_for(waited, 1, looks=False, is_shared=False)
        order.append("waiter")
    other.join(60)
    assert order == ["waiter", "other"] and waited.waits[1] == 0


@pytest.fixture
def no_fallback(monkeypatch):
    """Who is not handed a turn waits longer than a test does."""
    monkeypatch.setattr(Turns, "longest_s", 60)


def test_who_has_its_result_hands_over(no_fallback):
    turns, call = Turns(Waited()), Call(None)
    call._started = "under way"
    turns._is_kept = True  # by somebody else
    patient = threading.Thread(target=turns.wait_patiently, args=(call, 60, 1))
    patient.start()
    while not turns.has_patients:
        time.sleep(0.001)
    assert turns._core.wanted.wait(60), "its call is heeded from now on"
    turns.hand_over()
    patient.join(30)
    assert not patient.is_alive() and not turns.has_patients


def test_who_gives_up_hands_over(no_fallback, tmp_path):
    """By a time-out, and where two wait for the same call."""
    with Pool(workers=2) as pool:
        long = pool.submit(seen_within, tmp_path / "end", 60)
        other = pool.submit(seen_within, tmp_path / "other", 60)
        first = threading.Thread(target=lambda: pytest.raises(TimeoutError, long.result, 0.5))
        same = [threading.Thread(target=long.result) for _ in range(2)]
        last = threading.Thread(target=other.result)
        for each in (first, *same, last):
            each.start()
            time.sleep(0.05)
        first.join(30)
        (tmp_path / "end").touch()
        for each in same:
            each.join(30)
        (tmp_path / "other").touch()
        last.join(30)
        assert not any(each.is_alive() for each in (first, *same, last))


def test_callbacks_may_ask_for_results_that_came_with_theirs(shared_pool):
    asked = threading.Event()

    def ask(_):
        other.result(30)
        asked.set()

    for _ in range(20):
        asked.clear()
        first, other = shared_pool.submit(add, 1), shared_pool.submit(add, 2)
        first.add_done_callback(ask)
        time.sleep(0.002)
        assert (first.result(30), other.result(30)) == (1, 2)
        assert asked.wait(30)


class Started:
    def __init__(self, is_done):
        self.is_done = lambda: is_done


def test_results_that_are_fetched_do_not_hide_others():
    """They may wait for a worker that is busy."""
    pool = Pool.__new__(Pool)
    pool._most_in_work = 2
    pool._pending, settled = [Call(pool) for _ in range(6)], []
    for call in pool._pending:
        call._started, call._fetched = Started(False), "on its way"
    pool._pending[-1]._started = Started(True)
    pool._settle = settled.append
    assert pool._settle_all() == 1 and settled == pool._pending[-1:]


def test_short_calls_beside_a_long_one():
    with Pool(workers=2) as pool:
        long = pool.submit(time.sleep, 1.5)
        waiters = [threading.Thread(target=long.result) for _ in range(8)]
        for waiter in waiters:
            waiter.start()
        count = 0
        while not long.done():
            assert pool.submit(abs, -count).result(10) == count
            count += 1
        for waiter in waiters:
            waiter.join()
    assert count > 10, "each in its turn"


class Guarded:
    """Pickled with a lock that another thread may have, which waits for the pool."""

    def __init__(self, lock, begun):
        self.lock, self.begun = lock, begun

    def __getstate__(self):
        self.begun.set()
        with self.lock:
            return {"lock": None, "begun": None}


def test_arguments_are_pickled_without_the_lock_of_the_pool(shared_pool):
    lock, begun = threading.Lock(), threading.Event()
    with lock:
        thread = threading.Thread(
            target=lambda: shared_pool.submit(type, Guarded(lock, begun)).result(60))
        thread.start()
        assert begun.wait(60)
        assert shared_pool.submit(abs, -3).result(20) == 3
    thread.join(60)
    assert not thread.is_alive()


class Halting:
    """Is read, in the process that has made the pool, when the test says so."""

    begun, may_end = threading.Event(), threading.Event()

    def __init__(self, maker):
        self.maker = maker

    def __reduce__(self):
        return read_halting, (self.maker,)


def read_halting(maker):
    if os.getpid() == maker:
        Halting.begun.set()
        assert Halting.may_end.wait(60)
    return Halting(maker)


def test_results_are_read_without_the_lock_of_the_pool(shared_pool):
    call = shared_pool.submit(Halting, os.getpid())
    reader = threading.Thread(target=call.result)
    reader.start()
    try:
        assert Halting.begun.wait(60)
        assert shared_pool.submit(abs, -3).result(20) == 3
    finally:
        Halting.may_end.set()
        reader.join(60)
    assert call.result(0).maker == os.getpid()
