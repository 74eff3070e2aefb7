# SPDX-License-Identifier: Apache-2.0
"""Atomic updates of elements of global arrays."""

from __future__ import annotations

import pytest

from conftest import needs_module

pytestmark = needs_module

machines = ["processes:1", "processes:2", "processes:4,direct=off", "sim:crossbar,ranks=3"]


@pytest.mark.parametrize("machine", machines)
def test_numbers_of_all_kinds(job, machine):
    job.expect_no_fault(
        """
        last = world.size - 1
        for dtype in "i4 i8 u4 u8 f4 f8".split():
            part = world.allocate(3, dtype)
            plain = float if dtype[0] == "f" else int
            seen = [part.fetch_add(last, 1, 2) for _ in range(50)]
            assert seen == sorted(set(seen)) and all(type(each) is plain for each in seen)
            part.add(last, 2, 3)
            world.barrier()
            assert part.atomic_get(last, 1) == 100 * world.size
            assert part.get(last).tolist() == [0, 100 * world.size, 3 * world.size]
            world.barrier()
            part.fetch_max(last, 0, world.rank + 10)
            world.barrier()
            assert part.item(last) == world.size + 9
            world.barrier()
            part.fetch_min(last, 2, world.rank)
            world.barrier()
            assert part.item(last, 2) == 0
            part.atomic_put(world.rank, 0, 7)
            assert part.swap(world.rank, 0, np.dtype(dtype).type(8)) == 7
            assert part.item(world.rank) == 8
            world.barrier()
            part.free()
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_bits_and_comparisons(job, machine):
    job.expect_no_fault(
        """
        n, r = world.size, world.rank
        for dtype in "i4 i8 u4 u8".split():
            part = world.allocate(2, dtype)
            part.fetch_or(0, 0, 1 << r)
            world.barrier()
            assert part.item(0) == (1 << n) - 1
            world.barrier()
            before = part.fetch_and(0, 0, ~(1 << r) & 0x7fffffff)
            assert before & (1 << r)
            world.barrier()
            assert part.item(0) == 0
            world.barrier()
            part.fetch_xor(0, 0, 5)
            world.barrier()
            assert part.item(0) == (5 if n % 2 else 0)
            won = part.compare_swap(0, 1, 0, r + 1) == 0
            assert world.all_reduce(int(won)) == 1
            assert 1 <= part.item(0, 1) <= n
            world.barrier()
        large = world.allocate(1, np.uint64)
        large.atomic_put(r, 0, 2**64 - 1)
        assert large.fetch_add(r, 0, 2) == 2**64 - 1 and large.atomic_get(r, 0) == 1
        """,
        machine,
    )


refused = {
    "a16.add(0, 0, 1)": "TypeError: add works on arrays of dtype int32, int64, uint32, uint64, "
    "float32 and float64; this is of int16.",
    "f8.fetch_or(0, 0, 1)": "TypeError: fetch_or works on arrays of dtype int32, int64, uint32 and "
    "uint64; this is of float64.",
    "f8.compare_swap(0, 0, 1, 2)": "TypeError: compare_swap works on arrays of dtype int32",
    "i4.fetch_add(0, 0, 2**31)": "OverflowError: 2147483648 does not fit; legal: -2147483648 to "
    "2147483647.",
    "u8.swap(0, 0, -1)": "OverflowError: -1 does not fit; legal: 0 to 18446744073709551615.",
    "i4.fetch_add(0, 0, 0.5)": "TypeError: 'float' object cannot be interpreted as an integer",
    "f8.fetch_add(0, 0, 'x')": "TypeError: must be real number, not str",
    "i4.fetch_add(1, 0, 1)": "IndexError: The rank is 1; legal: 0 to 0.",
    "i4.fetch_add(0, 2, 1)": "IndexError: Offset 2 and 1 elements reach beyond the array",
    "i4.item(0, 2)": "IndexError: Offset 2 and 1 elements reach beyond the array",
    "gone.atomic_get(0, 0)": "ValueError: The array has been given back with free().",
}


def test_what_is_refused(job):
    job.expect_refusals(
        """
        a16, i4, u8, f8, gone = [world.allocate(2, each) for each in "i2 i4 u8 f8 i8".split()]
        gone.free()
        """,
        refused,
    )
