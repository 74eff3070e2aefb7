# SPDX-License-Identifier: Apache-2.0
"""Runs of one program, one after another: time limit, signals, and what it prints."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selion import job
from selion.kept_output import KeptOutput

_time_is_over = 124
_most_seconds = 1e8  # three years, which the system's clocks can count
_ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """@param number of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(frozen=True)
class Run:
    """How one ended: its exit status as a shell reports it, 124 where its time was over."""

    status: int
    is_late: bool
    output: bytes
    """What it printed; of very long output the beginning and the end."""


class RepeatedRuns:
    """One program, again and again; it reads no input. Signals are taken only while a run is
    waited for."""

    def __init__(self, time_limit: float) -> None:
        """@param time_limit seconds of the host for one run."""
        self._seconds = min(time_limit, _most_seconds)
        # Whoever started us may ignore its children.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._heard = {each for each in _ending if signal.getsignal(each) is not signal.SIG_IGN}
        self._awaited = self._heard | {signal.SIGCHLD}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._awaited)

    def run(self, line: Sequence[str], changes: Mapping[str, str]) -> Run:
        """All processes have ended when it returns.

        @param line the program with its arguments. @param changes of the environment.
        @error Interrupted; Mistake if it cannot be started.
        """
        for number in signal.sigpending().intersection(self._heard):  # while none was waited for
            raise Interrupted(number)
        with KeptOutput() as output:
            child = job.start(
                line, job.environment(changes), in_child=self._in_child,
                stdin=subprocess.DEVNULL, stdout=output.writer, stderr=subprocess.STDOUT)
            try:
                output.begin()
                has_ended = self._wait(child.pid)
            finally:
                # The group's number cannot be given to others before its leader is reaped.
                job.kill_group(child.pid)
                status = job.exit_status(child.wait())
            return Run(status if has_ended else _time_is_over, not has_ended, output.end())

    def _in_child(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _wait(self, child: int) -> bool:
        """Whether it has ended, and not its time."""
        end = time.monotonic() + self._seconds
        while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            event = signal.sigtimedwait(self._awaited, max(0.0, end - time.monotonic()))
            if event is None:
                return False
            if event.si_signo != signal.SIGCHLD:
                raise Interrupted(event.si_signo)
        return True
