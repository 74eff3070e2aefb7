# SPDX-License-Identifier: Apache-2.0
"""Arrays of a pool of workers, and those that travel to it: how they lie, and that they end."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

from conftest import needs_module
from selion.mistake import Mistake
from selion.offload import Pool

pytestmark = needs_module


def total(array):
    return float(array.sum())


def double(array):
    return array * 2


def fill(array, value):
    array[...] = value


@pytest.fixture(scope="module")
def shared_pool():
    with Pool(workers=2, shared_bytes=64 << 20) as pool:
        yield pool


@pytest.mark.parametrize("count", [0, 1, 1000, 1 << 17])
def test_arrays_travel(shared_pool, count):
    array = np.arange(count, dtype=np.float64)
    assert shared_pool.submit(total, array).result() == array.sum()
    doubled = shared_pool.submit(double, array).result()
    assert np.array_equal(doubled, 2 * array)
    if count:
        doubled[0] = 5  # it is the caller's own
    strided = shared_pool.submit(total, np.arange(20.0).reshape(4, 5)[:, ::2]).result()
    assert strided == np.arange(20.0).reshape(4, 5)[:, ::2].sum()


def test_arrays_of_the_pool_are_not_copied(shared_pool):
    array = shared_pool.array((30, 20), np.int32)
    assert array.shape == (30, 20) and array.sum() == 0
    shared_pool.submit(fill, array, 4).result()
    assert (array == 4).all()
    shared_pool.submit(fill, array[3:5], 1).result()
    assert array.sum() == 28 * 20 * 4 + 2 * 20
    copied = np.zeros(10)
    shared_pool.submit(fill, copied, 4).result()
    assert copied.sum() == 0


class Own(np.ndarray):
    pass


def windows(array):
    return np.lib.stride_tricks.sliding_window_view(array, (2, 2), writeable=True)


def restrided(array):
    return np.lib.stride_tricks.as_strided(array[1:], (3, 3), (128, 16))


def of_class(array):
    return type(array).__name__, array.shape


def mark(array):
    array[-1, -1] = 7
    return of_class(array)


@pytest.mark.parametrize("view", [
    lambda array: array.view(np.matrix), lambda array: array.view(Own),
    lambda array: array.view(Own)[1::2, ::3], lambda array: array.view(Own).T[::-1],
    windows, restrided, lambda array: restrided(array).view(Own)[::2],
])
def test_views_of_any_kind_are_not_copied(shared_pool, view):
    array = shared_pool.array((8, 8))
    seen = view(array)
    assert shared_pool.submit(mark, seen).result() == of_class(seen)
    assert (np.asarray(seen)[-1, -1] == 7).all() and (array != 0).any()
    assert shared_pool.submit(of_class, seen[:0]).result() == of_class(seen[:0])


def test_records_are_not_copied(shared_pool):
    records = shared_pool.array(4, [("x", "f8"), ("y", "i4")]).view(np.recarray)
    shared_pool.submit(fill, records.x[::2], 3).result()
    shared_pool.submit(fill_x, records[1:2], 5).result()
    assert records.x.tolist() == [3, 5, 3, 0]


def fill_x(records, value):
    records.x = value


def test_classes_that_write_themselves_are_copied(shared_pool):
    array = shared_pool.array((3, 3))
    masked = np.ma.array(array, mask=np.eye(3))
    assert shared_pool.submit(mark, masked).result() == ("MaskedArray", (3, 3))
    assert not array.any()


def test_shared_memory_is_given_back():
    with Pool(workers=1, shared_bytes=8 << 20) as pool:
        big = np.ones((1 << 20) // 8)
        for _ in range(40):  # five times as much as there is
            assert pool.submit(double, big).result()[0] == 2
        kept = [pool.submit(double, big).result() for _ in range(3)]
        gc.collect()
        with pytest.raises(MemoryError, match="shared_bytes"):
            pool.array(8 << 20)
    assert all(each[-1] == 2 for each in kept)  # also when the pool has ended


def test_arguments_live_until_the_call_is_done():
    with Pool(workers=1, shared_bytes=1 << 20) as pool:
        pool.submit(time.sleep, 0.05)
        totals = []
        for value in range(8):
            array = pool.array(8192)
            array.fill(value)
            totals.append(pool.submit(total, array))
            del array
        assert [each.result() for each in totals] == [8192 * value for value in range(8)]


def test_arrays_beside_what_pickle_cannot_name(shared_pool):
    array = np.arange(5.0)

    def apply(data, function):
        return function(data), (lambda: data)

    doubled, again = shared_pool.submit(apply, array, lambda data: data * 2).result()
    assert doubled.tolist() == [0, 2, 4, 6, 8] and again().tolist() == array.tolist()


def test_failed_calls_leave_nothing():
    with Pool(workers=1, shared_bytes=1 << 20) as pool:
        for _ in range(50):
            with pytest.raises(MemoryError):
                pool.submit(total, np.ones(60_000), np.ones(100_000))
            assert pool.submit(np.ones, 200_000).result().sum() == 200_000  # it goes in parts
        assert pool.submit(total, np.ones(80_000)).result() == 80_000
        with pytest.raises(Mistake, match="negative"):
            pool.array(-1)


def fail_with(array):
    raise ValueError(array)


def test_exceptions_carry_arrays(shared_pool):
    raised = shared_pool.submit(fail_with, np.arange(4)).exception()
    assert raised.args[0].tolist() == [0, 1, 2, 3]


def test_parts_with_gaps_are_not_copied(shared_pool):
    array = shared_pool.array(10)
    shared_pool.submit(fill, array[::2], 5).result()
    assert array.tolist() == [5, 0] * 5
    shared_pool.submit(lambda parts: fill(parts[0], 7), [array[::-3]]).result()
    assert array.tolist() == [7, 0, 5, 7, 5, 0, 7, 0, 5, 7]
    matrix = shared_pool.array((4, 6), np.int16)
    shared_pool.submit(fill, matrix[1:3, ::2].T, 1).result()
    assert matrix.tolist() == [[0] * 6, [1, 0] * 3, [1, 0] * 3, [0] * 6]
    objects = np.array([1, "two", None, 4], object)[::2]
    assert shared_pool.submit(len, objects).result() == 2


def test_arrays_of_all_kinds_begin_as_zeros(shared_pool):
    assert shared_pool.array(2, "S4").tolist() == [b"", b""]
    assert shared_pool.array(2, "U4").tolist() == ["", ""]
    assert shared_pool.array(np.int64(3)).tolist() == [0, 0, 0]
    assert shared_pool.array((np.int32(2), 1)).shape == (2, 1)
    assert shared_pool.array(()).shape == ()
    for size in (1 << 62, 1 << 80):
        with pytest.raises(MemoryError, match="no memory has them"):
            shared_pool.array(size)


def test_memory_that_no_process_has():
    with pytest.raises(ValueError, match="at most 140737488355328 are possible"):
        Pool(workers=1, shared_bytes=(1 << 64) - 1)


def write_first(array):
    try:
        array[0] = 5
    except ValueError:
        return "read-only"
    return "written"


def test_what_is_read_only_stays_so(shared_pool):
    array = shared_pool.array(100)
    for part in (array[:50], array[::2]):
        part.flags.writeable = False
        assert shared_pool.submit(write_first, part).result(60) == "read-only"
    assert shared_pool.submit(write_first, array[::2]).result(60) == "written"
    assert array[0] == 5


def test_a_dtype_with_sizes_of_its_own():
    with Pool(workers=1, shared_bytes=1 << 20) as pool:
        assert pool.array((2,), ("f8", (3,))).shape == (2, 3)
