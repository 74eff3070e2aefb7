# SPDX-License-Identifier: Apache-2.0
"""The programs that a benchmark starts, each in a session of its own: what a terminal sends reaches
the benchmark alone, which then ends them. None of them outlives it."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

_libc = ctypes.CDLL(None, use_errno=True)
_set_death_signal = 1  # PR_SET_PDEATHSIG
_enders = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_grace_seconds = 1.5  # `selion bench` gives a benchmark three to end


def start(command: Sequence[str], **more) -> subprocess.Popen:
    """Starts a program that is told to end when this process dies, however that happens. A launcher
    then ends its ranks.

    @param more what Popen takes.
    @pre called by the main thread: the signal is bound to the thread that starts the program."""
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _enders)
    except BaseException:  # one has come just before, and they are blocked
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _libc.prctl(_set_death_signal, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died before the signal was set
            os._exit(128 + signal.SIGTERM)

    try:
        child = subprocess.Popen(command, preexec_fn=prepare, start_new_session=True, **more)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    try:
        # Who has been told to end since then hears of it here, and knows what it has started.
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    except BaseException:
        end_groups(child)
        raise
    return child


@contextlib.contextmanager
def busy_programs(count: int) -> Iterator[None]:
    """So many programs compute beside what is measured, on the processors that we may use."""
    running: list[subprocess.Popen] = []
    try:
        for _ in range(count):
            running.append(start([sys.executable, "-c", "while True: pass"]))
        yield
    finally:
        end_groups(*running)


def end_groups(*children: subprocess.Popen) -> None:
    """Ends launchers, which then end their ranks, and whoever of their groups is left: all that,
    also if this is interrupted itself."""
    try:
        for child in children:
            child.terminate()
        end = time.monotonic() + _grace_seconds
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0, end - time.monotonic()))
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        for child in children:
            child.wait()
