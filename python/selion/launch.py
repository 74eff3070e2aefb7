# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a Python program."""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from selion import native, spec
from selion.mistake import Mistake

if TYPE_CHECKING:
    from selion._core import World

_cure = "set SELION_MACHINE=processes:N, or leave it unset for one process per core"


def _check_machine(machine: str) -> None:
    wanted = spec.parse(machine)
    if wanted.kind == "sim" and "context=fibers" in wanted.options:
        raise Mistake(
            "Ranks in Python need threads for their stacks, but the machine is "
            f"'{machine}': leave 'context=fibers' out."
        )
    if wanted.kind == "threads":
        raise Mistake(
            "Ranks in Python are processes, because threads of one interpreter wait for each "
            f"other; the machine is '{machine}': {_cure}."
        )
    if "x" in wanted.shape and wanted.ranks is not None and not wanted.shape.endswith("x1"):
        raise Mistake(
            f"Ranks in Python have a process each, but '{machine}' puts several into one: {_cure}."
        )


def _check_script() -> None:
    """Ranks are started by running the same command again, which must lead to the same call."""
    if hasattr(sys, "ps1") or "ipykernel" in sys.modules or sys.argv[:1] == ["-"]:
        raise Mistake(
            "selion.run starts the ranks by running this program again, which an interactive "
            "session or a script on standard input does not allow: write a file and run that."
        )


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _finish() -> None:
    """What the interpreter does at its end: the process of a rank ends by the runtime's hand."""
    # A rank is the main thread of its process, or one of the threads that the main one waits for.
    ranks = (threading.current_thread(), threading.main_thread())
    for thread in threading.enumerate():
        if thread not in ranks and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    _flush()


def _end_early(code: object) -> None:
    """A rank that exits with a status ends the job: others may be waiting for it."""
    if code is None or code == 0:
        return
    status = code if isinstance(code, int) else 1
    if not isinstance(code, int):
        print(code, file=sys.stderr)
    _finish()
    os._exit(status & 0xFF or 1)


def _report(raised: BaseException, rank: int) -> str:
    """Prints a traceback, each line after the rank's number; its last line is the answer."""
    raised.__traceback__ = raised.__traceback__ and raised.__traceback__.tb_next  # not this module
    lines = "".join(traceback.format_exception(raised)).rstrip().split("\n")
    sys.stderr.write("".join(f"[rank {rank}] {line}\n" for line in lines))
    return traceback.format_exception_only(raised)[-1].strip().split("\n")[0]


def _rank_main(
    function: Callable[[World], Any], *, has_own_process: bool
) -> Callable[[World], str]:
    """The life of a rank: what is called answers with how it failed, or with nothing."""

    def rank_main(world: World) -> str:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # so that the lines of ranks do not mix
                stream.reconfigure(line_buffering=True, write_through=False)
        try:
            function(world)
        except SystemExit as end:
            _end_early(end.code)
        except BaseException as raised:
            failure = _report(raised, world.rank)
            _flush()
            return failure
        if has_own_process:
            _finish()
        return ""

    return rank_main


def run(function: Callable[[World], Any], *, thread_level: str = "single") -> None:
    """Runs `function(world)` once on every rank, and returns when all have returned.

    The environment variable SELION_MACHINE says on which machine; without it each usable core gets
    a rank. Ranks are processes: each runs the program anew, up to this call, calls the function,
    and ends. Code after the call happens once, in the process that was started by hand.

    Ranks of a simulated machine (`SELION_MACHINE=sim:NAME`) are threads of this process, of which
    one runs at a time: they share what the program has imported and its global variables. Time is
    the machine's; what Python computes takes none of it unless `World.charge` says how much.

    A rank that raises prints its traceback and ends the job, as does one that calls sys.exit with a
    status that is not 0. This call then raises SystemExit with the job's status. What the function
    returns is ignored.

    @param thread_level "single": only the rank's own thread calls selion; "serialized" or
        "multiple": threads that it starts may join with `world.joined_thread()`.
    @error Failure if the compiled module is not there, Mistake if the machine or the way in which
        the program was started does not suit; the sentence names the cure.
    """
    core = native.load()
    machine = os.environ.get("SELION_MACHINE", "")
    _check_machine(machine)
    _check_script()
    # The library waits outside of Python, where Python's own handler for Ctrl-C never runs.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _flush()
    is_simulated = spec.parse(machine).kind == "sim"
    if is_simulated and "context=" not in machine:
        os.environ["SELION_MACHINE"] = f"{machine},context=threads"
    rank_main = _rank_main(function, has_own_process=not is_simulated)
    try:
        status = core.run(rank_main, f"processes:{core.usable_cores()}", thread_level)
    finally:
        if machine:
            os.environ["SELION_MACHINE"] = machine
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)
    if status != 0:
        raise SystemExit(status)
