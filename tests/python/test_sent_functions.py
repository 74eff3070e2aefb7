# SPDX-License-Identifier: Apache-2.0
"""Functions that ranks call on each other travel once, and are known from then on."""

from __future__ import annotations

from conftest import needs_module

pytestmark = needs_module


def test_functions_that_are_sent_again_are_known_for_as_long_as_others(job):
    """Of its functions a rank has sent some to one rank first, and all know the latest 256."""
    job.expect_no_fault(
        """
        def make(value):
            return lambda: value
        def ask(rank, functions):
            return [world.call(rank, function).result() for function in functions]
        if world.rank == 0:
            elsewhere = [make(i) for i in range(100)]
            ask(2, elsewhere)
            again = make("again")
            ask(1, [again, *map(make, range(155)), *elsewhere, make(0), again])
            for i in range(80):
                assert ask(1, [make(i), again]) == [i, "again"], i
        world.barrier()
        """,
        "processes:3",
    )


def test_a_function_travels_once(job):
    job.expect_no_fault(
        """
        class Counted:
            def __init__(self): self.times = 0
            def __reduce__(self):
                self.times += 1
                return int, (7,)
        big = Counted()
        def f(x): return x + held
        held = big
        import cloudpickle
        whole = world.call(0, lambda x: (x, held), 1)
        assert whole.result() == (1, 7) and big.times == 1
        again = lambda x: (x, held)
        for i in range(5):
            assert world.call(0, again, i).result() == (i, 7)
        assert big.times == 2
        for i in range(600):  # more than are kept
            assert world.call(0, lambda i=i: i).result() == i
        assert world.call(0, again, 9).result() == (9, 7)
        """,
        "processes:1",
    )


def test_a_function_whose_first_call_was_not_sent(job):
    job.expect_no_fault(
        """
        from selion import calls
        def double(x): return 2 * x
        real = calls._core.send_message
        def fail(*arguments): raise MemoryError("no room")
        calls._core.send_message = fail
        try:
            world.call(0, double, 1)
        except MemoryError:
            calls._core.send_message = real
        assert world.call(0, double, 2).result() == 4
        """,
        "processes:1",
    )


def test_calls_do_not_overtake_the_function(job):
    """One that a thread makes while the first one is on its way brings the function as well."""
    job.expect_no_fault(
        """
        from selion import calls
        def double(x): return 2 * x
        sent, real = [], calls._core.send_message
        def nested(*arguments):
            sent.append(len(arguments[3]))
            if len(sent) == 1:
                inner.append(world.call(0, double, 3))
            real(*arguments)
        inner = []
        calls._core.send_message = nested
        outer = world.call(0, double, 2)
        calls._core.send_message = real
        assert (outer.result(), inner[0].result()) == (4, 6)
        """,
        "processes:1",
    )


def test_methods_of_what_is_built_in_go_with_each_call(job):
    """They belong to an object, which changes; functions of modules belong to none."""
    job.expect_no_fault(
        """
        from selion import calls
        import math
        known = {}
        get = known.get
        assert world.call(0, get, "a").result() is None
        known["a"] = 1
        assert world.call(0, get, "a").result() == 1
        assert world.call(0, dict.fromkeys, "a").result() == {"a": None}
        assert not calls._own().numbers
        for _ in range(2):
            assert world.call(0, math.hypot, 3, 4).result() == 5
            assert world.call(0, str.upper, "a").result() == "A"
        assert len(calls._own().numbers) == 1
        """,
        "processes:1",
    )
