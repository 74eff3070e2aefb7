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
@pytest.mark.parametrize("checked", ["off", "on"])
def test_ints_and_floats_combine_as_numbers_of_python_do(job, machine, checked):
    """The sum of an empty list is the int 0."""
    job.variables = {"SELION_CHECK_CALLS": checked}
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        mine = sum([] if r == 0 else [0.25] * r)
        total = world.all_reduce(mine)
        assert total == n * (n - 1) / 8 and type(total) is (int if n == 1 else float), total
        assert world.all_reduce(r if r % 2 else r + 0.5, "maximum") == max(
            q if q % 2 else q + 0.5 for q in range(n))
        least = world.all_reduce(-r if r else -0.5, "minimum")
        assert least == min(-0.5, 1 - n)
        whole = world.all_reduce(2**62 + r)
        assert type(whole) is int and whole % 2**64 == sum(2**62 + q for q in range(n)) % 2**64
        assert world.scan(1 if r == 0 else 0.5) == 1 + r / 2
        start = world.split_phase
        assert start.all_reduce(mine).result() == n * (n - 1) / 8
        assert start.scan(1 if r == 0 else 0.5).result() == 1 + r / 2
        assert type(start.all_reduce(2**62 + r).result()) is int
        assert start.all_reduce(-r if r else -0.5, min).result() == least
        rooted = start.reduce(mine, "plus", n - 1).result()
        assert rooted == (n * (n - 1) / 8 if r == n - 1 else None)
        assert start.exscan(0.5 if r else 3, "plus", "none").result() == (
            "none" if r == 0 else 3 + (r - 1) / 2)
        before = world.exscan(1 if r == 0 else 0.5)
        assert before == (None if r == 0 else 1 + (r - 1) / 2)
        at_root = world.reduce(1.5 if r == n - 1 else 1, "plus", n - 1)
        assert at_root == (n + 0.5 if r == n - 1 else None)
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
        assert ones.tolist() == [r + 1] * 5
        room = np.zeros((5, 1), "i4")
        total = world.reduce(ones, "plus", root, out=room if r == root else None)
        assert (total is None) if r != root else total is room
        assert room.sum() == (5 * n * (n + 1) // 2 if r == root else 0)
        assert world.reduce(np.arange(10)[::2], "maximum", root, out=np.zeros(5, "i8")) is None \
            or r == root
        assert world.scan(ones, out=room) is room
        assert room.tolist() == [[(r + 1) * (r + 2) // 2]] * 5 and ones.tolist() == [r + 1] * 5
        assert world.scan(ones, out=ones) is ones and ones.tolist() == room.ravel().tolist()
        turned = np.arange(4.0).reshape(2, 2)  # into itself, in another order
        world.all_reduce(turned.T, out=turned)
        assert turned.tolist() == [[0.0, 2.0 * world.size], [world.size, 3.0 * world.size]]
        before = world.exscan(np.full(5, r + 1, "i4"), "plus", out=room)
        assert before is None if r == 0 else before is room
        assert room.ravel().tolist() == [r * (r + 1) // 2] * 5
        try:
            world.scan(ones, out=np.zeros(4, "i4"))
            raise AssertionError("too short")
        except ValueError as mistake:
            assert "out of scan has another number of elements" in str(mistake)
        try:
            world.reduce(1, out=ones)
            raise AssertionError("not for numbers")
        except TypeError as mistake:
            assert "out of reduce is for arrays" in str(mistake)
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_blocks_that_differ(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        def block(i, j=0):
            kinds = [np.arange(i * 3 + j, dtype="f4"), b"x" * (i + j), np.zeros((0, 4), "i2"),
                     np.full((2, i + 1), 1j * j, "c16")]
            return kinds[(i + j) % 4]
        def same(left, right):
            if isinstance(right, bytes):
                return left == right
            return left.dtype == right.dtype and np.array_equal(left, right)
        def all_same(left, right):
            return len(left) == len(right) and all(map(same, left, right))
        everybody = [block(i) for i in range(n)]
        assert all_same(world.all_gatherv(block(r)), everybody)
        for root in range(n):
            found = world.gatherv(block(r), root)
            assert all_same(found, everybody) if r == root else found is None
            given = [block(i, root) for i in range(n)] if r == root else None
            assert same(world.scatterv(given, root), block(r, root))
        found = world.exchangev([block(r, i) for i in range(n)])
        assert all_same(found, [block(i, r) for i in range(n)])
        if isinstance(found[0], np.ndarray):
            found[0][...] = 0  # it is the caller's own
        assert world.all_gatherv(b"") == [b""] * n
        mine = np.arange(12).reshape(3, 4).T[::2]
        assert same(world.all_gatherv(mine)[r], mine)
        try:
            world.scatterv([b""] * (n + 1) if r == 0 else None)
            raise AssertionError("one too many")
        except ValueError as mistake:
            assert ("needs one object for each" in str(mistake)) == (r == 0)
        """,
        machine,
    )


def test_a_scatter_of_what_cannot_be_told(job):
    """Others hear of it, and do not wait."""
    out = job.expect_no_fault(
        """
        given = np.zeros(3)
        for scatter, values in ((world.scatter, given), (world.scatterv, [given] * 3)):
            try:
                scatter(values)
            except ValueError as error:
                print(world.rank, "nothing that can be scattered" in str(error))
        world.barrier()
        """,
        "processes:2",
    )
    assert sorted(out.splitlines()) == ["0 False"] * 2 + ["1 True"] * 2


refused = {
    "world.gather(1, 7)": "ValueError: The root is 7; legal: 0 to 1.",
    "world.gather('text')": "TypeError: gather moves None, bools, ints, floats and NumPy arrays; "
    "this is str. Other objects go by gatherv.",
    "world.all_gather(2**70)": "OverflowError: Integers that ranks exchange must fit 64 bits.",
    "world.all_gather(np.array([None]))": "TypeError: all_gather cannot move dtype object: it "
    "holds references.",
    "world.exchange([1, 2, 3])": "ValueError: exchange needs one value for each of the 2 members, "
    "or an array whose first extent is a multiple of that; this has the shape (3,).",
    "world.exchange(np.zeros(5))": "ValueError: exchange needs one value for each of the 2 "
    "members, or an array whose first extent is a multiple of that; this has the shape (5,).",
    "world.exchangev([b'']*3)": "ValueError: exchangev needs one object for each of the 2 "
    "members; these are 3.",
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


def test_bytes_are_no_arrays(job):
    job.expect_no_fault(
        """
        def refuses(call, sentence):
            try:
                found = call()
            except TypeError as mistake:
                assert sentence in str(mistake), mistake
            else:
                raise AssertionError(found)
        for two in (b"ab", bytearray(b"ab")):
            kind = type(two).__name__
            moves = f"moves None, bools, ints, floats and NumPy arrays; this is {kind}."
            combines = "combines an int, a float or a NumPy array of numbers."
            for team in (world, world.split_phase):
                refuses(lambda: team.gather(two), "gather " + moves)
                refuses(lambda: team.all_gather(two), "all_gather " + moves)
                refuses(lambda: team.exchange(two), "exchange " + moves)
                refuses(lambda: team.exchange([two] * 2), "exchange " + moves)
                refuses(lambda: team.all_reduce(two), "all_reduce " + combines)
                refuses(lambda: team.reduce(two), "reduce " + combines)
                refuses(lambda: team.scan(two), "scan " + combines)
                refuses(lambda: team.exscan(two), "exscan " + combines)
            refuses(lambda: world.reduce_scatter(two), "reduce_scatter combines a list of numbers")
            if world.rank == 0:
                refuses(lambda: world.scatter(two), "scatter " + moves)
            else:
                try:
                    raise AssertionError(world.scatter(None))
                except ValueError as mistake:
                    assert "nothing that can be scattered" in str(mistake)
            assert world.broadcast(b"ab") == b"ab" and world.all_gatherv(two) == [b"ab"] * 2
        assert world.all_reduce(memoryview(b"ab")).tolist() == [194, 196]
        """,
        "processes:2",
    )


@pytest.mark.parametrize("machine", machines)
def test_reduce_scatter(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        both = n * (n - 1) // 2
        assert world.reduce_scatter([10 * i + r for i in range(n)]) == 10 * r * n + both
        found = world.reduce_scatter([0.5 * r] * n, "maximum")
        assert found == 0.5 * (n - 1) and type(found) is float
        given = np.arange(2 * n * 3, dtype="f4").reshape(2 * n, 3)
        part = world.reduce_scatter(given + r)
        model = n * given[2 * r : 2 * r + 2] + both
        assert part.dtype == np.dtype("f4") and np.array_equal(part, model)
        turned = np.asfortranarray(given + r)
        room = np.zeros(6, "f4")
        assert world.reduce_scatter(turned, out=room) is room
        assert np.array_equal(room.reshape(2, 3), model)
        whole = given + r
        own = whole[2 * r : 2 * r + 2]
        assert world.reduce_scatter(whole, out=own) is own and np.array_equal(own, model)
        assert world.reduce_scatter(np.zeros((0, 2)), "times").shape == (0, 2)
        """,
        machine,
    )


def test_what_reduce_scatter_refuses(job):
    job.expect_no_fault(
        """
        given = np.zeros(4)
        for call, says in {
            "[1, 2, 3]": "one number for each of the 2 members, or an array whose first extent is "
            "a multiple of that; these are 3.",
            "np.zeros(3)": "one number for each of the 2 members",
            "np.zeros(())": "one number for each of the 2 members",
            "given, out=np.zeros(3)": "another number of elements than a part",
            "given, out=given[1:3]": "overlaps with what other members give or get",
            "given, out=np.zeros(2, int)": "The array is of dtype int64",
            "[1, 2], out=np.zeros(1)": "is for arrays, not for single values",
            "[given, given]": "a list of numbers, or an array",
            "['a', 'b']": "reduce_scatter combines an int, a float",
            "np.zeros(2, complex)": "reduce_scatter cannot combine arrays of dtype <c16",
            "given, 'minus'": "The operation is 'minus'",
        }.items():
            try:
                eval(f"world.reduce_scatter({call})")
            except (TypeError, ValueError) as error:
                assert says in str(error), (call, error)
            else:
                raise AssertionError(call)
        """
    )


def test_out_that_overlaps_with_what_others_give(job):
    """The own block in its own place is no mistake, nor is the same array of an exchange."""
    job.expect_no_fault(
        """
        n, r = world.size, world.rank
        all = np.arange(2.0 * n)
        other = (r + 1) % n
        for call in [lambda: world.all_gather(all[2 * other : 2 * other + 2], out=all),
                     lambda: world.exchange(all[: n], out=all[1 : n + 1]),
                     lambda: world.gather(all[2 * other : 2 * other + 2], r, out=all),
                     lambda: world.scatter(all, r, out=all[2 * other : 2 * other + 2])]:
            try:
                call()
            except ValueError as error:
                assert "overlaps with what other members give or get" in str(error)
            else:
                raise AssertionError
        world.all_gather(all[2 * r : 2 * r + 2], out=all)
        assert all.tolist() == list(range(2 * n))
        world.exchange(all, out=all)
        """,
        "processes:2",
    )


@pytest.mark.parametrize("machine", machines)
def test_nan_is_the_least_and_the_greatest(job, machine):
    """Whichever rank has it, and also where the other values are infinite."""
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        for who in range(n):
            for dtype in "f4", "f8":
                mine = np.full(37, float(r), dtype)
                mine[who::2] = np.nan if r == who else np.inf
                for operation in "minimum", "maximum":
                    found = world.all_reduce(mine, operation)
                    assert np.isnan(found[who::2]).all(), (who, dtype, operation)
                    assert np.isfinite(found[1 - who % 2 :: 2][who:]).all()
                    assert np.isnan(world.all_reduce(float(mine[who]), operation))
            running = world.scan(np.full(3, np.nan if r == who else float(r)), "minimum")
            assert np.isnan(running).all() == (r >= who)
        """,
        machine,
    )


def test_a_broadcast_of_arrays_that_do_not_lie_in_one_piece(job):
    """The root's are copied; others are refused before anybody waits for them."""
    job.expect_no_fault(
        """
        r = world.rank
        into = np.zeros(3) if r else np.arange(6.0)[::2]
        assert world.broadcast(into) is into
        assert into.tolist() == [0, 2, 4]
        frozen = np.zeros(3)
        frozen.flags.writeable = False
        for unfit, says in [(np.zeros(6)[::2], "not C-contiguous"),
                            (frozen, "must not be written")]:
            if r == 1:
                try:
                    world.broadcast(unfit)
                except ValueError as error:
                    assert says in str(error)
                else:
                    raise AssertionError
            world.barrier()
        assert world.broadcast(7 if r == 0 else None) == 7
        """,
        "processes:3",
    )


def test_blocks_of_records_whose_fields_lie_in_any_order(job):
    job.expect_no_fault(
        """
        records = np.array([(1, 0.5, 7), (2, 1.5, 8)], [("a", "i4"), ("b", "f8"), ("c", "i4")])
        for names in (["b", "a"], ["c", "a"], ["a", "c"]):
            some = records[names]
            own = world.scatter(some if world.rank == 0 else None)
            assert own.dtype == some.dtype and own.tolist() == some[world.rank :][:1].tolist()
            assert world.exchange(some).tolist() == [some[world.rank].item()] * 2
            assert world.scatterv([some, some[:1]])[0] == some[0]
            assert [len(each) for each in world.all_gatherv(some[world.rank :])] == [2, 1]
        overlapping = np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]})
        assert world.scatter(np.zeros(2, overlapping)).dtype == overlapping
        assert world.scatterv([np.zeros(2, overlapping)] * 2).dtype == overlapping
        """
    )


def test_a_broadcast_of_different_arrays(job):
    """Who has passed another one is told; all stay in step."""
    job.expect_no_fault(
        """
        r = world.rank
        pair = np.dtype([("a", "i4"), ("b", "i4")])
        others = {"i8": np.zeros(3, "i8"), "f4": np.zeros(6, "f4"), "long": np.zeros(4),
                  ">f8": np.zeros(3, ">f8"), "pairs": np.zeros(3, pair),
                  "days": np.zeros(3, "M8[D]")}
        for name, other in others.items():
            try:
                world.broadcast(np.ones(3) if r == 0 else other)
                assert r == 0
            except ValueError as error:
                says = "but this rank's has 32" if name == "long" else "of another dtype than this"
                assert r == 1 and says in str(error), error
        for same in (np.dtype("<f8"), np.dtype("=f8"), pair, np.dtype("M8[D]"), np.dtype("U3"),
                     np.dtype("longlong"), np.dtype("S5"), np.dtype(bool), np.dtype(">i2")):
            kind = np.dtype(same.descr) if same.names else np.dtype(same.str)
            assert world.broadcast(np.zeros(3, same if r else kind)).dtype == same
        try:
            world.broadcast(np.ones(3) if r == 0 else 5)
            assert r == 0
        except TypeError as error:
            assert r == 1 and "pass one of the same dtype and shape" in str(error)
        try:
            world.broadcast(np.ones(1) if r == 0 else np.array([None]))
            assert r == 0
        except TypeError as error:
            assert r == 1 and "cannot fill an array that holds references" in str(error)
        assert world.broadcast(r + 5) == 5
        """
    )
