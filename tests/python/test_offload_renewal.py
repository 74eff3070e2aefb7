# SPDX-License-Identifier: Apache-2.0
"""Workers that are replaced after some calls: `max_tasks_per_child`."""

from __future__ import annotations

import atexit
import collections
import concurrent.futures
import os
import sys
import threading
import time

import numpy as np
import pytest

from conftest import needs_module
from selion.mistake import Mistake
from selion.offload import Pool, WorkerDied

pytestmark = needs_module


def tell(value):
    return value, os.getpid()


def tell_long(value):
    return np.full(10_000, value), os.getpid()


def counts(pids):
    """How many calls each worker has had."""
    return list(collections.Counter(pids).values())


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_worker_is_replaced_after_some_calls(depth):
    with Pool(workers=1, depth=depth, max_tasks_per_child=3) as pool:
        told = [call.result(60) for call in [pool.submit(tell, i) for i in range(10)]]
        assert [value for value, _ in told] == list(range(10))
        assert counts(pid for _, pid in told) == [3, 3, 3, 1]
        assert pool.replaced == 0


def test_workers_stay_without_a_limit_and_below_it():
    for most in (None, 21, 1 << 70):
        with Pool(workers=1, max_tasks_per_child=most) as pool:
            pids = [call.result(60) for call in [pool.submit(os.getpid) for _ in range(20)]]
            assert counts(pids) == [20]


def leave_mark(path):
    path.write_text("")


@pytest.mark.parametrize(("workers", "calls"), [(1, 2), (4, 8)])
def test_calls_begin_that_nobody_asks_for(tmp_path, workers, calls):
    marks = [tmp_path / str(i) for i in range(calls)]
    with Pool(workers=workers, max_tasks_per_child=1) as pool:
        for mark in marks:
            pool.submit(leave_mark, mark)
        end = time.monotonic() + 60
        while not all(mark.exists() for mark in marks):
            assert time.monotonic() < end
            time.sleep(0.01)


def test_a_worker_stays_until_its_long_results_are_fetched():
    with Pool(workers=2, max_tasks_per_child=1) as pool:
        calls = [pool.submit(tell_long, i) for i in range(8)]
        last = calls[-1].result(60)  # while nobody asks for the others
        pids = [call.result(60)[1] for call in calls]
        assert counts(pids) == [1] * 8 and last[0].tolist() == [7] * 10_000
        for value, call in enumerate(calls):
            assert call.result()[0].tolist() == [value] * 10_000


def test_each_of_several_workers_has_its_share():
    with Pool(workers=3, max_tasks_per_child=4) as pool:
        told = list(pool.map(tell, range(40)))
        assert [value for value, _ in told] == list(range(40))
        assert max(counts(pid for _, pid in told)) <= 4
        chunks = list(pool.map(tell, range(24), chunksize=3))  # each is one call
        assert max(counts(pid for _, pid in chunks)) > 4


def test_those_who_wait_in_other_ways(tmp_path):
    with Pool(workers=2, max_tasks_per_child=1) as pool:
        calls = [pool.submit(tell, i) for i in range(5)]
        done = concurrent.futures.as_completed(calls, timeout=60)
        assert sorted(call.result()[0] for call in done) == list(range(5))
        calls = [pool.submit(tell, i) for i in range(5)]
        end = time.monotonic() + 60
        while not calls[-1].done():
            assert time.monotonic() < end
        told = []
        threads = [threading.Thread(target=lambda: told.append(pool.submit(tell, 1).result(60)))
                   for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        assert len({pid for _, pid in told}) == 4


prepared = []


def prepare():
    prepared.append(1)


def count_and_tell():
    return len(prepared), os.getpid()


def test_fresh_workers_call_the_initializer():
    with Pool(workers=1, initializer=prepare, max_tasks_per_child=2) as pool:
        told = [call.result(60) for call in [pool.submit(count_and_tell) for _ in range(6)]]
        assert [count for count, _ in told] == [1] * 6
        assert counts(pid for _, pid in told) == [2, 2, 2]


def leave_at_exit(path):
    atexit.register(lambda: path.write_text("left"))


def test_a_worker_that_is_replaced_ends_by_itself(tmp_path):
    with Pool(workers=1, max_tasks_per_child=1) as pool:
        pool.submit(leave_at_exit, tmp_path / "file").result(60)
        assert pool.submit(os.path.exists, tmp_path / "file").result(60)


def test_deaths_are_counted_and_others_are_not():
    with Pool(workers=1, max_tasks_per_child=2) as pool:
        calls = [pool.submit(tell, 0), pool.submit(os._exit, 3), *(
            pool.submit(tell, i) for i in range(1, 5))]
        with pytest.raises(WorkerDied):
            calls.pop(1).result(60)
        told = [call.result(60) for call in calls]
        assert [value for value, _ in told] == list(range(5))
        assert counts(pid for _, pid in told) == [1, 2, 2] and pool.replaced == 1


def test_calls_that_are_given_up_do_not_count():
    with Pool(workers=1, depth=8, max_tasks_per_child=3) as pool:
        calls = [pool.submit(time.sleep, 0.5), *(pool.submit(tell, i) for i in range(5))]
        calls[1].cancel()
        told = [call.result(60) for call in calls[2:]]
        assert calls[1].cancelled() and counts(pid for _, pid in told) == [2, 2]


@pytest.mark.parametrize("end", [
    lambda pool: pool.shutdown(cancel_futures=True),
    lambda pool: pool.kill_workers(),
    lambda pool: pool.shutdown(wait=False, cancel_futures=True),
])
@pytest.mark.parametrize("pause", [0, 0.02, 0.2])
def test_a_pool_ends_while_workers_are_replaced(end, pause):
    pool = Pool(workers=2, max_tasks_per_child=1)
    calls = [pool.submit(tell, i) for i in range(30)]
    calls[1].result(60)
    time.sleep(pause)
    end(pool)
    pids = {call.result()[1] for call in calls if not call.cancelled() and not call.exception(60)}
    assert calls[-1].cancelled() and pids
    until = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{each}/exe") for each in pids):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_pool_whose_workers_cannot_start_any_more_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with Pool(workers=1, max_tasks_per_child=1) as pool:
        (tmp_path / "cloudpickle.py").write_text("raise SystemExit(5)")
        calls = [pool.submit(tell, i) for i in range(3)]
        assert calls[0].result(60)[0] == 0
        for call in calls[1:]:
            with pytest.raises(OSError, match="worker 0 ended with status 5 before it was ready"):
                call.result(60)


@pytest.mark.parametrize("most", [0, -1])
def test_limits_that_cannot_be(most):
    with pytest.raises(Mistake) as raised:
        Pool(workers=1, max_tasks_per_child=most)
    assert str(raised.value) == (
        f"max_tasks_per_child is {most} calls; legal is 1 or more, or None.")


@pytest.mark.parametrize("most", [1.5, "3"])
def test_limits_that_are_no_whole_numbers(most):
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        Pool(workers=1, max_tasks_per_child=most)
