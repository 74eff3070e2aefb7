# SPDX-License-Identifier: Apache-2.0
"""Collectives of blocks in Python: values, arrays, and what is refused."""

from __future__ import annotations

import pytest

from conftest import needs_module

pytestmark = needs_module

machines = ["processes:1", "processes:3", "processes:4,direct=off", "sim:crossbar,ranks=5"]


@pytest.mark.parametrize("machine", machines)
def test_values(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        values = [None, True, -3, 2.5]
        mine = values[r % 4]
        all_values = [values[i % 4] for i in range(n)]
        for root in range(n):
            assert world.gather(mine, root) == (all_values if r == root else None)
            given = [10 * i + root for i in range(n)] if r == root else None
            assert world.scatter(given, root) == 10 * r + root
            total = world.reduce(r + 1, "plus", root)
            assert total == (n * (n + 1) // 2 if r == root else None)
        found = world.all_gather(mine)
        assert found == all_values and [type(v) for v in found] == [type(v) for v in all_values]
        assert world.exchange([100 * r + i for i in range(n)]) == [100 * i + r for i in range(n)]
        assert world.scan(r + 1) == (r + 1) * (r + 2) // 2
        assert world.scan(0.5, "plus") == (r + 1) / 2
        assert world.exscan(r + 1, "maximum") == (None if r == 0 else r)
        assert world.exscan(r + 1, "plus", 0) == r * (r + 1) // 2
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_arrays(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        mine = np.arange(6, dtype="f4").reshape(2, 3) + 10 * r
        stacked = np.stack([np.arange(6, dtype="f4").reshape(2, 3) + 10 * i for i in range(n)])
        assert np.array_equal(world.all_gather(mine[:, :]), stacked)
        assert np.array_equal(world.all_gather(np.asfortranarray(mine)), stacked)
        root = n - 1
        got = world.gather(mine, root)
        assert (got is None) if r != root else np.array_equal(got, stacked)
        part = world.scatter(np.arange(4 * n).reshape(2 * n, 2) if r == root else None, root)
        assert part.tolist() == [[4 * r, 4 * r + 1], [4 * r + 2, 4 * r + 3]]
        sent = np.array([[r, i] for i in range(n)], "i8")
        assert world.exchange(sent).tolist() == [[i, r] for i in range(n)]
        assert sent.tolist() == [[r, i] for i in range(n)]
        assert world.all_gather(np.array(2.5)).tolist() == [2.5] * n
        try:
            world.scatter(list(range(n + 1)) if r == 0 else None)
            raise AssertionError("one value too many")
        except ValueError as mistake:
            assert ("needs one value for each" in str(mistake)) == (r == 0)
        words = world.scatter(np.array([f"rank{i}" for i in range(n)]) if r == 0 else None)
        assert words.tolist() == [f"rank{r}"]
        ones = np.full(5, r + 1, "i4")
        assert world.scan(ones).tolist() == [(r + 1) * (r + 2) // 2] * 5
        assert world.scan(ones).dtype == np.dtype("i4") and ones.tolist() == [r + 1] * 5
        total = world.reduce(ones, "plus", root)
        assert (total is None) if r != root else total.tolist() == [n * (n + 1) // 2] * 5
        """,
        machine,
    )


refused = {
    "world.gather(1, 7)": "ValueError: The root is 7; legal: 0 to 1.",
    "world.gather('text')": "TypeError: gather moves None, bools, ints, floats and NumPy arrays; "
    "this is str.",
    "world.all_gather(2**70)": "OverflowError: Integers that ranks exchange must fit 64 bits.",
    "world.all_gather(np.array([None]))": "TypeError: all_gather cannot move dtype object: it "
    "holds references.",
    "world.exchange([1, 2, 3])": "ValueError: exchange needs one value for each of the 2 members, "
    "or an array whose first extent is a multiple of that; this has the shape (3,).",
    "world.exchange(np.zeros(5))": "ValueError: exchange needs one value for each of the 2 "
    "members, or an array whose first extent is a multiple of that; this has the shape (5,).",
    "world.scan('a')": "TypeError: scan combines an int, a float or a NumPy array of numbers.",
    "world.scan(1, 'minus')": "ValueError: The operation is 'minus'; legal: plus, times, minimum, "
    "maximum.",
    "world.reduce(np.zeros(2, 'c16'))": "TypeError: reduce cannot combine arrays of dtype <c16; "
    "legal: float32, float64, and integers of 8 to 64 bits.",
}


@pytest.mark.parametrize("call", refused)
def test_what_is_refused(job, call):
    status, _, errors = job.run(call, "processes:2")
    assert status == 1
    assert refused[call] in errors
