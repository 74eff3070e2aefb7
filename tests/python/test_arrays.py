# SPDX-License-Identifier: Apache-2.0
"""Collectives and global arrays of ranks in Python."""

from __future__ import annotations

import pytest

from conftest import Job, needs_module

pytestmark = needs_module


# --- collectives ----------------------------------------------------------------------------------


def test_all_reduce(job):
    job.expect_no_fault(
        """
        n = world.size
        assert world.all_reduce(world.rank + 1) == 6
        assert type(world.all_reduce(1)) is int
        assert world.all_reduce(0.5) == 1.5
        assert world.all_reduce(np.float64(0.5)) == 1.5
        assert world.all_reduce(np.int32(-2), "times") == -8
        assert world.all_reduce(world.rank, "minimum") == 0
        assert world.all_reduce(float(world.rank), "maximum") == 2.0
        for dtype in "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
            mine = np.arange(6, dtype=dtype).reshape(2, 3) + np.dtype(dtype).type(world.rank)
            result = world.all_reduce(mine)
            assert result.dtype == dtype
            assert np.array_equal(result, 3 * np.arange(6).reshape(2, 3) + 3)
            assert np.array_equal(mine, np.arange(6).reshape(2, 3) + world.rank)
        transposed = world.all_reduce(np.arange(6.0).reshape(2, 3).T)
        assert np.array_equal(transposed, 3 * np.arange(6.0).reshape(2, 3).T)
        assert world.all_reduce(np.zeros(0)).shape == (0,)
        """,
        "processes:3",
    )


def test_broadcast(job):
    job.expect_no_fault(
        """
        for value in (None, True, False, -5, 2**63 - 1, 0.1, b"", b"some bytes"):
            got = world.broadcast(value if world.rank == 1 else "ignored", 1)
            assert got == value and type(got) is type(value), (got, value)
        assert world.broadcast(np.int64(3)) == 3
        mine = np.full((2, 2), world.rank, np.int32)
        got = world.broadcast(mine, root=2)
        assert got is mine and (mine == 2).all()
        """,
        "processes:3",
    )


def test_metadata_of_a_dtype_stay_behind(job):
    job.expect_no_fault(
        """
        marked = np.arange(4, dtype=np.dtype("f8", metadata={"unit": "m"}))
        assert world.all_gatherv(marked)[1].tolist() == [0, 1, 2, 3]
        assert world.scatter(marked).tolist() == [2 * world.rank, 2 * world.rank + 1]
        """
    )


def test_a_mistake_at_the_root_of_a_broadcast(job):
    """Nobody waits for it."""
    out = job.expect_no_fault(
        """
        try:
            world.broadcast(2**70 if world.rank == 0 else None)
        except (OverflowError, ValueError) as error:
            print(f"{world.rank} {type(error).__name__}: {error}")
        world.barrier()
        """
    )
    assert sorted(out.splitlines()) == [
        "0 OverflowError: Integers that ranks exchange must fit 64 bits.",
        "1 ValueError: The root, member 0, has nothing that can be broadcast.",
    ]


