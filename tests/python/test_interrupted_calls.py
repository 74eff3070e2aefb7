# SPDX-License-Identifier: Apache-2.0
"""Calls that handlers of signals interrupt: at the caller, and where they run."""

from __future__ import annotations

from conftest import needs_module

pytestmark = needs_module

# `interrupted(step, names, what)` calls `what`, with a signal before that step of the functions of
# selion.calls; returns whether there was such a step. What the handler raises may come later.
_steps = """
        from selion import calls
        class Late(Exception): pass
        def raises(number, frame): raise Late
        signal.signal(signal.SIGALRM, raises)
        def interrupted(step, names, what):
            passed = 0
            def trace(frame, event, _):
                nonlocal passed
                if frame.f_code.co_filename != calls.__file__ or frame.f_code.co_name not in names:
                    return None
                frame.f_trace_opcodes = True
                if event == "opcode":
                    passed += 1
                    if passed == step:
                        sys.settrace(None)
                        signal.raise_signal(signal.SIGALRM)
                return trace
            sys.settrace(trace)
            try:
                what()
            except (Late, RuntimeError) as error:
                assert isinstance(error, Late) or "by Late." in str(error), error
            finally:
                sys.settrace(None)
            return passed >= step
"""


def test_an_interruption_loses_no_answer(job):
    job.expect_no_fault(
        _steps + """
        step = 1
        made = world.call(0, list, "ab")
        while interrupted(step, ("result",), lambda: made.wait() and made.result()):
            assert made.result() == ["a", "b"] and made.result() is made.result(), step
            made, step = world.call(0, list, "ab"), step + 1
        assert step > 20
        """,
        "processes:1",
    )


def test_a_function_whose_coming_was_interrupted_comes_all_the_same(job):
    job.expect_no_fault(
        _steps + """
        def make(value):
            return lambda: value
        names = ("take", "_run", "_unpack", "_note_function", "_function", "_keep")
        for kind in (world.call, lambda *arguments: world.send(*arguments) or None):
            step, goes_on = 1, True
            while goes_on:
                function = make(step)
                def ask():
                    made = kind(0, function)
                    return made.result() if made else world.progress()
                try:
                    goes_on = interrupted(step, names, ask)
                    world.progress()
                except Late:
                    pass
                assert world.call(0, function).result() == step
                step += 1
            assert step > 50
        """,
        "processes:1",
    )


def test_a_function_that_could_not_be_loaded_is_loaded_again(job):
    job.expect_no_fault(
        """
        os.tries = 0
        def wake():
            os.tries += 1
            if os.tries == 1:
                raise ValueError("not yet")
            return 7
        class Moody:
            def __reduce__(self): return wake, ()
        held = Moody()
        f = lambda: held
        try:
            world.call(0, f).result()
        except RuntimeError as error:
            assert "cannot be loaded here: ValueError: not yet" in str(error)
        else:
            raise AssertionError
        assert world.call(0, f).result() == world.call(0, f).result() == 7 and os.tries == 2
        """,
        "processes:1",
    )


_strikes = """
        class Late(Exception): pass
        class Handler:
            def __call__(self, number, frame): raise Late(number)
        def strike(number):
            os.kill(os.getpid(), number)
            for _ in range(1000):
                pass
            return "went on"
"""


def test_what_a_handler_raises_within_a_called_function_is_its_ranks(job):
    out = job.expect_no_fault(
        _strikes + """
        import functools, time
        def plain(number, frame): raise Late(number)
        def bare(*_): raise Late
        class Method:
            def of(self, number, frame): raise Late
        class Made:
            def __init__(self, number, frame): raise Late
        def renames(number, frame):
            number = signal.Signals(number).name
            raise Late
        def clears(number, frame):
            del number, frame
            raise Late
        def gathers(*given):
            given = [each for each in given if each is given[0]]
            raise Late
        def leaves(number, frame):
            signal.signal(number, signal.SIG_DFL)
            raise SystemExit(7)
        for handler in (plain, bare, Handler(), functools.partial(plain), Method().of, Made,
                        renames, clears, gathers, leaves, signal.default_int_handler):
            signal.signal(signal.SIGINT, handler)
            world.barrier()
            if world.rank == 0:
                try:
                    world.call(1, strike, signal.SIGINT).result()
                except RuntimeError as error:
                    print(error, flush=True)
                world.call(1, abs, -1).result()
                world.barrier()
                continue
            try:
                world.barrier()
                time.sleep(0)
            except (Late, KeyboardInterrupt, SystemExit) as error:
                assert error.__context__ is None
                print("own", type(error).__name__, flush=True)
        """
    )
    names = ["Late"] * 9 + ["SystemExit", "KeyboardInterrupt"]
    lines = out.splitlines()
    assert [line for line in lines if line[:3] == "own"] == [f"own {name}" for name in names]
    told = [line for line in lines if line[:3] != "own"]
    assert [line.split(" by ")[1].rpartition(".<locals>.")[2].split(":")[0].rstrip(".")
            for line in told] == names


def test_what_a_called_function_raises_by_itself_is_its_callers(job):
    """Also what a handler would raise, and of a function that a handler is, too."""
    out = job.expect_no_fault(
        """
        def interrupt(): raise KeyboardInterrupt
        def handler(*arguments): raise ValueError(len(arguments))
        def locate(level, frame): raise ValueError(level)
        def look(): locate(5, sys._getframe())
        def choose(): signal.Signals("none of them")
        signal.signal(signal.SIGALRM, handler)
        if world.rank == 0:
            for call in ((interrupt,), (handler, 3, 4), (look,), (choose,)):
                try:
                    world.call(1, *call).result()
                except (RuntimeError, ValueError) as error:
                    print(error)
        world.barrier()
        """
    )
    assert out.splitlines() == [
        "The called function has raised KeyboardInterrupt.", "2", "5",
        "'none of them' is not a valid Signals",
    ]


def test_a_handler_ends_no_job_within_a_function_that_was_sent(job):
    out = job.expect_no_fault(
        _strikes + """
        signal.signal(signal.SIGALRM, Handler())
        world.barrier()
        if world.rank == 0:
            world.send(1, strike, signal.SIGALRM)
            world.call(1, abs, -1).result()
            world.barrier()
        else:
            try:
                world.barrier()
                abs(1)
            except Late:
                print("own")
        """
    )
    assert out == "own\n"


def test_long_arguments_whose_sending_was_interrupted_are_dropped(job):
    """Their sender begins others with a new number, and those before would stay for ever."""
    job.expect_no_fault(
        _steps + """
        import resource
        def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        megabytes, step, names = 8, 1, ("_request", "_send_request")
        if world.rank == 0:
            long = bytes(megabytes << 20)
            assert world.call(1, len, long).result() == len(long)
            before = world.call(1, most).result()
            while interrupted(step, names, lambda: world.call(1, len, long).result()):
                step += 1
            grown = world.call(1, most).result() - before
            assert grown < 8 * megabytes, (grown, step)
        world.barrier()
        """
    )
