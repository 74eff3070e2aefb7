# SPDX-License-Identifier: Apache-2.0
"""Starts a program as a job of its own: one process group that ends with it, and with us."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from selion.mistake import Mistake

_libc = ctypes.CDLL(None, use_errno=True)
_set_death_signal = 1  # PR_SET_PDEATHSIG

# Variables that only this package reads; the runtime would warn about them.
_package_variables = ("SELION_BIN", "SELION_HOSTS", "SELION_STUDIES")
_of_a_rank = "SELION_JOB_"
_ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

longest_wait_s = 1.0
"""Of a wait in the kernel that a signal's handler is to end: the interpreter does not call it for
a signal that comes just before the wait, until that is over."""


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a program: ours without what only this package reads, and without what
    makes this process a rank, with `changes`."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key not in _package_variables and not key.startswith(_of_a_rank)
    }
    return {**inherited, **(changes or {})}


def import_path() -> str:
    """Where modules are looked for, as JSON, for another interpreter. As here, only texts count."""
    return json.dumps([entry for entry in sys.path if isinstance(entry, str)])


def interpreter(module: str, *, first: str = "pass") -> list[str]:
    """The command of a Python process that runs a module's `main`, with modules found as here. The
    folder that it is started in is none to import from: its files would stand in for the standard
    library's.

    :param first: a statement before all imports but that of `sys`
    """
    text = (
        f"import sys; sys.path[:] = filter(None, sys.path); {first}; "
        f"import json; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main()"
    )
    return [sys.executable, "-c", text, import_path()]


def find_program(name: str) -> str:
    """The path of a program, looked up as a shell would.

    @error Mistake if there is none, or if it cannot be executed.
    """
    if "/" not in name:
        found = shutil.which(name)
        if found:
            return found
        here = os.path.join(".", name)
        hint = f" (./{name} exists: did you mean that?)" if os.path.isfile(here) else ""
        raise Mistake(f"There is no program '{name}' on the PATH{hint}.")
    if os.path.isdir(name):
        raise Mistake(f"'{name}' is a directory, not a program.")
    if not os.path.exists(name):
        raise Mistake(f"The program '{name}' does not exist.")
    if not os.access(name, os.X_OK):
        cure = f"python {name}" if name.endswith(".py") else f"chmod +x {name}"
        raise Mistake(f"The program '{name}' is not executable; cure: {cure}")
    return name


def name_of(line: Sequence[str]) -> str:
    """Of the program that a command runs: not of this interpreter, which runs a file."""
    return line[1] if line[0] == sys.executable and len(line) > 1 else line[0]


def start(
    command: Sequence[str],
    env: Mapping[str, str],
    *,
    in_child: Callable[[], None] | None = None,
    **streams: Any,
) -> subprocess.Popen[bytes]:
    """Starts `command` in a new process group that is killed when this process dies.

    @param in_child runs between fork and exec, after the group exists.
    @pre called by the main thread: the death signal is bound to the thread that starts the job.
    @error Mistake if the file cannot be executed.
    """
    parent = os.getpid()
    # A signal to our group finds the child in it still: it is to die of that, and not to run what
    # we have set up.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ending)

    def prepare() -> None:
        for each in _ending:
            if callable(signal.getsignal(each)):
                signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.setpgid(0, 0)
        _libc.prctl(_set_death_signal, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # the parent died before the death signal was set
            os._exit(128 + signal.SIGKILL)
        if in_child:
            in_child()

    try:
        return subprocess.Popen(command, env=env, preexec_fn=prepare, **streams)
    except OSError as problem:
        if problem.errno == errno.ENOEXEC:
            raise Mistake(
                f"'{command[0]}' is neither a binary of this machine nor a script with a '#!' line."
            ) from None
        raise Mistake(f"'{command[0]}' cannot be started: {problem.strerror}.") from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def kill_group(group: int, number: int = signal.SIGKILL) -> None:
    """Sends a signal to every process of a job; a job that is gone already is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def communicate(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """As Popen's. A signal that comes at any time is heard."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.communicate(timeout=longest_wait_s)


def wait(child: subprocess.Popen[bytes]) -> int:
    """As Popen's. A signal that comes at any time is heard."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(longest_wait_s)


def exit_status(code: int) -> int:
    """What a shell would report for subprocess' return code."""
    return code if code >= 0 else 128 - code
