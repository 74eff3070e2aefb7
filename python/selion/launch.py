# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a Python program."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from selion import native, spec

if TYPE_CHECKING:
    from selion._core import World

_cure = "set SELION_MACHINE=processes:N, or leave it unset for one process per core"


def _check_machine(machine: str) -> None:
    wanted = spec.parse(machine)
    if wanted.kind == "threads":
        raise NotImplementedError(
            f"Ranks in Python are processes, because threads of one interpreter wait for each other; "
            f"the machine is '{machine}': {_cure}."
        )
    if "x" in wanted.shape and wanted.ranks is not None and not wanted.shape.endswith("x1"):
        raise NotImplementedError(
            f"Ranks in Python have a process each, but '{machine}' puts several into one: {_cure}."
        )


def _check_script() -> None:
    """Ranks are started by running the same command again, which must lead to the same call."""
    if hasattr(sys, "ps1") or "ipykernel" in sys.modules or sys.argv[:1] == ["-"]:
        raise RuntimeError(
            "selion.run starts the ranks by running this program again, which an interactive session "
            "or a script on standard input does not allow: write a file and run that."
        )


def _exit_status(code: object) -> int:
    """What the interpreter makes of the argument of sys.exit."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _call(function: Callable[[World], Any], world: World) -> tuple[int, str]:
    """Calls the user's function; its exit status and, if it raised, what."""
    try:
        returned = function(world)
    except SystemExit as end:
        return _exit_status(end.code), ""
    except BaseException as raised:
        mark = f"[rank {world.rank}] "
        lines = traceback.format_exc().rstrip().split("\n")
        sys.stderr.write("".join(f"{mark}{line}\n" for line in lines))
        return 1, "".join(traceback.format_exception_only(raised)).strip()
    is_status = isinstance(returned, int) and not isinstance(returned, bool)
    return (returned if is_status else 0), ""


def _rank_main(function: Callable[[World], Any]) -> Callable[[World], tuple[int, str]]:
    """The life of a rank. Its process ends by the runtime's hand, so that what the interpreter
    does at its end is done here."""

    def rank_main(world: World) -> tuple[int, str]:
        if os.environ.get("SELION_PREFIX") and sys.stdout is not None:
            sys.stdout.reconfigure(line_buffering=True)  # lines get their prefix as they come
        status, failure = _call(function, world)
        if not failure:
            for thread in threading.enumerate():
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        return status, failure

    return rank_main


def run(function: Callable[[World], Any], *, thread_level: str = "single") -> None:
    """Runs `function(world)` once on every rank, and returns when all have returned.

    The environment variable SELION_MACHINE says on which machine; without it each usable core gets
    a rank. Ranks are processes: each runs the program anew, up to this call, calls the function,
    and ends. Code after the call happens once, in the process that was started by hand.

    A rank that raises prints its traceback and ends the job. If the job fails, or a rank returns or
    exits with a status that is not 0, this call raises SystemExit with the job's status.

    What a function returns is its exit status if it is an int, and ignored if it is anything else.

    @param thread_level "single": only the rank's own thread calls selion; "serialized" or
        "multiple": threads that it starts may join with `world.joined_thread()`.
    @error Failure if the compiled module is not there; the sentence names the cure.
    """
    core = native.load()
    machine = os.environ.get("SELION_MACHINE", "")
    _check_machine(machine)
    _check_script()
    # The library waits outside of Python, where Python's own handler for Ctrl-C never runs.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        status = core.run(_rank_main(function), f"processes:{core.usable_cores()}", thread_level)
    finally:
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)
    if status != 0:
        raise SystemExit(status)
