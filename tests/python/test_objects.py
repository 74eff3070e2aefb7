# SPDX-License-Identifier: Apache-2.0
"""Objects of any kind in collectives, and reductions by functions."""

from __future__ import annotations

import pytest

from conftest import needs_module

pytestmark = needs_module

machines = ["processes:1", "processes:3", "sim:crossbar,ranks=5"]


@pytest.mark.parametrize("machine", machines)
def test_objects_of_any_kind_travel(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        def kinds_of(q):
            return [{"a": [q, None]}, "word", (1, 2.5), None, 2**70, b"bytes", np.arange(q + 1),
                    np.array([None, q]), np.datetime64(5, "ns"), {q}, 1j, "", [], range(3)]
        for i in range(len(kinds_of(0))):
            everybody = [(kinds_of(q) * 2)[i + q % 3] for q in range(n)]
            assert repr(world.all_gatherv(everybody[r])) == repr(everybody)
            at_root = world.gatherv(everybody[r], n - 1)
            assert repr(at_root) == repr(everybody if r == n - 1 else None)
        mine = world.scatterv([{"to": q} for q in range(n)] if r == 0 else None)
        assert mine == {"to": r}
        got = world.exchangev([f"from {r} to {q}" for q in range(n)])
        assert got == [f"from {q} to {r}" for q in range(n)]
        for root in range(n):
            told = world.broadcast({"root": r, "long": "x" * 300_000} if r == root else None, root)
            assert told["root"] == root and len(told["long"]) == 300_000
            assert world.broadcast(f"word of {r}", root) == f"word of {root}"
        objects = world.broadcast(np.array([None, {}]) if r == 0 else None)
        assert objects.tolist() == [None, {}]
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_what_all_ranks_have_becomes_the_receivers_own(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        part, bell = world.allocate(2), world.signal()
        part.local[:] = r
        world.barrier()
        for found in world.all_gatherv({"array": part, "bell": bell, "world": world}):
            assert found["array"] is part and found["bell"] is bell
            assert found["world"].rank == r
        square = world.broadcast((lambda x: x * x) if r == 0 else None)
        assert square(7) == 49
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_functions_that_mean_an_operation(job, machine):
    job.expect_no_fault(
        """
        import math, operator
        r, n = world.rank, world.size
        meant = {"plus": [sum, operator.add, np.add], "times": [math.prod, operator.mul,
                 np.multiply], "minimum": [min, np.minimum], "maximum": [max, np.maximum]}
        for name, functions in meant.items():
            for function in functions:
                for own in (r + 2, r + 0.5, np.array([r + 1.0, 5 - r])):
                    assert np.array_equal(world.all_reduce(own, function),
                                          world.all_reduce(own, name))
                    assert np.array_equal(world.scan(own, function), world.scan(own, name))
                assert world.exscan(r + 2, function, 0) == world.exscan(r + 2, name, 0)
                assert world.reduce(r + 2, function, n - 1) == world.reduce(r + 2, name, n - 1)
                assert world.reduce_scatter([r + q for q in range(n)], function) == \
                    world.reduce_scatter([r + q for q in range(n)], name)
                assert world.split_phase.all_reduce(r + 2, function).result() == \
                    world.all_reduce(r + 2, name)
        values = np.array([1.0, r])
        assert world.all_reduce(values, max, out=values) is values
        assert values.tolist() == [1.0, n - 1]
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_other_functions_combine_any_objects_in_the_order_of_the_members(job, machine):
    job.expect_no_fault(
        """
        from functools import reduce
        r, n = world.rank, world.size
        words = [f"<{q}>" for q in range(n)]
        join = lambda a, b: a + b
        assert world.all_reduce(words[r], join) == "".join(words)
        assert world.scan(words[r], join) == "".join(words[:r + 1])
        assert world.exscan(words[r], join) == ("".join(words[:r]) or None)
        assert world.exscan(words[r], join, "first") == ("".join(words[:r]) or "first")
        at_root = world.reduce(words[r], join, n - 1)
        assert at_root == ("".join(words) if r == n - 1 else None)
        merged = world.all_reduce({r: r * r}, lambda a, b: a | b)
        assert merged == {q: q * q for q in range(n)}
        best = world.all_reduce((abs(r - 1), r), lambda a, b: max(a, b))
        assert best == max((abs(q - 1), q) for q in range(n))
        got = world.reduce_scatter([f"{r}{q} " for q in range(n)], join)
        assert got == "".join(f"{q}{r} " for q in range(n))
        weighted = world.all_reduce(np.array([r + 1j]), lambda a, b: 2 * a + b)
        assert weighted == reduce(lambda a, b: 2 * a + b, [np.array([q + 1j]) for q in range(n)])
        """,
        machine,
    )


refused = {
    "world.all_reduce(1, 5)": "TypeError: The operation is 5; legal: plus, times, minimum, "
    "maximum, or a function of two values.",
    "world.all_reduce('a', max)": "TypeError: all_reduce combines an int, a float or a NumPy ",
    "world.scan(np.zeros(2), lambda a, b: a, out=np.zeros(2))": "TypeError: out of scan is for "
    "operations that have a name: plus, times, minimum, maximum.",
    "world.split_phase.scan(1, lambda a, b: a)": "TypeError: A reduction by a function cannot be "
    "started; ",
    "import threading; world.all_gatherv(threading.Lock())": "TypeError: This cannot be sent to "
    "another rank: ",
    "world.reduce(1, max, 2)": "ValueError: The root is 2; legal: 0 to 1.",
}


@pytest.mark.parametrize("call", refused)
def test_what_is_refused(job, call):
    status, _, errors = job.run(call, "processes:2")
    assert status == 1
    assert refused[call] in errors


def test_an_object_that_cannot_be_broadcast_keeps_nobody_waiting(job):
    out = job.expect_no_fault(
        """
        import threading
        try:
            world.broadcast(threading.Lock() if world.rank == 0 else None)
        except (TypeError, ValueError) as error:
            print(f"{world.rank} {type(error).__name__}: {error}")
        world.barrier()
        """
    )
    assert sorted(out.splitlines()) == [
        "0 TypeError: This cannot be sent to another rank: cannot pickle '_thread.lock' object",
        "1 ValueError: The root, member 0, has nothing that can be broadcast.",
    ]
