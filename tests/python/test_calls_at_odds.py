# SPDX-License-Identifier: Apache-2.0
"""Calls that handlers of signals interrupt, that threads share, and of functions that change."""

from __future__ import annotations

from conftest import needs_module

pytestmark = needs_module

_handler = """
        class Late(Exception): pass
        def raises(*_): raise Late
        signal.signal(signal.SIGALRM, raises)
"""


def test_an_answer_that_nobody_waits_for(job):
    """A handler of a signal raises when the call is on its way."""
    out = job.expect_no_fault(
        _handler + """
        from selion import calls
        send = calls._core.send_message
        def interrupted(*arguments):
            send(*arguments)
            os.kill(os.getpid(), signal.SIGALRM)
        if world.rank == 0:
            calls._core.send_message = interrupted
            try:
                world.call(1, abs, -1)
            except Late:
                print("late")
            calls._core.send_message = send
        world.barrier()
        assert world.call(1 - world.rank, abs, -2).result() == 2
        world.barrier()
        """
    )
    assert out == "late\n"


def test_handlers_of_signals_do_not_end_the_job(job):
    """What they raise comes in the rank that the signal was for, whatever comes meanwhile."""
    job.expect_no_fault(
        _handler + """
        import time
        until, others = time.monotonic() + 1, 1 - world.rank
        def ask():
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0007)
                for _ in range(50):
                    assert world.call(others, abs, -3).result() == 3
            except RuntimeError as error:  # here the handler may come, too
                assert str(error).startswith("The call was interrupted there by "), error
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        while time.monotonic() < until:
            try:
                ask()
            except Late:
                pass
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        world.barrier()
        """
    )


def test_what_is_called_is_the_one_that_was_named(job):
    """Objects that are equal need not do the same."""
    job.expect_no_fault(
        """
        class Times:
            def __init__(self, by): self.by = by
            def __eq__(self, other): return True
            def __hash__(self): return 0
            def __call__(self, x): return self.by * x
        assert [world.call(0, Times(by), 10).result() for by in (1, 2)] == [10, 20]
        times = Times(3)
        assert world.call(0, times, 10).result() == 30
        times.by = 4
        assert world.call(0, times, 10).result() == 40
        """,
        "processes:1",
    )


def test_long_functions_are_not_kept(job):
    job.expect_no_fault(
        """
        import weakref
        from selion import calls
        class Captured(bytearray): pass
        def length_of(captured): return lambda: len(captured)
        def call(captured):
            assert world.call(1 - world.rank, length_of(captured)).result() == len(captured)
            return weakref.ref(captured)
        world.barrier()
        assert call(Captured(1 << 17))() is None and call(Captured(1 << 10))() is not None
        world.barrier()
        [kept] = calls._own().functions.values()
        assert len(kept) == len(calls._own().numbers) == 1
        """
    )


def test_threads_get_one_result(job):
    job.expect_no_fault(
        """
        from selion import calls
        loads, begun = calls.pickle.loads, threading.Barrier(2)
        made = world.call(0, list, "ab")
        made.wait()
        class Slow:
            def __getattr__(self, name): return getattr(pickle, name)
            def loads(self, data):
                import time
                time.sleep(0.1)
                return pickle.loads(data)
        import pickle
        calls.pickle = Slow()
        found = []
        def ask():
            with world.joined_thread():
                begun.wait()
                found.append(made.result())
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for each in threads: each.start()
        for each in threads: each.join()
        assert found[0] is found[1]
        """,
        "processes:1",
        options=", thread_level='multiple'",
    )
