# SPDX-License-Identifier: Apache-2.0
"""What may stand where an array does: anything with the buffer protocol, or that speaks DLPack."""

from __future__ import annotations

import pytest

from conftest import needs_module

pytestmark = needs_module

machines = ["processes:1", "processes:2", "processes:4,direct=off", "sim:crossbar,ranks=3"]

# A tensor of another library: it has memory, and nothing of NumPy's.
_tensors = """
import array

class Tensor:
    def __init__(self, own): self.own = own
    def __dlpack__(self, **how): return self.own.__dlpack__(**how)
    def __dlpack_device__(self): return self.own.__dlpack_device__()

class FarAway(Tensor):
    def __dlpack_device__(self): return (2, 0)

class Closed(Tensor):
    def __dlpack__(self, **how): raise RuntimeError("not now")

r, n = world.rank, world.size
right, left = (r + 1) % n, (r - 1) % n
"""


@pytest.mark.parametrize("machine", machines)
def test_puts_and_gets(job, machine):
    job.expect_no_fault(
        f"""
        {_tensors.strip().replace(chr(10), chr(10) + ' ' * 8)}
        part = world.allocate(4)
        for number, kind in enumerate([Tensor, lambda own: array.array("d", own), memoryview]):
            part.put(kind(np.full(4, r + 10.0 * number)), right)
            world.barrier()
            assert part.local.tolist() == [left + 10.0 * number] * 4
            into = [Tensor(np.zeros(4)), array.array("d", [0] * 4)][number % 2]
            assert part.get(right, out=into) is into
            found = into.own if isinstance(into, Tensor) else into
            assert list(found) == [r + 10.0 * number] * 4
            world.barrier()
        small = world.allocate(4, np.uint8)
        small.put(b"abcd", right)
        world.barrier()
        assert bytes(small.local) == b"abcd"
        into = bytearray(4)
        small.get(right, out=into)
        assert into == b"abcd"
        strided = Tensor(np.arange(8.0)[::2])
        part.put(strided, r)
        assert part.local.tolist() == [0, 2, 4, 6]
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_collectives(job, machine):
    job.expect_no_fault(
        f"""
        {_tensors.strip().replace(chr(10), chr(10) + ' ' * 8)}
        for kind in (Tensor, lambda own: array.array("d", own), memoryview, lambda own: own):
            mine = lambda: kind(np.array([r, r + 0.5]))
            both = [[i, i + 0.5] for i in range(n)]
            assert world.all_reduce(mine()).tolist() == [sum(i for i, _ in both),
                                                         sum(i for _, i in both)]
            assert world.all_gather(mine()).tolist() == both
            found = world.gather(mine(), 0)
            assert found is None if r else found.tolist() == both
            assert world.reduce(mine(), "maximum", n - 1) is None or r == n - 1
            assert world.scan(mine()).tolist()[0] == r * (r + 1) / 2
            if kind is not memoryview:  # which are bytes there
                assert [each.tolist() for each in world.all_gatherv(mine())] == both
            given = kind(np.arange(2.0 * n))
            assert world.exchange(given).tolist() == [2.0 * r, 2 * r + 1] * n
            part = world.scatter(given if r == 0 else None)
            assert part.tolist() == [2.0 * r, 2 * r + 1]
            room = kind(np.full(3, 1.0 * r))
            assert world.broadcast(room, n - 1) is room
            told = np.asarray(room.own if isinstance(room, Tensor) else room)
            assert told.tolist() == [n - 1.0] * 3
            later = world.split_phase.all_reduce(mine())
            assert later.result().tolist()[0] == n * (n - 1) / 2
            room = kind(np.full(3, 1.0 * r))
            assert world.split_phase.broadcast(room, 0).result() is room
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_results_into_memory_that_is_there(job, machine):
    job.expect_no_fault(
        f"""
        {_tensors.strip().replace(chr(10), chr(10) + ' ' * 8)}
        mine = np.array([r, 2.0 * r])
        total = n * (n - 1) / 2
        into = np.empty(2)
        assert world.all_reduce(mine, out=into) is into
        assert into.tolist() == [total, 2 * total] and mine.tolist() == [r, 2.0 * r]
        same = mine.copy()
        assert world.all_reduce(same, out=same) is same and same.tolist() == into.tolist()
        tensor = Tensor(np.empty((n, 2)))
        assert world.all_gather(mine, out=tensor) is tensor
        assert tensor.own.tolist() == [[i, 2.0 * i] for i in range(n)]
        sent, got = np.arange(n) + 100 * r, np.zeros(n, int)
        assert world.exchange(sent, out=got) is got
        assert got.tolist() == [r + 100 * i for i in range(n)]
        root = n - 1
        room = np.empty((n, 2)) if r == root else None
        found = world.gather(mine, root, out=room)
        assert found is room and (r != root or room.tolist() == tensor.own.tolist())
        piece = np.empty(2)
        assert world.scatter(tensor.own if r == 0 else None, out=piece) is piece
        assert piece.tolist() == mine.tolist()
        """,
        machine,
    )


def test_global_arrays_are_arrays(job):
    job.expect_no_fault(
        """
        part = world.allocate((2, 3), np.float32)
        part.local[...] = np.arange(6).reshape(2, 3)
        view = np.asarray(part)
        assert view.base is not None and view.shape == (2, 3)
        view[0, 0] = 7
        assert part.local[0, 0] == 7
        assert np.array(part, copy=True)[0, 0] == 7 and np.asarray(part, np.float64).dtype == "f8"
        tensor = np.from_dlpack(part)
        tensor = np.asarray(tensor)
        assert tensor.shape == (2, 3) and np.shares_memory(tensor, part.local)
        assert float(np.sum(part)) == 22
        assert [part.item(0, i) for i in range(2)] == [7.0, 1.0]
        """,
        "processes:1",
    )


def test_memory_that_only_what_was_given_keeps(job):
    """DLPack ties it to what `__dlpack__` returns, which may be another object's."""
    job.expect_no_fault(
        """
        class Fresh:
            def __init__(self, own): self.own = own
            def __dlpack__(self, **how): return (self.own * 1.0).__dlpack__(**how)
            def __dlpack_device__(self): return self.own.__dlpack_device__()

        for _ in range(3):
            found = selion._core.as_array(Fresh(np.full(1 << 20, 7.0)))
            others = [np.zeros(1 << 20) for _ in range(3)]
            assert (found == 7.0).all()
        part = world.allocate(1 << 20)
        part.put(Fresh(np.full(1 << 20, 7.0)), 0)
        assert (part.local == 7.0).all()
        """,
        "processes:1",
    )


@pytest.mark.parametrize("call", ["all_reduce({})", "scan({})", "reduce({}, root=1 - r)",
                                  "reduce_scatter({})"])
def test_numbers_that_are_not_aligned(job, call):
    job.expect_no_fault(
        f"""
        r, n = world.rank, world.size
        odd = np.frombuffer(bytearray(8 * 4 + 1), "u1")[1:].view("f8")
        assert odd.flags.c_contiguous and not odd.flags.aligned
        odd[...] = 1.5
        expected = world.{call.format("np.full(4, 1.5)")}
        found = world.{call.format("odd")}
        assert found is None and expected is None or found.tolist() == expected.tolist()
        try:
            world.all_reduce(np.zeros(4), out=odd)
        except ValueError as refusal:
            assert str(refusal) == "out is not aligned to its elements."
        else:
            raise AssertionError
        """,
        "processes:2",
    )


refused = {
    "part.put(FarAway(np.zeros(4)), 0)": "BufferError: The memory of this FarAway is a device's; "
    "move it to the host first.",
    "part.put(Closed(np.zeros(4)), 0)": "BufferError: The memory of this Closed cannot be shared.",
    "part.get(0, out=b'12345678')": "BufferError: The memory of this bytes must not be written.",
    "part.get(0, out=Tensor(frozen))": "BufferError: The memory of this Tensor must not be "
    "written.",
    "part.get(0, out=[1, 2])": "TypeError: out is an array, or has memory as one has; this "
    "is list.",
    "part.get(0, out=frozen)": "ValueError: out must not be written.",
    "part.put(array.array('i', [1]), 0)": "TypeError: The array is of dtype int32; the global "
    "array is of float64.",
    "part.put(object(), 0)": "TypeError: ",
    "world.all_reduce(np.ones(2), out=np.ones(3))": "ValueError: out of all_reduce has another "
    "number of elements than the array.",
    "world.all_reduce(np.ones(2), out=np.ones(2, 'f4'))": "TypeError: The array is of dtype "
    "float32; what it is to hold is of float64.",
    "world.all_reduce(1, out=np.ones(2))": "TypeError: out of all_reduce is for arrays, not for "
    "single values.",
    "world.all_gather(np.ones(2), out=np.ones(3))": "ValueError: out of all_gather needs 2 "
    "elements; it has 3.",
    "world.exchange([1], out=np.ones(3))": "TypeError: out of exchange is for arrays, not for "
    "single values.",
    "world.scatter(np.ones(3), out=np.ones(2))": "ValueError: scatter with out needs an array of "
    "as many elements at the root as all members have room for.",
    "world.scatter(np.ones(2), out=np.ones(2, int))": "TypeError: The array is of dtype int64; "
    "what it is to hold is of float64.",
    "world.split_phase.broadcast('x')": "TypeError: A broadcast in two phases fills an array",
}


def test_what_is_refused(job):
    job.expect_refusals(
        f"""
        {_tensors.strip().replace(chr(10), chr(10) + ' ' * 8)}
        part = world.allocate(4)
        frozen = np.zeros(4)
        frozen.flags.writeable = False
        """,
        refused,
    )
