# SPDX-License-Identifier: Apache-2.0
"""What surrounds a function that another rank has called: when it runs, and what it sees."""

from __future__ import annotations

from conftest import needs_module

pytestmark = needs_module


def test_a_function_sees_nothing_of_the_wait_that_it_runs_in(job):
    """But what was set before the rank began; and what it sets itself is gone behind it."""
    job.expect_no_fault(
        """
        import decimal
        def look():
            seen = sys.exc_info()[0], decimal.getcontext().prec, np.geterr()["divide"]
            np.seterr(divide="ignore")
            return seen
        def fail(): raise KeyError("own")
        world.barrier()
        if world.rank == 0:
            settings = decimal.getcontext().prec, np.geterr()["divide"]
            for _ in range(2):
                seen = world.call(1, look).result()
                assert seen == (None, *settings), seen
            try:
                world.call(1, fail).result()
            except KeyError as error:
                assert "ValueError" not in str(error.__cause__), error.__cause__
            assert settings[0] == 9
            world.barrier()
        else:
            try:
                raise ValueError("of the rank")
            except ValueError as error:
                def waits():
                    world.barrier()
                    yield
                    yield sys.exc_info()[1]
                with np.errstate(divide="raise"), decimal.localcontext() as context:
                    context.prec = 3
                    waiting = waits()
                    next(waiting)
                    assert context.prec == 3 and np.geterr()["divide"] == "raise"
                assert sys.exc_info()[1] is error
            assert next(waiting) is None
        """,
        before="import decimal\ndecimal.getcontext().prec = 9",
    )


def test_a_first_call_that_comes_deep_in_a_stack(job):
    job.expect_no_fault(
        """
        def deep(left):
            if left:
                return deep(left - 1)
            world.barrier()
        if world.rank == 0:
            assert world.call(1, abs, -1).result() == 1
            world.barrier()
        else:
            sys.setrecursionlimit(500)
            deep(500 - 45)
        """
    )


def test_a_rank_is_named_as_any_index_is(job):
    """Before the function is called."""
    job.expect_no_fault(
        """
        class Two:
            def __index__(self): return 0
        os.calls = 0
        def count():
            os.calls += 1
            return os.calls
        for number, rank in enumerate((np.array(0), np.int8(0), False, Two()), 1):
            assert world.call(rank, count).result() == number
            world.send(rank, len, "")
        for rank in (0.0, np.array(0.0), np.zeros(2, int), "0", None):
            for call in (world.call, world.send):
                try:
                    call(rank, count)
                except TypeError:
                    pass
                else:
                    raise AssertionError(rank)
        world.progress()
        assert os.calls == 4
        """,
        "processes:1",
    )


def test_what_has_just_been_made_is_known_to_all(job):
    """Also while one of them has not returned from making it."""
    job.expect_no_fault(
        """
        from selion import registry
        note = registry.note
        def late(made):
            for _ in range(300 if world.rank == 1 else 0):
                world.progress()
                time.sleep(0.001)
            return note(made)
        import time
        registry.note = late
        for make in (lambda: world.allocate(2), world.signal, lambda: world.spread(3)):
            made = make()
            if world.rank == 0:
                assert world.call(1, lambda each: each is None, made).result() is False
            world.barrier()
        """
    )


# Rank 1 begins when some calls have come for it.
_begins_late = """
from selion import registry
enter = registry.enter
def enters_late(world):
    while world.rank == 1 and len(registry._own().when_there) < 2:
        world.progress()
    enter(world)
registry.enter = enters_late
"""


def test_an_exception_in_a_call_that_came_early_ends_the_job_as_later_ones(job):
    status, out, errors = job.run(
        """
        def fail(): raise ValueError("no such luck")
        if world.rank == 0:
            world.send(1, abs, -1)
            world.send(1, fail)
        world.barrier()
        """,
        before=_begins_late,
    )
    assert (status != 0, out) == (True, "")
    assert "a call that rank 0 had sent without waiting for an answer ended" in errors
    assert "[rank 1] ValueError: no such luck" in errors.splitlines()
    assert "_Ends" not in errors and errors.count("Traceback") == 1


def test_calls_that_came_early_run_as_later_ones(job):
    """They must not wait, either."""
    job.expect_no_fault(
        """
        def waits(there): there.barrier()
        if world.rank == 0:
            answer = world.call(1, abs, -1)
            try:
                world.call(1, waits, world).result()
            except RuntimeError as error:
                assert "which a function must not do" in str(error)
            else:
                raise AssertionError
            assert answer.result() == 1
        world.barrier()
        """,
        before=_begins_late,
    )
