# SPDX-License-Identifier: Apache-2.0
"""Spread arrays in Python: places, elements, parts, tiles."""

from __future__ import annotations

import pytest

from conftest import needs_module

pytestmark = needs_module

machines = ["processes:1", "processes:2", "processes:4,direct=off", "sim:crossbar,ranks=3"]

_layouts = """
from selion.layout import block, block_cyclic, cyclic, on_grid, runs, tiles, whole
n = world.size
shapes = [
    ((10,), None), ((11,), runs(3)), ((7,), runs(0)), ((9,), on_grid(cyclic(n))), ((9,), cyclic(n)),
    ((10, 7), tiles(3, 2)), ((10, 7), on_grid(block(n), whole())), ((10, 8), runs(4)),
    ((10, 7), on_grid(whole(), block_cyclic(2, n))), ((4, 5, 6), tiles(2, 2, 3)),
    ((3, 2, 4, 5), tiles(1, 2, 2, 2)), ((6, 5), None),
]
def numbered(shape):
    return np.arange(np.prod(shape)).reshape(shape).astype("i4")
"""


@pytest.mark.parametrize("machine", machines)
def test_places(job, machine):
    """Every element has one owner, and lies there where its tile says."""
    job.expect_no_fault(
        f"""
        {_layouts.strip().replace(chr(10), chr(10) + ' ' * 8)}
        for shape, layout in shapes:
            a = world.spread(shape, np.int32, layout)
            assert (a.shape, a.ndim, a.dtype, len(a)) == (shape, len(shape), "i4", shape[0])
            mine = list(a.mine())
            assert all(a.owner(*index) == world.rank for index in mine)
            assert world.all_reduce(len(mine)) == a.size
            for index in mine:
                a.local[a.local_index(*index)] = numbered(shape)[index]
            for tile in a.my_tiles():
                assert np.shares_memory(tile.array, a.local)
                assert (tile.array == numbered(shape)[tile.slices]).all()
            world.barrier()
            assert (a.read() == numbered(shape)).all()
            assert a.parts.size == a.local.size
            a.free()
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_elements_and_parts(job, machine):
    """As with NumPy, on which every index is tried too."""
    job.expect_no_fault(
        f"""
        {_layouts.strip().replace(chr(10), chr(10) + ' ' * 8)}
        def indices(shape):
            yield ...
            yield tuple(extent // 2 for extent in shape)
            yield tuple(-1 for _ in shape)
            yield 0
            yield (slice(1, None, 2), ...)
            yield (..., slice(None, None, -1))
            yield (slice(-2, 0, -3), *(slice(1, 3) for _ in shape[1:]))
            yield (slice(5, 2), ...)
            yield (np.int64(1), *(slice(None) for _ in shape[1:]))
        for shape, layout in shapes:
            a = world.spread(shape, np.int32, layout)
            model = numbered(shape)
            if world.rank == n - 1:
                a[...] = model
            world.barrier()
            for index in indices(shape):
                got = a[index]
                assert np.array_equal(got, model[index]), (shape, index, got)
                assert isinstance(got, int) == (np.ndim(model[index]) == 0)
                out = np.empty(np.shape(model[index]), "i4")
                if out.ndim and a.read(index, out=out) is out:
                    assert np.array_equal(out, model[index])
            world.barrier()
            for turn, index in enumerate(indices(shape)):
                value = np.arange(np.size(model[index])).reshape(np.shape(model[index])) + turn
                if turn % n == world.rank:
                    a[index] = value if value.ndim else int(value)
                model[index] = value
                world.barrier()
                assert (a.read() == model).all(), (shape, index)
                world.barrier()
            if world.rank == 0:
                a[1:3] = 5  # broadcast
                for values in (7, np.full((1,), 7), np.full((1, 1), 7)):
                    a[(1,) * len(shape) + (...,)] = values
            model[1:3] = 5
            model[(1,) * len(shape)] = 7
            world.barrier()
            assert (a.read() == model).all()
            world.barrier()
            a.free()
        """,
        machine,
    )


def test_other_dtypes_and_atomics(job):
    job.expect_no_fault(
        """
        from selion.layout import tiles
        record = np.dtype([("x", "i4"), ("y", "f8")])
        a = world.spread((4, 4), record, tiles(2, 2))
        if world.rank == 0:
            a[1, :] = np.array([(i, i / 2) for i in range(4)], record)
        world.barrier()
        assert a[1, 1:3]["y"].tolist() == [0.5, 1.0]
        b = world.spread(10)
        assert b.dtype == np.float64
        b.parts.fetch_add(b.owner(7), b.local_index(7), 2)
        world.barrier()
        assert b[7] == 2 * world.size and b[-3] == b[7]
        assert world.spread((2, 2)).__repr__() == (
            "<selion.SpreadArray of shape (2, 2), dtype float64>")
        """,
        "processes:3",
    )


refused = {
    "world.spread(())": "ValueError: A spread array has 1 to 4 dimensions.",
    "world.spread((1,) * 5)": "ValueError: A spread array has 1 to 4 dimensions.",
    "world.spread(5, layout=tiles(2, 2))": "ValueError: The layout has another number of",
    "world.spread(5, layout='cyclic')": "TypeError: A layout is made by tiles, runs or on_grid of "
    "selion.layout; this is str.",
    "world.spread(5, layout=runs(-1))": "ValueError: A run has -1 elements; legal: 0 to 92",
    "world.spread(5, layout=runs(2**70))": "ValueError: A run has 1180591620717411303424 elements;",
    "world.spread(5, layout=tiles(-1))": "ValueError: Numbers of a layout are 0 to 92",
    "world.spread(5, layout=tiles(2**70))": "ValueError: Numbers of a layout are 0 to 92",
    "world.spread(5, layout=on_grid(cyclic(0)))": "ValueError: A dimension is dealt out to 1 or mo",
    "world.spread(5, layout=on_grid(3))": "TypeError: A grid's dimensions are made by block, cyc",
    "world.spread(2**70)": "ValueError: The shape (1180591620717411303424,) has more elements than",
    "world.spread(4, np.dtype(('i4', (3,))))": "TypeError: dtype ('<i4', (3,)) is an array itself;",
    "b[[1, 2]]": "TypeError: Indices of a spread array are integers, slices and '...'; this is li",
    "b[np.ones(4, bool)]": "TypeError: Indices of a spread array are integers, slices and '...'; t",
    "b[None]": "TypeError: Indices of a spread array are integers, slices and '...'; this is None",
    "b[1.0]": "TypeError: Indices of a spread array are integers, slices and '...'; this is float.",
    "b[..., ...]": "IndexError: An index has only one '...'; this has 2.",
    "b[True]": "TypeError: Indices of a spread array are integers, slices and '...'; this is bool.",
    "b.__setitem__(0, None)": "TypeError: Values of dtype object do not fit an array of dtype floa",
    "world.spread(5, object)": "TypeError: dtype object holds references",
    "world.spread(0)": "ValueError: ",
    "a[4, 0]": "IndexError: Index 4 is out of range: dimension 0 has 4 elements.",
    "a[0, -5]": "IndexError: Index -5 is out of range: dimension 1 has 4 elements.",
    "a[0, 0, 0]": "IndexError: 3 indices are given; the array has 2 dimensions.",
    "a[4]": "IndexError: Index 4 is out of range: dimension 0 has 4 elements.",
    "a['x']": "TypeError: Indices of a spread array are integers, slices and '...'; this is str.",
    "a.owner(0)": "IndexError: 1 indices are given; the array has 2 dimensions.",
    "a.owner(0, 9)": "IndexError: Index 9 is out of range: dimension 1 has 4 elements.",
    "a.__setitem__((0, 0), [1, 2])": "ValueError: An element is one value; this has shape (2,).",
    "a.__setitem__(0, [1, 2])": "ValueError: Values of shape (2,) do not fit a part of shape (4,).",
    "a.__setitem__(0, 1j)": "TypeError: ",
    "a.read(0, out=np.zeros(3))": "ValueError: out must be a contiguous array of shape (4,)",
    "a.read(0, out=np.zeros(4, 'f4'))": "TypeError: out is of dtype float32; the array is of",
    "a.read(0, out=3)": "TypeError: out is an array; this is int.",
    "gone[0]": "ValueError: The array has been given back with free().",
}


def test_what_is_refused(job):
    job.expect_refusals(
        """
        from selion.layout import cyclic, on_grid, runs, tiles
        a, b, gone = world.spread((4, 4)), world.spread(4), world.spread(4)
        gone.free()
        """,
        refused,
    )


def test_what_overlaps_is_as_with_numpy(job):
    """Values of the array itself, and reads into it."""
    job.expect_no_fault(
        """
        a = world.spread(12, np.int64)
        model = np.arange(12)
        for change in (lambda x, own: x.__setitem__(slice(1, None), own[:-1]),
                       lambda x, own: x.__setitem__(slice(None, None, 2), own[:6]),
                       lambda x, own: x.__setitem__(slice(None, None, -1), own)):
            a.local[...] = model
            expected = model.copy()
            change(a, a.local), change(expected, model)
            assert a.local.tolist() == expected.tolist()
        a.local[...] = model
        assert a.read(slice(0, 11), out=a.local[1:]).tolist() == list(range(11))
        assert a.local.tolist() == [0, *range(11)]
        """,
        "processes:1",
    )


def test_what_is_in_it_and_goes_through_it(job):
    """As with NumPy; `in` reads all of it once, whatever the number of dimensions."""
    job.expect_no_fault(
        """
        from selion.layout import tiles
        for shape in ((7,), (5, 3), (2, 3, 4), (2, 1, 3, 2)):
            a = world.spread(shape, np.int32, tiles(*(2 for _ in shape)))
            model = np.arange(np.prod(shape)).reshape(shape)
            if world.rank == 0:
                a[...] = model
            world.barrier()
            for value in (0, 5, 5.0, 5.5, -1, model.size - 1, model.size, model[0], model[-1] + 9):
                assert (value in a) is bool(value in model), (shape, value)
            assert model in a and a in a and a not in model + 1
            reads = []
            plain = a.read
            a.read = lambda *index: reads.append(index) or plain(*index)
            assert 5 in a and len(reads) == 1
            del a.read
            rows = list(a)
            assert len(rows) == len(a) == len(model)
            assert all(np.array_equal(row, whole) for row, whole in zip(rows, model))
            assert all(isinstance(row, int) == (len(shape) == 1) for row in rows)
            assert [np.sum(row) for row in reversed(a)] == [row.sum() for row in model[::-1]]
            going = iter(a)
            next(going)
            world.barrier()
            if world.rank == 0:
                a[1] = 77
            world.barrier()
            assert (next(going) == np.full(shape[1:], 77)).all()
            world.barrier()
            a.free()
        """,
        "processes:2",
    )


def test_ranks_that_ask_for_different_ones(job):
    out = job.expect_no_fault(
        """
        for wish in ((4 + world.rank, 4),), ((8,), ("f8", "i8")[world.rank]):
            try:
                world.spread(*wish)
            except ValueError as error:
                print(error)
        """
    )
    line = "Ranks have asked for spread arrays of different shapes, layouts or dtypes.\n"
    assert out == line * 4


def test_all_of_it_as_an_array_of_numpy(job):
    job.expect_no_fault(
        """
        a = world.spread((5, 3), np.int32)
        for index in a.mine():
            a.local[a.local_index(*index)] = 10 * index[0] + index[1]
        world.barrier()
        model = np.array([[10 * i + j for j in range(3)] for i in range(5)])
        whole = np.asarray(a)
        assert whole.dtype == np.int32 and np.array_equal(whole, model)
        assert np.array(a, np.float64).dtype == np.float64 and np.sum(a) == model.sum()
        try:
            a.__array__(copy=False)
        except ValueError as refused:
            assert "by a copy only" in str(refused)
        else:
            raise AssertionError
        """
    )
