# SPDX-License-Identifier: Apache-2.0
"""Text, dates and records as values of arrays; what an array of another kind does not take."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import needs_module
from selion.offload import Pool

pytestmark = needs_module


def test_bytes_are_text_where_the_array_is_of_text(job):
    job.expect_no_fault(
        """
        text = world.spread(8, "S3")
        if world.rank == 0:
            text[0:3] = b"abc"
            text[3] = b"de"
            text[4:6] = [b"f", b"g"]
        world.barrier()
        assert text[:].tolist() == [b"abc"] * 3 + [b"de", b"f", b"g", b"", b""]
        small = world.spread(8, "u1")
        if world.rank == 0:
            small[0:3] = b"abc"
        world.barrier()
        assert small[0:3].tolist() == [97, 98, 99]
        """
    )


def test_numbers_are_no_text_and_spans_of_time_no_numbers(job):
    job.expect_refusals(
        """
        text, whole = world.spread(4, "U3"), world.allocate(4, "i8")
        """,
        {
            "text.__setitem__(slice(2), [1, 2])": "TypeError: Values of dtype int64 do not fit",
            "whole.put(np.timedelta64(5, 'm'), 0)": "TypeError: Values of dtype timedelta64[m] do",
            "whole.put([10**5000], 0)": "OverflowError: An int of 16610 bits does not fit",
        },
    )


def test_an_element_with_fields_is_a_tuple(job):
    job.expect_no_fault(
        """
        pairs = world.spread(4, [("x", "i4"), ("y", "f8")])
        if world.rank == 0:
            pairs[1] = (1, 2.5)
            pairs[2:4] = [(3, 4.5), (5, 6.5)]
        world.barrier()
        assert pairs[:].tolist() == [(0, 0.0), (1, 2.5), (3, 4.5), (5, 6.5)]
        """
    )


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[ns]", "S5", ">f4"])
def test_a_global_array_of_any_dtype_is_an_array(job, dtype):
    job.expect_no_fault(
        f"""
        one, other = world.allocate(3, "{dtype}"), world.allocate(3, "{dtype}")
        if "{dtype}"[0] in "Mm":
            one.local[:] = np.array([7, 8, 9]).astype("{dtype}")
        world.barrier()
        other.put(one, 0)
        world.barrier()
        assert world.rank != 0 or (other.local == one.local).all()
        world.barrier()
        one.get(0, out=other)
        assert len(world.all_gather(one)) == world.size
        """
    )


def advance(array):
    array += np.timedelta64(1, "s")


@pytest.mark.parametrize("dtype", ["M8[s]", [("when", "M8[s]"), ("x", "f8")]])
def test_dates_that_a_worker_writes_are_seen(dtype):
    with Pool(workers=1, shared_bytes=1 << 20) as pool:
        array = pool.array(4, dtype)
        dates = array["when"] if array.dtype.names else array
        dates[...] = np.datetime64(0, "s")
        pool.submit(advance, dates).result()
        assert (dates == np.datetime64(1, "s")).all()
        if array.dtype.names:
            pool.submit(advance_field, array).result()
            assert (dates == np.datetime64(2, "s")).all()


def advance_field(array):
    advance(array["when"])
