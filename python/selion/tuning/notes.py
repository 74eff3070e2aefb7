# SPDX-License-Identifier: Apache-2.0
"""What a search has measured until now, so that another can go on with it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from selion.mistake import Failure, Mistake
from selion.tuning.cells import Cell

_most_ns = 1e18  # thirty years


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """@error Failure where the file cannot be written."""
    try:
        yield
    except OSError as problem:
        raise Failure(f"'{path}' cannot be written: {problem.strerror}.") from None


def _open_alone(path: Path) -> IO[bytes] | None:
    """The file, made if need be and locked; None if another process has it."""
    while True:
        file = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        except BlockingIOError:
            file.close()
            return None
        except FileNotFoundError:
            pass  # who had it before has removed it meanwhile
        except OSError:
            file.close()
            raise
        file.close()


def _is_time(ns: object) -> bool:
    return isinstance(ns, (int, float)) and 0 < ns < _most_ns


def _are_jobs(jobs: object, finalists: object, ways: set[str]) -> bool:
    """Whether all ways took part in the first one, and the finalists in each."""
    if not isinstance(jobs, list) or not isinstance(finalists, list):
        return False
    if not jobs:
        return set(finalists) <= ways
    return bool(finalists) and set(jobs[0]) == ways and all(
        set(finalists) <= set(job) <= ways and all(map(_is_time, job.values())) for job in jobs)


def _is_of(cell: Cell, measured: Any) -> bool:
    """Whether it is what the measuring program may have said of a cell."""
    rows = measured["rows"]
    ways = {row["way"] for row in rows}
    return (
        (measured["collective"], measured["bytes"]) == (cell.collective, cell.size)
        and isinstance(measured["machine"], str)
        and isinstance(measured["members"], int)
        and bool(rows)
        and all(isinstance(row["way"], str) and isinstance(row["is_out"], bool)
                and _is_time(row["ns"]) for row in rows)
        and _are_jobs(measured.get("jobs", []), measured.get("finalists", []), ways)
    )


def _read_line(line: bytes) -> tuple[Cell, dict[str, Any]] | None:
    """None for what is no note."""
    try:
        noted = json.loads(line)
        machine, collective, size = noted["cell"]
        is_cell = isinstance(machine, str) and isinstance(collective, str) and type(size) is int
        cell = Cell(machine, collective, size)
        return (cell, noted["measured"]) if is_cell and _is_of(cell, noted["measured"]) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _line(cell: Cell, measured: dict[str, Any]) -> bytes:
    noted = {"cell": [cell.machine, cell.collective, cell.size], "measured": measured}
    return json.dumps(noted).encode() + b"\n"


class Notes:
    """Cells that are done, a line each, in a file beside the table.

    The file also keeps what other searches have left there. As long as it is open it is locked, so
    that one search at a time is under way for a table; when it has no cells, closing removes it.
    """

    def __init__(self, path: Path, host: str) -> None:
        """Opens the file if there is one. @error as `begin`"""
        self.path = path
        self.done: dict[Cell, dict[str, Any]] = {}
        self._host = host
        self._networks: dict[str, str] = {}
        self._noted: dict[Cell, dict[str, Any]] = {}
        self._open_file = self._open() if path.exists() else None

    def _open(self) -> IO[bytes]:
        with _told(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = _open_alone(self.path)
        if file is None:
            raise Mistake(f"Another 'selion tune' is under way and has '{self.path}'; wait for its "
                          "end, or choose another --output.")
        return file

    @property
    def _file(self) -> IO[bytes]:
        if self._open_file is None:
            self._open_file = self._open()
        return self._open_file

    def __enter__(self) -> Notes:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open_file is None:
            return
        with contextlib.suppress(OSError):
            if os.fstat(self._open_file.fileno()).st_size == 0:  # while the lock is held
                self.path.unlink()
        with contextlib.suppress(OSError):  # which has been told where it was met first
            self._open_file.close()

    def begin(self, networks: Mapping[str, str], is_resumed: bool) -> None:
        """Opens the file, and reads what was noted on this host.

        @param networks what tables call the network of each machine that has one: what was noted
        of that machine on another network is dropped. @param is_resumed whether what was noted is
        done.
        @error Mistake if a search is under way, or if the file is not this host's notes: it is not
            to be lost. Failure if it cannot be written.
        """
        text = self._file.read()
        if text:
            head, *lines = text.split(b"\n")
            self._read(head, lines, networks)
        self._networks.update(networks)
        if is_resumed:
            self.done = dict(self._noted)
        self._write_all()

    def _read(self, head: bytes, lines: Iterable[bytes], networks: Mapping[str, str]) -> None:
        refusal = (f"'{self.path}' %s; it is left as it is, so move it away or choose another "
                   "--output.")
        try:
            told = json.loads(head)
            host = told["host"]
            self._networks = {str(key): str(name) for key, name in told["networks"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Mistake(refusal % "holds no notes of 'selion tune'") from None
        if host != self._host:
            raise Mistake(refusal % "holds notes of another host")
        for cell, measured in filter(None, map(_read_line, lines)):
            network = networks.get(cell.machine)
            if network in (None, self._networks.get(cell.machine)):
                self._noted[cell] = measured

    def _write_all(self) -> None:
        """Over what is there, so that little is lost where this is cut short."""
        head = json.dumps({"host": self._host, "networks": self._networks}).encode() + b"\n"
        lines = [head, *(_line(*each) for each in self._noted.items())]
        with _told(self.path):
            self._file.seek(0)
            if self._noted:
                self._file.write(b"".join(lines))
            self._file.truncate()
            self._file.flush()

    def add(self, cell: Cell, measured: dict[str, Any]) -> None:
        has_head = bool(self._noted)
        self.done[cell] = self._noted[cell] = measured
        if not has_head:
            self._write_all()
            return
        with _told(self.path):
            self._file.write(_line(cell, measured))
            self._file.flush()

    def drop(self, cells: Iterable[Cell]) -> None:
        """Those that need not be gone on with."""
        for cell in cells:
            self._noted.pop(cell, None)
        self._write_all()
