# SPDX-License-Identifier: Apache-2.0
"""Puts and gets in two phases, signals, and what orders and completes."""

from __future__ import annotations

import pytest

from conftest import needs_module

pytestmark = needs_module

machines = ["processes:1", "processes:2", "processes:4,direct=off", "sim:crossbar,ranks=3"]


@pytest.mark.parametrize("machine", machines)
def test_two_phases(job, machine):
    job.expect_no_fault(
        """
        part = world.allocate((2, 3))
        right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
        values = np.arange(6.0).reshape(2, 3) + world.rank
        put = part.start_put(values, right)
        assert put.wait() and put.wait(0) and put.is_ready and put.result() is None
        world.barrier()
        whole, some = part.start_get(right), part.start_get(right, 2, 3)
        into = np.empty(2)
        third = part.start_get(right, 4, out=into)
        assert whole.result().shape == (2, 3) and (whole.result() == values).all()
        assert some.result(60).tolist() == values.ravel()[2:5].tolist()
        assert third.result() is into and into.tolist() == values.ravel()[4:].tolist()
        world.barrier()
        many = [part.start_put(np.full(1, 1.0 * i), right, i) for i in range(6)]
        part.start_put(5, right)  # nobody waits for it, and its source is gone
        assert all(each.wait() for each in many)
        world.quiet()
        world.barrier()
        assert part.local.ravel()[1:].tolist() == [1, 2, 3, 4, 5]
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines[1:])
def test_views_of_the_own_part_may_overlap_with_it(job, machine):
    job.expect_no_fault(
        """
        many = 4096
        part, bell = world.allocate(many + 8), world.signal()
        own, first = part.local, np.arange(1.0 * many)

        def anew():
            own[:] = np.arange(many + 8.0)

        for put in (part.put, lambda *what: part.start_put(*what).wait(),
                    lambda values, rank, offset: part.put_signal(values, rank, bell, offset)):
            anew()
            put(own[:many], world.rank, 3)
            assert (own[3 : many + 3] == first).all() and (own[:3] == [0, 1, 2]).all()
        for get in (part.get, lambda *what, out: part.start_get(*what, out=out).result()):
            anew()
            assert (get(world.rank, 0, out=own[3 : many + 3]) == first).all()
            anew()
            into = own[:many]
            assert get(world.rank, 3, out=into) is into and (into == first + 3).all()
        started = part.start_get(world.rank, 0, out=own[1:2])
        assert started.wait(60) and started.is_ready
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_signals(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        right, left = (r + 1) % n, (r - 1) % n
        part, arrived = world.allocate(4), world.signal()
        assert arrived.count == 1 and arrived.value() in (0, 1)
        part.put_signal(np.full(4, 1.0 * r), right, arrived)
        assert arrived.wait_until(1) is True
        assert part.local.tolist() == [left] * 4
        world.barrier()
        part.put_signal([8, 9], right, arrived, 2, set=5)
        arrived.wait_until(5)
        assert part.local.tolist() == [left, left, 8, 9] and arrived.value() == 5
        several = world.signal(3)
        for rank in range(n):
            several.notify(rank, index=1)
            several.notify(rank, add=10, index=2)
        several.wait_until(n, 1)
        several.wait_until(10 * n, index=2)
        assert several.value(0) == 0
        assert several.wait_until(1, 0, timeout=0.01) is False
        world.fence()
        world.quiet(right)
        several.free()
        """,
        machine,
    )


def test_a_transfer_belongs_to_its_rank(job):
    out = job.expect_no_fault(
        """
        kept = globals().setdefault("kept", [])
        kept.append(world.allocate(1).start_get(world.rank))
        world.barrier()
        if world.rank == 1:
            try:
                kept[1 - kept.index(kept[-1])].wait()
                kept[0].wait()
            except RuntimeError as error:
                print(error)
        """,
        "sim:crossbar,ranks=2",
    )
    assert out == "This future belongs to another rank, or to a job that has ended.\n"


@pytest.mark.parametrize("ending", ["started.wait()", "started.wait(1000)"])
def test_threads_of_a_rank_may_wait_for_one_transfer(job, ending):
    job.expect_no_fault(
        f"""
        part = world.allocate(2**18, np.int64)
        part.local[:] = world.rank
        world.barrier()
        for _ in range(200 if world.rank == 0 else 0):
            started = part.start_get(1)
            found = []
            def wait():
                with world.joined_thread():
                    found.append({ending})
            threads = [threading.Thread(target=wait) for _ in range(3)]
            for one in threads:
                one.start()
            found.append({ending})
            for one in threads:
                one.join()
            assert found == [True] * 4 and started.is_ready
            assert started.result().min() == 1
        world.barrier()
        """,
        "processes:2,direct=off",
        options=", thread_level='multiple'",
    )


refused = {
    "part.start_put(np.zeros(4), 0, 1)": "IndexError: Offset 1 and 4 elements reach beyond",
    "part.start_get(1)": "IndexError: The rank is 1; legal: 0 to 0.",
    "part.start_get(0).wait(-1)": "ValueError: A time-out is a number of seconds; legal: 0 to 9e9.",
    "world.signal(0)": "ValueError: Signals are 1 or more.",
    "bell.notify(0, add=1, set=2)": "ValueError: A signal is either set or added to, not both.",
    "bell.notify(1)": "IndexError: The rank is 1; legal: 0 to 0.",
    "bell.value(1)": "IndexError: The signal is 1; legal: 0 to 0.",
    "bell.wait_until(1, timeout=-1)": "ValueError: A time-out is a number of seconds",
    "part.put_signal(np.zeros(5), 0, bell)": "IndexError: Offset 0 and 5 elements reach beyond",
    "gone.value()": "ValueError: The signals have been given back with free().",
    "world.quiet(3)": "IndexError: The rank is 3; legal: 0 to 0.",
}


def test_what_is_refused(job):
    job.expect_refusals(
        """
        part, bell, gone = world.allocate(4), world.signal(), world.signal()
        gone.free()
        """,
        refused,
    )


def test_quiet_names_the_legal_ranks(job):
    job.expect_refusals(
        "",
        {f"world.quiet({rank})": f"IndexError: The rank is {rank}; legal: 0 to 0."
         for rank in (-1, 1, 2**40)},
    )


@pytest.mark.parametrize("ends", ["wait()", "result()", "wait(60)", "is_ready"])
def test_a_transfer_lets_go_of_its_source_when_it_is_complete(job, ends):
    job.expect_no_fault(
        f"""
        import weakref
        class Kept(np.ndarray): pass
        part = world.allocate(4)
        source = np.ones(4).view(Kept)
        there = weakref.ref(source)
        transfer = part.start_put(source, 1 - world.rank)
        del source
        while not transfer.is_ready:
            pass
        transfer.{ends}
        assert there() is None and transfer.wait() and transfer.result() is None
        target = np.zeros(4).view(Kept)
        read = part.start_get(1 - world.rank, out=target)
        assert read.wait() and read.result() is target
        world.barrier()
        """
    )
