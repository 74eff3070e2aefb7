# SPDX-License-Identifier: Apache-2.0
"""Runs a function on ranks that are fresh interpreters: `selion.run(f, machine="processes:4")`.

    caller                      memory file: pickled function and arguments
      |  socket, pipes
    python: selion.rank         supervises (processes), or holds all ranks (simulated machines)
      |
    python: selion.rank         a rank each; it sends how it has ended, with a memory file

Nothing of it has a name in a file system, and the job ends with the caller.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import re
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from selion import answers, job, output, record_names, sending
from selion.mistake import Mistake
from selion.output import Forwarded
from selion.rank_failed import RankFailed

_grace_seconds = 3.0
_most_s = 1e9  # decades: a clock has room for them
_of_a_rank = re.compile(r"selion: (rank (\d+) of \d+(?:\b.*; the job ends|: .*))$")
_of_an_end = "selion: interrupted by "
_of_the_machine = re.compile(r'selion: (machine ".*)$')
# A reason why the library may end a job; the second of these only says that it does.
_reason = re.compile(r"selion: (?!warning: |SELION_HANG_ACTION=abort)(.*)$")
_usage_status = 2  # of a job that the library has not begun


@dataclass(frozen=True)
class Options:
    machine: str
    thread_level: str
    time_limit: float | None
    environment: dict[str, str]


@dataclass
class _Job:
    """A job that runs, and what has come of it."""

    child: subprocess.Popen[bytes]
    socket: socket.socket
    streams: list[Forwarded] = field(default_factory=list)
    reason: str = ""
    """The last sentence of the library that may be why the job ends."""
    answers: dict[int, answers.Answer] = field(default_factory=dict)

    def watch(self, deadline: float) -> bool:
        """Until it has ended. Returns whether it has, before the deadline."""
        with contextlib.ExitStack() as stack:
            ends = stack.enter_context(_descriptor(os.pidfd_open(self.child.pid)))
            chosen = stack.enter_context(selectors.DefaultSelector())
            chosen.register(ends, selectors.EVENT_READ)
            chosen.register(self.socket, selectors.EVENT_READ, self._take)
            for stream in self.streams:
                chosen.register(stream, selectors.EVENT_READ, stream.forward)
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                is_over = False
                for key, _ in chosen.select(min(left, job.longest_wait_s)):
                    if key.data is None:
                        is_over = True
                    elif not key.data():
                        chosen.unregister(key.fileobj)
                if is_over:
                    return True

    def drain(self) -> None:
        """Takes what was sent before the end; others may hold the other ends still."""
        sources = [(self.socket.fileno(), self._take)]
        sources += [(stream.fileno(), stream.forward) for stream in self.streams]
        for source, take in sources:
            look = select.poll()  # any descriptor: select() knows those below 1024
            look.register(source, select.POLLIN)
            while look.poll(0) and take():
                pass

    def end(self) -> None:
        """Ends all of it, if it has not ended."""
        if self.child.returncode is not None:
            return
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(_grace_seconds)
        job.kill_group(self.child.pid)
        self.child.wait()

    def keeps(self, line: str) -> bool:
        """Sentences of the library that become the text of an exception, and are not printed.
        Others, which may have lines below them, are noted."""
        if line.startswith(_of_an_end) or _of_a_rank.match(line) or _of_the_machine.match(line):
            return True
        if found := _reason.match(line):
            self.reason = found[1]
        return False

    def _take(self) -> bool:
        answer = answers.receive(self.socket)
        if answer is not None:
            self.answers[answer.rank] = answer
        return answer is not None


@contextlib.contextmanager
def _descriptor(number: int) -> Iterator[int]:
    try:
        yield number
    finally:
        os.close(number)


@contextlib.contextmanager
def _started(payload: bytes, options: Options) -> Iterator[_Job]:
    # What lies in a variable of the notebook or the script is taken from there: it may be any file.
    goes_through = sys.stdout is not sys.__stdout__
    environment = job.environment({**options.environment, "SELION_MACHINE": options.machine})
    with contextlib.ExitStack() as stack:
        given = stack.enter_context(_descriptor(os.memfd_create("selion-call")))
        with os.fdopen(os.dup(given), "wb") as file:
            file.write(payload)
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.enter_context(here)
        with there:
            child = subprocess.Popen(
                [
                    *job.interpreter("selion.rank"),
                    str(given),
                    str(there.fileno()),
                    str(os.getpid()),
                    options.thread_level,
                ],
                env={**environment, **record_names.of_next_job(environment)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if goes_through else None,
                stderr=subprocess.PIPE,
                pass_fds=(given, there.fileno()),
                process_group=0,
            )
        running = _Job(child, here)
        running.streams.append(Forwarded(child.stderr, lambda: sys.stderr, running.keeps))
        if goes_through:
            running.streams.append(Forwarded(child.stdout, lambda: sys.stdout))
        try:
            yield running
        finally:
            running.end()
            running.drain()
            for stream in running.streams:
                stream.close()


def run(function: Callable[..., Any], args: tuple[Any, ...], options: Options) -> list[Any]:
    """What `selion.run` does with a machine."""
    limit = options.time_limit
    if limit is not None and not 0 < limit < math.inf:
        raise Mistake(f"The time limit is {limit} seconds; legal: finite, above 0.")
    payload = sending.pack(function, args)
    output.flush(sys.stdout)
    with _started(payload, options) as running:
        deadline = math.inf if limit is None else time.monotonic() + min(limit, _most_s)
        if not running.watch(deadline):
            raise TimeoutError(
                f"The time limit of {float(min(limit or 0, _most_s)):g} s is over; the job was "
                "ended."
            )
        running.child.wait()
    status = job.exit_status(running.child.returncode)
    if status:
        raise _failure(running, status)
    running.streams[0].show_kept()
    return _results(running.answers, status)


def _failure(running: _Job, status: int) -> Exception:
    """Why a job has failed: what a rank has told, else what the library has."""
    kept = running.streams[0].kept
    troubles = [each for each in running.answers.values() if each.is_trouble]
    if troubles:
        return _as_exception(troubles[0], status)
    for line in kept:
        found = _of_a_rank.match(line)
        if found:
            return RankFailed(f"R{found[1][1:]}.", int(found[2]), status=status)
    for line in kept:
        found = _of_the_machine.match(line)
        if found:
            return Mistake(found[1])
    if status == _usage_status and running.reason:
        return Mistake(f"{running.reason.removesuffix('.')}.")
    why = f": {running.reason.removesuffix('.')}" if running.reason else ""
    return RankFailed(f"The job ended with exit status {status}{why}.", status=status)


def _as_exception(trouble: answers.Answer, status: int) -> Exception:
    told = answers.Trouble(*pickle.loads(trouble.payload))
    failed = RankFailed(told.sentence, trouble.rank, told.traceback, status)
    if told.exception is not None:
        with contextlib.suppress(Exception):  # its class may be such that it cannot be made again
            failed.__cause__ = pickle.loads(told.exception)
    return failed


def _results(told: dict[int, answers.Answer], status: int) -> list[Any]:
    ranks = max((each.ranks for each in told.values()), default=0)
    if ranks == 0 or len(told) < ranks:  # os._exit, say, of the process that holds them all
        missing = next((rank for rank in range(ranks) if rank not in told), None)
        which = "any rank" if missing is None else f"rank {missing} of {ranks}"
        raise RankFailed(
            f"The job ended with exit status {status} before {which} had returned.", missing,
            status=status,
        )
    values: list[Any] = [None] * ranks
    for rank, answer in sorted(told.items()):
        try:
            values[rank] = pickle.loads(answer.payload)
        except Exception as problem:
            raise RankFailed(
                f"What rank {rank} of {ranks} has returned cannot be unpickled here: "
                f"{type(problem).__name__}: {problem}",
                rank,
            ) from problem
    return values
