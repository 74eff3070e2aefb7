# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a Python program."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import numbers
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from selion import callables, native, open_files, output, script_texts, spec
from selion.mistake import Mistake, listing
from selion.outcome import Printing, failure_of

if TYPE_CHECKING:
    from selion._core import World

Level = Literal["single", "serialized", "multiple"]
_levels = ("single", "serialized", "multiple")
_Result = TypeVar("_Result")

_cure = "set SELION_MACHINE=processes:N, or leave it unset for one process per core"


def _cure_of_argument(machine: str) -> str:
    """What to pass instead of a machine that was named in the call."""
    ranks = spec.parse(machine).ranks
    return f"pass machine='processes{'' if ranks is None else f':{ranks}'}'"


def check_machine(machine: str, cure: str = _cure) -> None:
    """@param cure what else to ask for. @error Mistake for one whose ranks cannot be Python's."""
    wanted = spec.parse(machine)
    if wanted.kind == "sim" and "context=fibers" in wanted.options:
        raise Mistake(
            "Ranks in Python need threads for their stacks, but the machine is "
            f"'{machine}': leave 'context=fibers' out."
        )
    if wanted.kind == "threads":
        raise Mistake(
            "Ranks in Python are processes, because threads of one interpreter wait for each "
            f"other; the machine is '{machine}': {cure}."
        )
    if wanted.per_process > 1:
        cure = "launch a process for each" if wanted.kind == "fabric" else cure
        raise Mistake(
            f"Ranks in Python have a process each, but '{machine}' puts several into one: {cure}."
        )


def _check_argument(machine: str) -> None:
    """@error TypeError, or Mistake for a machine whose ranks cannot be sent a function."""
    if not isinstance(machine, str):
        raise TypeError(
            f"machine is {machine!r}, of type {type(machine).__name__}; legal: a str such as "
            "'processes:2'."
        )
    if not machine:
        raise Mistake("machine is empty; legal: a machine such as 'processes:2', or None.")
    check_machine(machine, _cure_of_argument(machine))
    if spec.parse(machine).kind == "fabric":
        raise Mistake(
            f"Ranks of the machine '{machine}' are started by a launcher, which cannot be sent a "
            "function: leave machine= out, and start the program by 'selion run -m fabric'."
        )


def _machine_of_environment() -> str:
    """Empty: the default. Ends the program, as any variable that is not legal does, where the ranks
    of the machine cannot be Python's."""
    machine = os.environ.get("SELION_MACHINE", "")
    try:
        check_machine(machine)
    except Mistake as mistake:
        _flush()
        print(f"selion: {mistake}", file=sys.stderr)
        raise SystemExit(mistake.exit_status) from None
    return machine


def _check_options(time_limit: object, environment: Mapping[str, str]) -> None:
    if time_limit is not None and not isinstance(time_limit, numbers.Real):
        raise TypeError(
            f"time_limit is {time_limit!r}, of type {type(time_limit).__name__}; legal: a number "
            "of seconds."
        )
    if "SELION_MACHINE" in environment:
        raise Mistake("environment sets SELION_MACHINE; let machine= name the machine instead.")
    for name, value in environment.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise TypeError(
                f"environment gives the variable {name!r} the value {value!r}; legal: str for "
                "both, such as {'SELION_HEAP': '1G'}."
            )


def _check_level(level: str) -> None:
    if level not in _levels:
        raise ValueError(f"thread_level is '{level}'; legal: {listing(_levels)}.")


def _check_function(function: object) -> None:
    """@error TypeError for what does nothing when it is called."""
    if not callable(function):
        raise TypeError(f"selion.run calls a function; this is {type(function).__name__}.")
    callables.expect_to_run(function)


_spawned = "__mp_main__"  # what multiprocessing calls the main module there


def _is_spawned() -> bool:
    """Whether multiprocessing has started this process, or is just starting it."""
    starting = sys.modules.get("multiprocessing.process")
    is_starting = starting and getattr(starting.current_process(), "_inheriting", False)
    return bool(is_starting) or getattr(sys.modules.get("__main__"), "__name__", "") == _spawned


def _check_script() -> None:
    """Ranks are started by running the same command again, which must lead to the same call."""
    if _is_spawned():
        raise Mistake(
            "selion.run was reached in a process of multiprocessing, which runs the program's file "
            "once more as a module: put the call below if __name__ == '__main__', or name the "
            "machine, selion.run(f, machine='processes:4')."
        )
    is_from_standard_input = sys.argv[:1] in (["-"], [""])
    script = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    is_from_pipe = os.path.exists(script) and not os.path.isfile(script)
    is_read_once = is_from_standard_input or is_from_pipe
    if hasattr(sys, "ps1") or "ipykernel" in sys.modules or is_read_once:
        raise Mistake(
            "selion.run starts the ranks by running this program again, which an interactive "
            "session or a script on standard input or in a pipe does not allow: write a file and "
            "run that, or name the machine, selion.run(f, machine='processes:4'), which sends f to "
            "the ranks."
        )


