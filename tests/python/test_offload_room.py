# SPDX-License-Identifier: Apache-2.0
"""Pools whose shared memory is full: of results that nobody has asked for yet, and of others."""

from __future__ import annotations

import concurrent.futures
import gc
import time

import numpy as np
import pytest

from conftest import needs_module
from selion.offload import Pool, WorkerDied, messages
from selion.offload.worker import Server

pytestmark = needs_module

mib = 1 << 20


def numbers(first):
    """1 MiB of them."""
    return np.arange(first, first + mib // 8)


def total(array):
    return int(array.sum())


def is_shared(pool, array):
    return pool._core.place_of(array) >= 0


def in_results(pool):
    return pool._core.had(1)


@pytest.mark.parametrize("asks", [True, False])
def test_results_that_nobody_has_asked_for_leave_room(asks):
    """They are four times what there is, and arguments of a quarter still find room."""
    with Pool(workers=2, shared_bytes=4 * mib) as pool:
        calls = [pool.submit(numbers, i) for i in range(16)]
        if asks:
            assert calls[-1].result(60)[0] == 15
        concurrent.futures.wait(calls, timeout=60)
        assert 0 < in_results(pool) <= 2 * mib
        assert pool.submit(total, np.ones(mib // 8, int)).result(60) == mib // 8
        results = [call.result() for call in calls]
    for i, result in enumerate(results):  # also when the pool has ended
        assert (result == numbers(i)).all()
        result[0] = 3  # it is the caller's own


def test_results_stay_where_they_are_while_there_is_room_and_give_it_back():
    with Pool(workers=1, shared_bytes=8 * mib) as pool:
        results = [pool.submit(numbers, i).result(60) for i in range(6)]
        assert [is_shared(pool, each) for each in results] == [True] * 3 + [False] * 3
        part = results[0][5:7]
        del results
        gc.collect()
        assert in_results(pool) > mib, "somebody has a part"
        del part
        gc.collect()
        assert in_results(pool) == 0
        assert is_shared(pool, pool.submit(numbers, 0).result(60))


def mixed():
    return [np.arange(5000), b"x" * 33_333, np.zeros(0), np.arange(77, dtype=np.uint8), "end"]


def are_equal(found, wanted):
    return [np.array_equal(a, b) for a, b in zip(found, wanted, strict=True)] == [True] * 5


def raise_with(count):
    raise ValueError(np.arange(count))


@pytest.mark.parametrize("left", [6, 8, 16, 20, 100])
def test_results_come_in_parts_through_what_is_left(left):
    """Blocks of 4 KiB: a message and each function take one, the rest is a passage, or too little
    for one."""
    with Pool(workers=1, shared_bytes=mib) as pool:
        rest = pool.array(mib - left * 4096, np.uint8)
        assert are_equal(pool.submit(mixed).result(60), mixed())
        assert (pool.submit(numbers, 7).result(60) == numbers(7)).all()
        with pytest.raises(ValueError) as raised:
            pool.submit(raise_with, 100_000).result(60)
        assert raised.value.args[0].tolist() == list(range(100_000))
        assert rest.sum() == 0


def test_parts_are_as_long_as_there_is_room_for():
    for left, least, most in ((100, 8, 9), (2, 257, 257)):
        with Pool(workers=1, shared_bytes=mib) as pool:
            rest = pool.array(mib - left * 4096, np.uint8)
            parts, fetch = [], pool._results._fetch
            pool._results._fetch = lambda *each, fetch=fetch, parts=parts: (
                parts.append(1), fetch(*each))
            assert (pool.submit(numbers, 7).result(60) == numbers(7)).all()
            assert least <= len(parts) <= most and not rest.any()


def kept_by_worker():
    (server,) = (each for each in gc.get_objects() if isinstance(each, Server))
    return len(server._kept)


def test_workers_forget_results_that_have_been_fetched():
    with Pool(workers=1, shared_bytes=mib) as pool:
        for length in (1000, 100_000):  # whole, in parts
            for _ in range(3):
                pool.submit(np.ones, length).result(60)
        assert pool.submit(kept_by_worker).result(60) == 0


def same(array):
    return array


def test_a_result_that_lies_in_an_argument_comes_in_parts():
    with Pool(workers=1, shared_bytes=2 * mib) as pool:
        for i in range(5):
            long = np.concatenate([numbers(i), numbers(-1000)[:1000]])
            result = pool.submit(same, long).result(60)
            assert (result == long).all() and not is_shared(pool, result)


state = np.zeros(10_000)


def set_and_give(value):
    state[:] = value
    return [state, state[5000:].reshape(50, 100).T]


@pytest.mark.parametrize("depth", [1, 2])
def test_later_calls_do_not_change_a_result(depth):
    """A worker has the array still when it begins the next call, and the result is long."""
    with Pool(workers=1, depth=depth) as pool:
        calls = [pool.submit(set_and_give, i) for i in range(6)]
        for i, call in enumerate(calls):
            assert all((part == i).all() for part in call.result(60))


@pytest.mark.parametrize(("make", "is_copied"), [
    (lambda: np.arange(9000.0), False),
    (lambda: np.arange(9000.0)[5:].reshape(5, -1).T, False),
    (lambda: state, True),
    (lambda: state[5:], True),
    (lambda: state.reshape(100, 100).T, True),
], ids=["own", "part of own", "another's", "part of another's", "turned"])
def test_only_arrays_that_somebody_else_has_are_copied_by_workers(make, is_copied):
    result = messages.Result(make())
    result.keep()
    assert [type(memory.obj) is bytes for memory in result._buffers] == [is_copied]


def await_end(pool, call):
    """Without taking its result."""
    while True:
        with pool._turns, pool._turns.lock:
            if call._started is None or call._started.is_done():
                return


def test_calls_that_are_done_leave_room_for_arguments_of_others():
    """Nobody has looked for them."""
    with Pool(workers=2, shared_bytes=4 * mib) as pool:
        calls = []
        for i in range(12):
            calls.append(pool.submit(total, numbers(i)))
            await_end(pool, calls[-1])
        assert [call.result(60) for call in calls] == [total(numbers(i)) for i in range(12)]
    with Pool(workers=2, shared_bytes=4 * mib) as pool:
        calls = [pool.submit(total, numbers(i)) for i in range(3)]
        for call in calls:
            await_end(pool, call)
        array = pool.array(mib, np.uint8)
        assert array.sum() == 0 and calls[2].result(60) == total(numbers(2))


def test_long_results_of_calls_that_are_done_leave_room_for_arguments_of_others():
    """Their arguments are there until the results have been fetched."""
    with Pool(workers=2, shared_bytes=4 * mib) as pool:
        calls = []
        for i in range(6):
            calls.append(pool.submit(np.sort, numbers(i)))
            await_end(pool, calls[-1])
        for i, call in enumerate(calls):
            assert (call.result(60) == numbers(i)).all()


def test_what_has_run_is_not_cancelled_when_workers_are_killed():
    with Pool(workers=1) as pool:
        call = pool.submit(numbers, 0)
        pool.submit(time.sleep, 60)  # which the worker begins before it can give the result
        await_end(pool, call)
        with pool._turns, pool._turns.lock:
            pool._settle(call)
        pool.kill_workers()
        assert isinstance(call.exception(60), WorkerDied)


@pytest.mark.parametrize("part", [1, 7, 64, 100, 4096])
def test_parts_of_a_result_make_the_whole(part):
    value = [np.arange(20), b"abc", np.zeros(0), np.arange(33, dtype=np.uint8), "end"]
    result = messages.Result(value)
    whole = bytearray(result.bytes)
    for first in range(0, result.bytes, part):
        result.write_part(memoryview(whole)[first : first + part], first)
    assert are_equal(messages.load_result(np.frombuffer(whole, np.uint8)), value)


def test_functions_leave_room():
    """Each is a new one of 2 MiB, and there is room for eight."""
    with Pool(workers=1, shared_bytes=16 * mib) as pool:
        for i in range(20):
            held = np.full(mib // 4, i)
            assert pool.submit(lambda held=held: int(held[0])).result(60) == i
        assert pool.array(mib).shape == (mib,)


def test_calls_that_are_done_leave_room():
    with Pool(workers=1, shared_bytes=4 * mib) as pool:
        calls = [pool.submit(abs, -i) for i in range(900)]
        assert [call.result(60) for call in calls] == list(range(900))
        assert pool.submit(total, np.ones(mib // 4, int)).result(60) == mib // 4


def add_one(array):
    array += 1
    return int(array[0])


def test_results_as_arguments_are_copied():
    with Pool(workers=1) as pool:
        for count in (10, 1000, 100_000):
            made = pool.submit(np.zeros, count, int).result(60)
            assert pool.submit(add_one, made).result(60) == 1
            assert pool.submit(add_one, made[::2]).result(60) == 1
            assert not made.any()
