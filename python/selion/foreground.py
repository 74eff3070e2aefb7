# SPDX-License-Identifier: Apache-2.0
"""Runs one job in the foreground: signals, terminal, time limit, exit status.

The job has its own process group, so that all of it can be ended at once. A terminal sends Ctrl-C
and Ctrl-Z to its foreground group and stops readers of any other, so the terminal is lent to the
job, as a shell does, and taken back when the job stops or ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selion import job

_forwarded = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)
_of_terminal = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # a terminal sends them to the group
_ending = (*_of_terminal, signal.SIGTERM)
_grace_seconds = 3.0


@dataclass(frozen=True)
class Outcome:
    """How a job ended: its exit status as a shell reports it, and whether its time was over."""

    status: int
    timed_out: bool


def _own_terminal() -> int | None:
    """The terminal's descriptor if this process group owns it now."""
    try:
        terminal = sys.stdin.fileno()
        if os.isatty(terminal) and os.tcgetpgrp(terminal) == os.getpgrp():
            return terminal
    except (OSError, ValueError, AttributeError):
        pass
    return None


class _ForegroundJob:
    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], stdout: int | None = None
    ) -> None:
        self._terminal = _own_terminal()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whoever started us may ignore its children
        self._mask = signal.pthread_sigmask(
            signal.SIG_BLOCK, (*_forwarded, signal.SIGCHLD, signal.SIGTTOU)
        )
        try:
            self._child: subprocess.Popen[bytes] = job.start(
                command, env, in_child=self._in_child, stdout=stdout
            )
        except BaseException:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            raise
        self._limit_at: float | None = None
        self._kill_at: float | None = None
        self._timed_out = False

    def _in_child(self) -> None:
        if self._terminal is not None:
            os.tcsetpgrp(self._terminal, os.getpid())
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def wait(self, time_limit: float | None) -> Outcome:
        if time_limit is not None:
            self._limit_at = time.monotonic() + time_limit
        try:
            while (state := self._next_state()) != "ended":
                if state == "late":
                    self._at_deadline()
                elif state == "stopped":
                    self._stop_with_job()
            return Outcome(self._reap(), self._timed_out)
        finally:
            self._take_terminal()
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _next_state(self) -> str:
        """Waits for one event and forwards it if it is a signal for the job."""
        child = self._child.pid
        change = os.waitid(os.P_PID, child, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        if change is not None:
            if change.si_code not in (os.CLD_STOPPED, os.CLD_TRAPPED):
                return "ended"
            os.waitid(os.P_PID, child, os.WSTOPPED | os.WNOHANG)
            return "stopped"
        awaited = (*_forwarded, signal.SIGCHLD)
        deadlines = [at for at in (self._limit_at, self._kill_at) if at is not None]
        if deadlines:
            event = signal.sigtimedwait(awaited, max(0.0, min(deadlines) - time.monotonic()))
        else:
            event = signal.sigwaitinfo(awaited)
        if event is None:
            return "late"
        if event.si_signo in _forwarded:
            self._forward(event.si_signo)
        return "event"

    def _forward(self, number: int) -> None:
        if number in _of_terminal:
            job.kill_group(self._child.pid, number)
        else:  # the program itself ends its ranks, or has them explain what they wait for
            os.kill(self._child.pid, number)
        if number in _ending and self._kill_at is None:
            self._kill_at = time.monotonic() + _grace_seconds

    def _at_deadline(self) -> None:
        """A job whose time is over is asked to end; one that had its grace is killed."""
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            job.kill_group(self._child.pid, signal.SIGKILL)
            self._kill_at = self._limit_at = None
        elif self._limit_at is not None and now >= self._limit_at:
            self._timed_out = True
            self._limit_at = None
            os.kill(self._child.pid, signal.SIGTERM)
            job.kill_group(self._child.pid, signal.SIGCONT)
            self._kill_at = now + _grace_seconds

    def _stop_with_job(self) -> None:
        """Ctrl-Z: stops this process too, so that the shell gets the terminal, until `fg`."""
        if self._terminal is None:
            return
        self._take_terminal()
        os.kill(os.getpid(), signal.SIGSTOP)
        if os.tcgetpgrp(self._terminal) == os.getpgrp():
            os.tcsetpgrp(self._terminal, self._child.pid)
        job.kill_group(self._child.pid, signal.SIGCONT)

    def _take_terminal(self) -> None:
        if self._terminal is not None:
            with contextlib.suppress(OSError):  # it is gone, which is how such a job often ends
                os.tcsetpgrp(self._terminal, os.getpgrp())

    def _reap(self) -> int:
        # The group's number cannot be given to others before its leader is reaped.
        job.kill_group(self._child.pid, signal.SIGKILL)
        return job.exit_status(self._child.wait())


def run(
    command: Sequence[str],
    env: Mapping[str, str],
    time_limit: float | None = None,
    stdout: int | None = None,
) -> Outcome:
    """Runs a job to its end, with this process' standard streams.

    @param time_limit seconds after which the whole job is ended; None for no limit.
    @param stdout another file descriptor for its standard output.
    @error Mistake if the program cannot be started.
    """
    return _ForegroundJob(command, env, stdout).wait(time_limit)
