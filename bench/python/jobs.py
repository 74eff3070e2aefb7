# SPDX-License-Identifier: Apache-2.0
"""Jobs of two ranks each that wait for orders: only one of them works at a time."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from children import end_groups, start

ranks = 2
_script = str(Path(__file__).resolve().parent / "contestants.py")
_as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_start_s = 60
_look_s = 0.2  # whether a contestant has ended instead
_answer_s = 60  # of an order that takes about 10 ms


class Contestant:
    """A job, by way of its ranks."""

    def __init__(self, name: str, given: list[TextIO]) -> None:
        self.name = name
        self._given = given

    def measure(self, operation: str, bytes_: int, count: int) -> float:
        """Nanoseconds of an operation, on the rank that it takes longest on. Ends with a sentence
        if a rank does not answer."""
        try:
            for rank in self._given:
                print(operation, bytes_, count, file=rank, flush=True)
            answers = [rank.readline() for rank in self._given]
        except TimeoutError:
            sys.exit(f"{self.name} has not answered for {_answer_s} s: {operation}, {bytes_} bytes,"
                     f" {count} times")
        except OSError:
            answers = [""]
        if not all(answers):
            sys.exit(f"{self.name} has ended early: {operation}, {bytes_} bytes, {count} times")
        return max(map(float, answers))


def mpi_starter(python: str) -> list[str] | None:
    """The starter of the MPI that an interpreter's mpi4py finds, so that it binds its ranks to
    processors, as Selion does; None where there is none."""
    probe = "from mpi4py import MPI; print(MPI.Get_library_version())"
    try:
        told = subprocess.run([python, "-c", probe], capture_output=True, text=True)
    except OSError:
        return None
    if told.returncode != 0:
        return None
    beside = Path(python).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        return None
    binding = ["-bind-to", "core"] if "MPICH" in told.stdout else []  # Open MPI binds two unasked
    return [found, "-n", str(ranks), *binding]


def commands(bin_folder: Path, mpi_python: str) -> dict[str, list[str]]:
    """How each contestant that is there is started, without the address."""
    found = {"selion": [sys.executable, _script, "selion"]}
    if (bin_folder / "bench_python").exists():
        found["C++"] = [str(bin_folder / "bench_python")]
    starter = mpi_starter(mpi_python)
    if starter is not None:
        found["mpi4py"] = [*starter, mpi_python, _script, "mpi4py"]
    return found


def _accepted(listener: socket.socket, name: str, child: subprocess.Popen) -> socket.socket:
    """A rank of a contestant. Ends with a sentence if none comes."""
    end = time.monotonic() + _start_s
    is_over = False
    while not is_over:
        # Its ranks may have come before it ended.
        is_over = child.poll() is not None or time.monotonic() > end
        with contextlib.suppress(TimeoutError):
            return listener.accept()[0]
    sys.exit(f"{name} could not be started; by hand: {shlex.join(child.args)}")


def _joined(listener: socket.socket, name: str, child: subprocess.Popen,
            stack: contextlib.ExitStack) -> Contestant:
    """A contestant all of whose ranks wait for orders, until the stack is closed."""
    given: dict[int, TextIO] = {}
    for _ in range(ranks):
        connection = _accepted(listener, name, child)
        stack.callback(connection.close)
        connection.settimeout(_answer_s)
        stream = connection.makefile("rw")
        stack.callback(_closed, stream, connection)
        who, _, rank = stream.readline().partition(" ")
        if who != name:
            sys.exit(f"{name} has ended early, or '{who}' has come instead; by hand: "
                     f"{shlex.join(child.args)}")
        given[int(rank)] = stream
    if sorted(given) != list(range(ranks)):
        sys.exit(f"{name} came as {ranks} jobs of one rank: its starter is of another MPI; "
                 f"by hand: {shlex.join(child.args)}")
    return Contestant(name, [given[rank] for rank in range(ranks)])


def _closed(stream: TextIO, connection: socket.socket) -> None:
    """Tells a rank that there are no more orders, also one that has gone."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        stream.close()


@contextlib.contextmanager
def started(lines: dict[str, list[str]]) -> Iterator[list[Contestant]]:
    """All of them, waiting for orders; they end with the block, whichever way it is left."""
    address = f"selion-bench-{os.getpid()}"
    environment = {**os.environ, **_as_root, "SELION_MACHINE": f"processes:{ranks}"}
    children: list[subprocess.Popen] = []
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind("\0" + address)
        listener.listen()
        listener.settimeout(_look_s)
        found = []
        try:
            for name, line in lines.items():
                child = start([*line, address], env=environment, stdin=subprocess.DEVNULL)
                children.append(child)
                stack.callback(child.wait)
                found.append(_joined(listener, name, child, stack))
            yield found
        except BaseException:
            end_groups(*children)  # before they miss their connections
            raise