_mistakes = [
    ("world.all_reduce('a')", "TypeError: all_reduce combines"),
    ("world.all_reduce(np.float64)", "TypeError: all_reduce combines"),
    ("world.all_reduce(world.spread(4))", "TypeError: all_reduce combines"),
    ("world.all_reduce(True)", "TypeError: all_reduce combines"),
    ("world.all_reduce(1, 'xor')", "ValueError: The operation is 'xor'; legal: plus, times"),
    ("world.all_reduce(2**63)", "OverflowError: Integers that ranks exchange"),
    ("world.all_reduce(np.zeros(2, complex))", "TypeError: all_reduce cannot combine arrays"),
    ("world.broadcast(1, 1)", "ValueError: The root is 1; legal: 0 to 0."),
    ("world.allocate(-1)", "ValueError: The shape (-1,) has a negative extent."),
    (
        "world.allocate(3 / world.size)",
        "TypeError: 'float' object cannot be interpreted as an integer",
    ),
    ("world.allocate((2, 1.5))", "TypeError: 'float' object cannot be interpreted as an integer"),
    ("world.allocate(1, object)", "TypeError: dtype object holds references"),
    ("world.allocate(1, 'U')", "TypeError: dtype <U0 has no size"),
    ("world.allocate((2**40, 2**40))", "ValueError: The"),
    ("world.allocate(2**45)", "MemoryError: "),
    ("world.allocate(4).put(np.zeros(4, 'f4'), 0)", "TypeError: The array is of dtype float32"),
    ("world.allocate(4, int).put(0.5, 0)", "TypeError: Values of dtype float64 do not fit"),
    (
        "world.allocate(4, 'i4').put(2**40, 0)",
        "OverflowError: 1099511627776 does not fit an array of dtype int32; legal: -2147483648 to",
    ),
    ("world.allocate(4, 'i1').put(300, 0)", "OverflowError: 300 does not fit an array of dtype"),
    ("world.allocate(4, 'i2').put([1, -2**15 - 1], 0)", "OverflowError: -32769 does not fit"),
    ("world.allocate(4, 'u8').put(-1, 0)", "OverflowError: -1 does not fit"),
    ("world.allocate(4, 'i8').put([2**63], 0)", "OverflowError: 9223372036854775808 does not"),
    ("world.allocate(4, 'f4').put(1e300, 0)", "OverflowError: 1e+300 does not fit"),
    ("world.allocate(4, 'f4').put([1, -1e300], 0)", "OverflowError: -1e+300 does not fit"),
    ("world.allocate(4, 'f4').fetch_add(0, 0, 1e300)", "OverflowError: 1e+300 does not fit"),
    ("world.allocate(4, 'f2').put(70000, 0)", "OverflowError: 70000 does not fit"),
    ("world.allocate(4, 'U2').put(['abc'], 0)", "TypeError: Values of dtype <U3 do not fit"),
    ("world.allocate(4).put(1j, 0)", "TypeError: Values of dtype complex128 do not fit"),
    ("world.allocate(4).put(np.zeros(4), 1)", "IndexError: The rank is 1; legal: 0 to 0."),
    ("world.allocate(4).put(np.zeros(4), -1)", "IndexError: The rank is -1; legal: 0 to 0."),
    ("world.allocate(4).put(np.zeros(4), 0, 1)", "IndexError: Offset 1 and 4 elements reach"),
    ("world.allocate(4).put(np.zeros(1), 0, -1)", "IndexError: Offset -1 and 1 elements reach"),
    ("world.allocate(4).get(0, 2, 3)", "IndexError: Offset 2 and 3 elements reach"),
    ("world.allocate(4).get(0, out=np.zeros(5))", "IndexError: Offset 0 and 5 elements reach"),
    (
        "world.allocate(4).get(0, out=np.zeros(4, 'i8'))",
        "TypeError: The array is of dtype int64",
    ),
    (
        "world.allocate(4).get(0, out=np.zeros((4, 2))[:, 0])",
        "ValueError: out is not C-contiguous.",
    ),
    ("world.allocate(4).get(0, 0, 2, out=np.zeros(3))", "IndexError: out has another number"),
    ("world.allocate(4, 'i2').fetch_add(0, 0, 1)", "TypeError: fetch_add works on arrays of"),
    ("a = world.allocate(4); a.free(); a.local", "ValueError: The array has been given back"),
    (
        "a = world.allocate(4); a.free(); a.put(1, 0)",
        "ValueError: The array has been given back",
    ),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> list[str]:
    """What a rank gets for each of the mistakes, one line each."""
    body = f"""
        for call in {[call for call, _ in _mistakes]!r}:
            try:
                exec(call)
            except Exception as error:
                print(f"{{type(error).__name__}}: {{error}}")
            else:
                print("nothing")
    """
    return Job(tmp_path_factory.mktemp("mistakes")).expect_no_fault(body, "processes:1").split("\n")


@pytest.mark.parametrize("number", range(len(_mistakes)), ids=lambda number: _mistakes[number][0])
def test_mistakes(answers, number):
    assert answers[number].startswith(_mistakes[number][1])


# --- arrays ---------------------------------------------------------------------------------------


def test_ranks_exchange_arrays(job):
    job.expect_no_fault(
        """
        array = world.allocate((3, 4), np.float64)
        assert array.shape == (3, 4) and array.dtype == np.float64 and array.size == 12
        assert array.local.shape == (3, 4) and (array.local == 0).all()
        world.barrier()
        right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
        array.put(np.arange(12.0).reshape(3, 4) + 100 * world.rank, right)
        world.barrier()
        assert np.array_equal(array.local, np.arange(12.0).reshape(3, 4) + 100 * left)
        assert np.array_equal(array.get(right), np.arange(12.0).reshape(3, 4) + 100 * world.rank)
        assert np.array_equal(array.get(right, 10), [10 + 100 * world.rank, 11 + 100 * world.rank])
        assert np.array_equal(array.get(right, 2, 3), np.arange(2.0, 5.0) + 100 * world.rank)
        into = np.empty(2)
        assert array.get(right, 4, out=into) is into
        assert np.array_equal(into, np.arange(4.0, 6.0) + 100 * world.rank)
        world.barrier()
        array.put(np.array([7.0, 8.0]), right, offset=5)
        world.barrier()
        assert array.local[1, 1] == 7 and array.local[1, 2] == 8
        array.free()
        """,
        "processes:3",
    )


def test_the_local_part_is_no_copy(job):
    job.expect_no_fault(
        """
        array = world.allocate(4, np.int32)
        assert array.local is array.local
        array.local[:] = world.rank + 1
        world.barrier()
        other = 1 - world.rank
        assert (array.get(other) == other + 1).all()
        world.barrier()
        array.put(np.full(4, 9, np.int32), other)
        world.barrier()
        assert (array.local == 9).all()
        assert array.local.flags.writeable and not array.local.flags.owndata
        """
    )


def test_what_may_be_put(job):
    job.expect_no_fault(
        """
        array = world.allocate(4)
        array.put(2, 0)
        array.put(0.5, 0, 1)
        array.put([3, 4.5], 0, 2)
        assert array.local.tolist() == [2, 0.5, 3, 4.5]
        array.put(np.arange(8.0)[::2], 0)
        assert array.local.tolist() == [0, 2, 4, 6]
        array.put(np.float32(1.5), 0)
        array.put(np.zeros(0), 0, 4)
        assert array.local[0] == 1.5
        frozen = np.arange(4.0)
        frozen.flags.writeable = False
        array.put(frozen, 0)
        record = np.dtype([("x", "i4"), ("y", "f8")])
        records = world.allocate(2, record)
        records.put(np.array([(1, 2.5), (3, 4.5)], record), 0)
        assert records.get(0)["y"].tolist() == [2.5, 4.5]
        days = world.allocate(1, "M8[D]")
        days.put(np.array(["2020-02-29"], "M8[D]"), 0)
        assert str(days.local[0]) == "2020-02-29"
        small = world.allocate(2, "i1")
        small.put([-128, 127], 0)
        small.put([], 0)
        assert small.local.tolist() == [-128, 127]
        short = world.allocate(4, "f4")
        short.put([0.1, np.inf, np.nan, 2**24 + 1], 0)
        short.put(-np.inf, 0, 1)
        assert short.local[:2].tolist() == [np.float32(0.1), -np.inf] and np.isnan(short.local[2])
        assert world.allocate((0, 3)).get(0).shape == (0, 3)
        assert world.allocate((), "i8").local.shape == ()
        """,
        "processes:1",
    )


def test_what_is_refused(job):
    job.expect_refusals(
        """
        part, whole = world.allocate(4), world.allocate(4, "i4")
        """,
        {
            "part.put(np.ma.array([1.0, 2.0], mask=[0, 1]), 0)": "TypeError: A masked array would ",
            "part.get(0, out=np.ma.zeros(4))": "TypeError: A masked array would lose its mask; pas",
            "part.put(np.ma.masked, 0)": "TypeError: A masked array would lose its mask; pass x.fi",
            "world.gather(np.ma.zeros(2), 0)": "TypeError: A masked array would lose its mask; pas",
            "world.exchange(np.ma.zeros(4))": "TypeError: A masked array would lose its mask; pass",
            "world.all_reduce(np.ma.zeros(2))": "TypeError: A masked array would lose its mask; pa",
            "world.broadcast(np.ma.zeros(2))": "TypeError: A masked array would lose its mask; pas",
            "world.allocate(2**70)": "ValueError: The shape (1180591620717411303424,) has more ele",
            "world.allocate(4, np.dtype(('i4', (3,))))": "TypeError: dtype ('<i4', (3,)) is an arr",
            "part.put(None, 0)": "TypeError: Values of dtype object do not fit an array of dtype f",
            "whole.put(None, 0)": "TypeError: Values of dtype object do not fit an array of dtype ",
            "whole.put('a', 0)": "TypeError: Values of dtype <U1 do not fit an array of dtype int3",
            "whole.put(10**23, 0)": "OverflowError: 100000000000000000000000 does not fit an array",
            "part.put(10**400, 0)": "OverflowError: An int does not fit an array of dtype float64;",
            "part.get(0, 10)": "IndexError: Offset 10 and 0 elements reach beyond the array; each ",
            "part.get(0, -2**63)": "IndexError: Offset -9223372036854775808 and 0 elements reach ",
            "part.get(0, -2**63, 1)": "IndexError: Offset -9223372036854775808 and 1 elements rea",
            "part.get(0, 2, 3)": "IndexError: Offset 2 and 3 elements reach beyond the array; each",
        },
    )


def test_sequences_are_stored_as_they_are(job):
    """NumPy makes floats of ints that no signed and no unsigned type holds together."""
    job.expect_no_fault(
        """
        part, spread = world.allocate(3, "u8"), world.spread(4, "u8")
        part.put([0, 2**63 + 1, 1.0], 0)
        assert part.get(0).tolist() == [0, 2**63 + 1, 1]
        spread[1:3] = [7, 2**63 + 12345]
        assert spread[1:3].tolist() == [7, 2**63 + 12345]
        kind = np.dtype([("name", "S4"), ("at", "i2", (2,)), ("large", "u8")])
        records = world.allocate(2, kind)
        records.put([(b"one", (1, 2), 3), (b"two", (3, 4), 2**63 + 1)], 0)
        assert (records.get(0) == np.array(
            [(b"one", (1, 2), 3), (b"two", (3, 4), 2**63 + 1)], kind)).all()
        """,
        "processes:1",
    )
    job.expect_refusals(
        """
        part, records = world.allocate(3, "u8"), world.allocate(2, [("a", "i1"), ("b", "f8")])
        """,
        {
            "part.put([-1, 2**63 + 1], 0)": "OverflowError: -1 does not fit",
            "part.put([0.5, 2**63 + 1], 0)": "TypeError: Values of dtype float64 do not fit",
            "records.put([(300, 1.0)], 0)": "OverflowError: 300 does not fit",
            "records.put([(1.5, 1.0)], 0)": "TypeError: Values of dtype float64 do not fit",
            "records.put([(1, 2, 3)], 0)": "ValueError: could not assign tuple of length 3",
            "records.put(5, 0)": "TypeError: Values of dtype int64 do not fit an array of dtype [(",
            "records.put([(1, 2), 5], 0)": "TypeError: An element with fields is a tuple; this is",
        },
    )


def test_bytes_are_text_to_arrays_of_text(job):
    """But values of a byte each to others, as what else has memory is to all."""
    job.expect_no_fault(
        """
        plain, wide = world.allocate(3, "S4"), world.allocate(2, "U4")
        small = world.allocate(4, "u1")
        plain.put(b"ab", 0)
        plain.put(bytearray(b"wxyz"), 0, 2)
        world.allocate(1, "S4").start_put(b"cd", 0).wait()
        wide.put(b"ab", 0, 1)
        small.put(b"ab", 0, 1)
        assert plain.local.tolist() == [b"ab", b"", b"wxyz"] and wide.local.tolist() == ["", "ab"]
        assert small.local.tolist() == [0, 97, 98, 0] and plain.item(0, 2) == b"wxyz"
        """,
        "processes:1",
    )
    job.expect_refusals(
        """
        plain, wide = world.allocate(3, "S4"), world.allocate(3, "U4")
        """,
        {
            "plain.put(b'abcde', 0)": "TypeError: Values of dtype |S5 do not fit an array of",
            "plain.put(memoryview(b'abcd'), 0)": "TypeError: The array is of dtype uint8; the",
            "wide.put(bytes([255]), 0)": "TypeError: Values of dtype |S1 do not fit an array of",
        },
    )


def test_an_array_that_is_made_by_hand_is_checked(job):
    job.expect_refusals(
        "",
        {
            "selion.GlobalArray(world, (2,), object)": "TypeError: dtype object holds references",
            "selion.GlobalArray(world, (2,), 'S0')": "TypeError: dtype |S0 has no size",
            "selion.GlobalArray(world, -1, 'f8')": "ValueError: The shape (-1,) has a negative",
            "selion.GlobalArray(world, 'ab', 'f8')": "TypeError: 'str' object cannot be",
        },
    )


def test_integers_beyond_64_bits(job):
    job.expect_no_fault(
        """
        part, small = world.allocate(2), world.allocate(1, "f4")
        part.put([10**23, -(2**80)], 0)
        small.put(10**23, 0)
        assert part.local.tolist() == [1e23, -(2.0**80)] and small.local[0] == np.float32(1e23)
        """,
        "processes:1",
    )


def test_large_arrays(job):
    job.expect_no_fault(
        """
        array = world.allocate(1 << 20)
        other = 1 - world.rank
        array.put(np.arange(1 << 20) + 0.5 * world.rank, other)
        world.barrier()
        assert np.array_equal(array.local, np.arange(1 << 20) + 0.5 * other)
        assert np.array_equal(array.get(other), np.arange(1 << 20) + 0.5 * world.rank)
        """
    )


def test_fetch_add_is_atomic(job):
    job.expect_no_fault(
        """
        for dtype in (np.int32, np.int64):
            counter = world.allocate(2, dtype)
            seen = [counter.fetch_add(0, 1, 3) for _ in range(1000)]
            assert seen == sorted(set(seen))
            world.barrier()
            assert counter.get(0).tolist() == [0, 3000 * world.size]
        """,
        "processes:3",
    )


def test_what_arrays_and_signals_say_of_themselves(job):
    out = job.expect_no_fault(
        """
        array, bell, bells = world.allocate((3, 4), "i4"), world.signal(), world.signal(2)
        assert (array.ndim, array.nbytes) == (2, 48)
        print(array, bell, bells)
        array.free(), bell.free()
        print(array, bell)
        assert (array.ndim, array.nbytes) == (2, 48)
        """,
        "processes:1",
    )
    assert out.splitlines() == [
        "<selion.GlobalArray of shape (3, 4), dtype int32> <selion.Signal, 1 word of each rank> "
        "<selion.Signal, 2 words of each rank>",
        "<selion.GlobalArray of shape (3, 4), dtype int32, given back> "
        "<selion.Signal, 1 word of each rank, given back>",
    ]