def _folder_of_start() -> str:
    """Where the program was started, as far as that can be told; else empty. It may have gone to
    another folder since."""
    script = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    given = os.path.join("/", sys.argv[0].removeprefix("./")) if sys.argv else "/"
    if script.startswith("/") and not sys.argv[0].startswith("/") and script.endswith(given):
        return script.removesuffix(given) or "/"
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


_start_folder = _folder_of_start()
_start_variable = "SELION_JOB_FOLDER"  # where processes of ranks are started


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        output.flush(stream)


def _flush_at_end() -> None:
    """@error OSError with a sentence: it is raised where no line of the program is."""
    try:
        _flush()
    except OSError as trouble:
        why = f"What was printed cannot be written: {trouble.strerror}"
        raise OSError(trouble.errno, why) from None


def _finish(*, is_end: bool) -> None:
    """What the interpreter does at its end: the process of a rank ends by the runtime's hand.

    @param is_end of the process; else calls of other ranks may come still, which find files open.
    """
    # Of concurrent.futures, whose threads end by nothing else.
    for call in reversed(getattr(threading, "_threading_atexits", ())):
        call()
    # A rank is the main thread of its process, or one of the threads that the main one waits for.
    ranks = (threading.current_thread(), threading.main_thread())
    for thread in threading.enumerate():
        is_rank = thread in ranks or isinstance(thread, threading._DummyThread)
        if not is_rank and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    try:
        _flush_at_end()  # first: some files may write to what is below those streams
    finally:
        open_files.write_out(closes=is_end)
    _flush_at_end()


def _finish_calls() -> None:
    """The process of a rank ends: what functions have written that others have called since."""
    with contextlib.suppress(BaseException):
        _flush()
    with contextlib.suppress(BaseException):
        open_files.write_out()
        _flush()


def _end_early(code: object) -> None:
    """A rank that exits with a status ends the job: others may be waiting for it."""
    if code is None or code == 0:
        return
    status = code if isinstance(code, int) else 1
    with contextlib.suppress(OSError):  # the status tells of trouble in any case
        _finish(is_end=True)
    os._exit(status & 0xFF or 1)


def _expect_rank(own: int, world: World, raised: BaseException | None) -> None:
    """Ends a process that is not `own`: a child that a rank has forked, and that has not left."""
    if os.getpid() == own:
        return
    if isinstance(raised, SystemExit):
        Printing().left(world, raised.code)
        _end_early(raised.code)
    elif raised is not None:
        traceback.print_exception(raised)
        _end_early(1)
    _finish(is_end=True)
    os._exit(0)


def _called(function: Callable[[World], Any], world: World) -> Any:
    """Calls a rank's function, which only the rank itself returns from."""
    own = os.getpid()
    try:
        value = function(world)
    except BaseException as raised:
        _expect_rank(own, world, raised)
        raise
    _expect_rank(own, world, None)
    return value


def _join_lines() -> None:
    """So that the lines of ranks do not mix."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and output.is_open(stream):
            stream.reconfigure(line_buffering=True, write_through=False)


def _rank_main(
    function: Callable[[World], Any], outcome: Printing, *, has_own_process: bool
) -> Callable[[World], str]:
    """The life of a rank: what is called answers with how it failed, or with nothing."""

    def rank_main(world: World) -> str:
        os.environ.pop(_start_variable, None)
        if not has_own_process:  # threads that a simulated rank starts are the program's, as others
            threading.current_thread()._daemonic = False  # type: ignore[attr-defined]
        from selion import registry

        # Where the first call comes there may be no room on the stack to import what it needs.
        importlib.import_module("selion.calls")
        try:
            _join_lines()
            try:
                registry.enter(world)
                outcome.returned(world, _called(function, world))
            except SystemExit as end:
                outcome.left(world, end.code)
                _end_early(end.code)
            if has_own_process and spec.parse(world.machine).kind != "fabric":
                _finish(is_end=False)
                native.load().call_at_exit(_finish_calls)
            elif has_own_process:  # there the program goes on in all processes
                _flush_at_end()
        except SystemExit as end:  # of what runs at the end
            outcome.left(world, end.code)
            _end_early(end.code)
        except BaseException as raised:
            outcome.raised(world, raised)
            with contextlib.suppress(BaseException):  # which is what was raised, or hides it
                _flush()
            with contextlib.suppress(BaseException):
                open_files.write_out(waits=False)  # the others do
                _flush()
            return failure_of(raised)
        return ""

    return rank_main


def _forget() -> None:
    """What there is of jobs that are over: of all but the calling thread's, where it has one."""
    from selion import _core, calls, registry

    job, _ = _core.caller()
    calls.forget(job)
    registry.forget(job)


