# SPDX-License-Identifier: Apache-2.0
"""Calls of functions on other ranks: arguments, results, exceptions, order."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conftest import clean_environment, needs_module, seconds

pytestmark = needs_module

machines = ["processes:1", "processes:2", "processes:4,direct=off", "sim:crossbar,ranks=3"]


@pytest.mark.parametrize("machine", machines)
def test_results(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        right = (r + 1) % n
        assert world.call(right, divmod, 7, 3).result() == (2, 1)
        base = 10 * r
        assert world.call(right, lambda *args, **named: (base, args, named), 1, x=2).result() == (
            base, (1,), {"x": 2})
        many = [world.call(rank, pow, rank, i) for rank in range(n) for i in range(20)]
        assert [each.result() for each in many] == [q**i for q in range(n) for i in range(20)]
        large = np.arange(3 << 18)
        twice = world.call(right, lambda values: 2 * values, large)
        assert twice.wait() and twice.is_ready and (twice.result() == 2 * large).all()
        assert world.call(right, lambda: None).result(30) is None
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_what_all_ranks_have_becomes_the_targets_own(job, machine):
    job.expect_no_fault(
        """
        from selion.layout import cyclic, on_grid
        r, n = world.rank, world.size
        right = (r + 1) % n
        part, bell = world.allocate(4, int), world.signal()
        spread = world.spread((n, 2), layout=on_grid(cyclic(n)) if n == 0 else None)
        world.names = {r: f"rank {r}"}
        def work(there, array, signal, cyclical, amount):
            array.local[1] += amount
            cyclical.local[0] = amount
            signal.notify(there.rank, add=2)
            return there.rank, there.names[there.rank], array.local.tolist()
        world.barrier()
        rank, name, values = world.call(right, work, world, part, bell, spread, 5).result()
        assert (rank, name, values) == (right, f"rank {right}", [0, 5, 0, 0])
        bell.wait_until(2)
        assert part.local[1] == 5 and spread.local[0] == 5
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_a_loop_of_tests_serves_calls(job, machine):
    job.expect_no_fault(
        """
        bell = world.signal(2)
        assert bell.test(0, 1) and not bell.test(1, index=1)
        def ring(there, signal, back):
            signal.notify(back, add=3)
        world.send((world.rank + 1) % world.size, ring, world, bell, world.rank)
        while not bell.test(3):
            pass
        assert not bell.test(4)
        world.barrier()
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_a_loop_of_looks_at_futures_ends(job, machine):
    job.expect_no_fault(
        """
        right = (world.rank + 1) % world.size
        answer = world.call(right, pow, 2, 5)
        while not answer.is_ready:
            pass
        assert answer.result() == 32
        total = world.split_phase.all_reduce(np.ones(3))
        while not total.is_ready:
            pass
        assert (total.result() == world.size).all()
        seen = world.call(right, lambda future: future().is_ready,
                          lambda: world.call(world.rank, abs, -1))
        assert seen.result() in (False, True)  # where it may not wait, it looks
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_calls_that_want_no_answer(job, machine):
    """They come in the order in which they were sent."""
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        world.seen = []
        bell = world.signal()
        def note(there, signal, number):
            there.seen.append(number)
            signal.notify(there.rank)
        for i in range(100):
            assert world.send((r + 1) % n, note, world, bell, i) is None
        bell.wait_until(100)
        assert world.seen == list(range(100))
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_exceptions_come_back(job, machine):
    job.expect_no_fault(
        """
        right = (world.rank + 1) % world.size
        class Trouble(Exception): pass
        def fail(text): raise Trouble(text)
        def waits(there, how): getattr(there, how)(*(1,) * (how in ("signal", "allocate")))
        try:
            world.call(right, fail, "no such luck").result()
        except Exception as error:
            assert type(error).__name__ == "Trouble" and str(error) == "no such luck"
            assert "in fail" in str(error.__cause__) and "calls.py" not in str(error.__cause__)
        else:
            raise AssertionError
        for how in ("barrier", "quiet", "signal", "allocate", "progress"):
            try:
                world.call(right, waits, world, how).result()
            except RuntimeError as error:
                assert "which a function must not do that another rank has called" in str(error)
            else:
                raise AssertionError(how)
        class Wordless(Exception):
            def __init__(self): self.lock = threading.Lock()
            def __str__(self): raise ValueError("no words")
        def wordless(): raise Wordless
        try:
            world.call(right, wordless).result()
        except RuntimeError as error:
            assert str(error).endswith("<exception str() failed> (which cannot be pickled)")
        else:
            raise AssertionError
        def closes(): return threading.Lock()
        try:
            world.call(right, closes).result()
        except TypeError as error:
            assert "This cannot be sent to another rank" in str(error)
        else:
            raise AssertionError
        """,
        machine,
    )


@pytest.mark.parametrize("machine", ["processes:3,direct=off", "sim:crossbar,ranks=3"])
def test_a_handler_may_not_wait_for_memory_elsewhere(job, machine):
    job.expect_no_fault(
        """
        part = world.allocate(2, int)
        def access(there, array, how, rank):
            return getattr(array, how)(rank, 0, *(1,) * (how == "fetch_add"))
        right = (world.rank + 1) % world.size
        world.barrier()
        for how in ("get", "item", "fetch_add", "atomic_get"):
            world.call(right, access, world, part, how, right).result()
            try:
                world.call(right, access, world, part, how, (right + 1) % world.size).result()
            except RuntimeError as error:
                assert str(error).startswith("Reading memory that is not mapped waits"), error
            else:
                raise AssertionError(how)
        world.call(right, lambda array, rank: array.put(7, rank, 1), part, world.rank).result()
        world.quiet()
        world.barrier()
        """,
        machine,
    )


def test_handlers_may_call_further(job):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        part, bell = world.allocate(1, int), world.signal()
        world.barrier()
        def hop(there, array, signal, left):
            array.local[0] += 1
            if left:
                there.send((there.rank + 1) % there.size, HOP, there, array, signal, left - 1)
            else:
                for rank in range(there.size):
                    signal.notify(rank)
        globals()["HOP"] = hop
        world.barrier()
        if r == 0:
            world.send(1, hop, world, part, bell, 10)
        bell.wait_until(1)
        assert world.all_reduce(int(part.local[0])) == 11
        """,
        "processes:3",
    )


def test_progress_serves(job):
    job.expect_no_fault(
        """
        world.done = False
        def note(there): there.done = True
        world.barrier()
        if world.rank == 0:
            world.call(1, note, world).result()
        else:
            while not world.done:
                world.progress()
        """
    )


def test_messages_are_served_by_a_thread_where_one_is(job, tmp_path):
    """The rank itself calls nothing that would serve them."""
    os.mkfifo(tmp_path / "gate")
    job.expect_no_fault(
        """
        world.barrier()
        if world.rank == 0:
            assert world.call(1, os.getpid).result() != os.getpid()
            open(os.path.join(os.environ["JOB_FOLDER"], "gate"), "w").close()
        else:
            open(os.path.join(os.environ["JOB_FOLDER"], "gate")).read()
        """,
        "processes:2,progress=interrupt",
    )


def test_an_exception_that_nobody_waits_for_ends_the_job(job):
    status, out, errors = job.run(
        """
        def fail(): raise ValueError("no such luck")
        if world.rank == 0:
            world.send(1, fail)
        world.barrier()
        world.signal().wait_until(1)
        """
    )
    assert (status != 0, out) == (True, "")
    assert "a call that rank 0 had sent without waiting for an answer ended" in errors
    lines = errors.splitlines()
    assert lines[0] == "[rank 1] Traceback (most recent call last):"
    assert lines[1].endswith("in fail") and "[rank 1] ValueError: no such luck" in lines
    assert "RuntimeError" not in errors


def test_a_result_may_be_late(job):
    job.expect_no_fault(
        """
        world.barrier()
        if world.rank == 0:
            later = world.call(1, os.getpid)
            try:
                later.result(0)
            except TimeoutError as error:
                assert "it goes on" in str(error)
            world.send(1, open, os.path.join(os.environ["JOB_FOLDER"], "made"), "w")
            assert later.result() > 0
        world.barrier()
        """
    )


def test_by_value_programs():
    text = (
        "import selion\n"
        "def double(x): return 2 * x\n"
        "def main(world): return world.call((world.rank + 1) % world.size, double, 4).result()\n"
        "print(selion.run(main, machine='processes:3'), selion.run(main, machine='sim:crossbar'))\n"
    )
    done = subprocess.run([sys.executable, "-c", text], env=clean_environment(), text=True,
                          capture_output=True, timeout=seconds)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("[8, 8, 8] [8, ")


def test_it_is_told_to_the_caller_of_a_job_by_value():
    text = (
        "import selion\n"
        "def fail(): raise ValueError('no such luck')\n"
        "def main(world):\n"
        "    world.rank or world.send(1, fail)\n"
        "    world.barrier()\n"
        "    world.signal().wait_until(1)\n"
        "try:\n"
        "    selion.run(main, machine='processes:2')\n"
        "except selion.RankFailed as failure:\n"
        "    print(failure.rank, failure)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], env=clean_environment(), text=True,
                          capture_output=True, timeout=seconds)
    assert done.stdout.startswith("1 Rank 1 of 2: a call that rank 0 had sent without waiting")
    assert "[rank 1] ValueError: no such luck" in done.stderr.splitlines()


refused = {
    "world.call(1, print)": "IndexError: The rank is 1; legal: 0 to 0.",
    "world.call(0, 3)": "TypeError: A rank is asked to call a function; this is int.",
    "world.call(0, print, threading.Lock())": "TypeError: This cannot be sent to another rank: "
    "cannot pickle '_thread.lock' object",
    "world.call(0, waits)": "TypeError: A call of 'waits' only makes a coroutine or a generator",
    "world.send(0, functools.partial(yields))": "TypeError: A call of 'partial' only makes a",
    "world.send(-1, print)": "IndexError: The rank is -1; legal: 0 to 0.",
    "world.call(0, print, gone).result()": "TypeError: ",
}


def test_what_is_refused(job):
    job.expect_refusals(
        """
        import functools
        async def waits(): pass
        def yields(): yield 1
        gone = selion.GlobalArray(world, (2,), np.dtype("f8"))
        """,
        refused,
    )


def test_results_are_kept(job):
    job.expect_no_fault(
        """
        made = world.call(0, list, "ab")
        assert made.result() is made.result() and made.result() == ["a", "b"]
        def fail(): raise ValueError("no")
        failed, seen = world.call(0, fail), []
        for _ in range(2):
            try:
                failed.result()
            except ValueError as error:
                seen.append(error)
        assert seen[0] is seen[1] and "in fail" in str(seen[0].__cause__)
        """,
        "processes:1",
    )


def test_a_function_that_would_have_its_caller_leave(job):
    out = job.expect_no_fault(
        """
        if world.rank == 0:
            for leaves in (lambda: sys.exit(0), lambda: sys.exit(3)):
                try:
                    world.call(1, leaves).result()
                except RuntimeError as error:
                    print(error)
        world.barrier()
        """,
        "processes:2",
    )
    assert out.splitlines() == [
        f"The called function has raised SystemExit: {status}." for status in (0, 3)
    ]


def test_calls_that_cannot_be_made_leave_nothing(job):
    """No promise: a weak reference tells, because what is never fulfilled stays."""
    job.expect_no_fault(
        """
        from selion import _core
        made = []
        make = _core.make_promise
        _core.make_promise = lambda *about: made.append(make(*about)) or made[-1]
        def fail(*_): raise MemoryError
        for arguments in ((0, print, threading.Lock()), (7, print), (0, 3), (0, print)):
            if arguments == (0, print):
                _core.send_message = fail
            try:
                world.call(*arguments)
            except (TypeError, IndexError, MemoryError):
                pass
            else:
                raise AssertionError
        assert len(made) == 1 and made[0].is_ready
        """,
        "processes:1",
    )


def test_a_rank_that_asks_for_a_job_keeps_what_it_has(job):
    job.expect_no_fault(
        """
        from selion import launch, registry
        part = world.allocate(2)
        launch._forget()
        assert registry.world() is world
        assert world.call(1 - world.rank, lambda part: part.size, part).result() == 2
        world.barrier()
        """,
        "processes:2",
    )


def test_calls_that_come_before_a_rank_begins_keep_their_order():
    from selion import registry

    seen = []

    def later():
        if not registry.has_begun(lambda: seen.append(3)):
            seen.append(1)

    try:
        assert not registry.has_begun(later)
        assert not registry.has_begun(lambda: seen.append(2))
        registry.enter(None)
        assert seen == [1, 2, 3] and registry.has_begun(lambda: None)
    finally:
        registry.forget()


def test_a_rank_that_is_interrupted_as_it_begins_serves_the_others_all_the_same():
    from selion import registry

    def interrupted():
        raise KeyboardInterrupt

    seen = []
    try:
        assert not registry.has_begun(interrupted)
        assert not registry.has_begun(lambda: seen.append(1))
        with pytest.raises(KeyboardInterrupt):
            registry.enter(None)
        assert seen == [1] and registry.has_begun(lambda: None)
    finally:
        registry.forget()


def test_what_has_been_given_back_is_not_kept(job):
    job.expect_no_fault(
        """
        from selion import registry
        array, bell, last = world.allocate(2), world.signal(), world.allocate(1)
        array.free(), bell.free()
        assert registry._own().made == [None, None, last]
        assert world.call(0, lambda each: each is None, last).result() is False
        for gone in (array, bell):
            try:
                world.call(0, print, gone)
            except TypeError as error:
                assert "has been given back" in str(error)
            else:
                raise AssertionError
        try:
            registry.made(0, registry._job_of(registry._own()))
        except ValueError as error:
            assert str(error) == "Rank 0 has given array 0 back with free()."
        """,
        "processes:1",
    )


def test_futures_that_are_dropped_cost_the_same_however_many_there_are(job):
    """Of these each would look at all before it: that takes minutes."""
    job.expect_no_fault(
        """
        if world.rank == 0:
            for i in range(150_000):
                world.call(1, abs, i)
            assert world.call(1, abs, -1).result() == 1
        world.barrier()
        """
    )