def run_ranks(
    function: Callable[[World], Any], machine: str, thread_level: str, outcome: Printing
) -> int:
    """Runs the ranks of a machine, in this process or in others that do the same.

    Returns the job's exit status, in the process that was started first.
    """
    core = native.load()
    # Where no machine is named, a launcher may have started the job on several hosts.
    may_be_on_hosts = not machine or spec.parse(machine).kind == "fabric"
    modules = script_texts.of_modules() if may_be_on_hosts else {}
    core.note_script(script_texts.of_program(), modules)
    # The library waits outside of Python, where Python's own handler for Ctrl-C never runs.
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if is_main else None
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _flush()
    is_simulated = spec.parse(machine).kind == "sim"
    if is_simulated and "context=" not in machine:
        os.environ["SELION_MACHINE"] = f"{machine},context=threads"
    if os.path.isdir(_start_folder):
        os.environ[_start_variable] = _start_folder
    rank_main = _rank_main(function, outcome, has_own_process=not is_simulated)
    try:
        return int(core.run(rank_main, f"processes:{core.usable_cores()}", thread_level))
    finally:
        _forget()
        os.environ.pop(_start_variable, None)
        if machine:
            os.environ["SELION_MACHINE"] = machine
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)


@overload
def run(
    function: Callable[..., Any],
    *args: Any,
    machine: None = ...,
    thread_level: Level = ...,
    time_limit: None = ...,
    environment: None = ...,
) -> None: ...
@overload
def run(
    function: Callable[..., _Result],
    *args: Any,
    machine: str,
    thread_level: Level = ...,
    time_limit: float | None = ...,
    environment: Mapping[str, str] | None = ...,
) -> list[_Result]: ...
def run(
    function: Callable[..., Any],
    *args: Any,
    machine: str | None = None,
    thread_level: Level = "single",
    time_limit: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[Any] | None:
    """Runs `function(world, *args)` once on every rank, and returns when all have returned.

    With `machine`, from anywhere - a script, a notebook, the interpreter's prompt -, the function
    and its arguments travel by value to fresh interpreters, one for each rank, and the call returns
    what the function has returned, in the order of the ranks. So functions and classes of the main
    program need no module; what they import is imported there. Each rank has its own copy of all of
    it; one that calls sys.exit() gives None. What ranks print goes to this program's output as it
    comes; they read no input.

        def total(world, x):
            return world.all_reduce(x * world.rank)

        totals = selion.run(total, 3, machine="processes:4")

    Without `machine` the environment variable SELION_MACHINE names it, by default one process per
    usable core, and ranks are started by running this program again: each runs up to this call,
    calls the function, and ends. Code after the call happens once, in the process that was started
    by hand; on `fabric`, in all processes. What the function returns is ignored. A rank that raises
    prints its traceback and ends the job, as does one that calls sys.exit with a status not 0. This
    call then raises SystemExit with the job's status, 2 for variables that are not legal.

    Ranks of a simulated machine (`sim:NAME`) are threads of one process, of which one runs at a
    time: they share what they import and, in the form without `machine`, global variables. Time is
    the machine's; what Python computes takes none of it unless `World.charge` says how much.

    Without `machine` a simulated job that fails ends this process, with its status, where it fails:
    there is no SystemExit, and nothing after the call runs.

    @param machine "processes:N" or "sim:NAME"; see `selion machines`.
    @param thread_level "single": only the rank's own thread calls selion; "serialized" or
        "multiple": threads that it starts may join with `world.joined_thread()`.
    @param time_limit seconds after which the job is ended; with `machine` only.
    @param environment variables to set for the ranks, SELION_* among them but for SELION_MACHINE;
        with `machine` only.
    @error Failure if the compiled module is not there, Mistake if the machine or the way in which
        the program was started does not suit; the sentence names the cure. With `machine` also:
        TypeError for what cannot be pickled, RankFailed with rank and traceback where a rank has
        raised, exited or died, TimeoutError when the time is over.
    """
    native.load()
    _check_function(function)
    if machine is not None:
        _check_level(thread_level)
        _check_argument(machine)
        from selion import by_value

        variables = dict(environment or {})
        _check_options(time_limit, variables)
        options = by_value.Options(machine, thread_level, time_limit, variables)
        return by_value.run(function, args, options)
    if time_limit is not None or environment:
        raise Mistake("time_limit and environment need machine=, for example 'processes:4'.")
    _check_script()
    chosen = _machine_of_environment()

    def call(world: World) -> Any:
        return function(world, *args)

    status = run_ranks(call if args else function, chosen, thread_level, Printing())
    if status != 0:
        raise SystemExit(status)
    return None
