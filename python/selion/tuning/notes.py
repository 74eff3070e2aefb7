# SPDX-License-Identifier: Apache-2.0
"""What a search has measured until now, so that another can go on with it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from selion.mistake import Failure, Mistake
from selion.tuning.cells import Cell
from selion.tuning.circumstances import Circumstances, differences

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


def _read_line(line: bytes) -> tuple[Cell, dict[str, Any], int] | None:
    """With the number of the search; None for what is no note."""
    try:
        noted = json.loads(line)
        machine, collective, size = noted["cell"]
        is_cell = isinstance(machine, str) and isinstance(collective, str) and type(size) is int
        cell = Cell(machine, collective, size)
        if not is_cell or not _is_of(cell, noted["measured"]):
            return None
        search = noted.get("search")
        return cell, noted["measured"], search if type(search) is int else -1
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


@dataclass(frozen=True)
class Asked:
    """What a search is about to measure.

    @param networks what tables call the network of each machine that has one."""

    cells: Sequence[Cell]
    networks: Mapping[str, str]
    circumstances: Circumstances


@dataclass(frozen=True)
class _Note:
    measured: dict[str, Any]
    circumstances: Circumstances


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
        self._searches: list[Circumstances] = []
        self._now: Circumstances = {}
        self._noted: dict[Cell, _Note] = {}
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

    def begin(self, asked: Asked, is_resumed: bool) -> None:
        """Opens the file, and reads what was noted on this host; what was noted of a machine on
        another network is dropped.

        @param is_resumed whether what was noted is done; else it is dropped, of the cells that are
        asked for.
        @error Mistake if a search is under way, if the file is not this host's notes, or if it has
            cells that are asked for of other circumstances: they are not to be lost. Failure if it
            cannot be written.
        """
        text = self._file.read()
        if text:
            head, *lines = text.split(b"\n")
            self._read(head, lines, asked.networks)
        self._networks.update(asked.networks)
        self._now = asked.circumstances
        if is_resumed:
            self._expect_no_others(asked)
            self.done = {cell: note.measured for cell, note in self._noted.items()
                         if not differences(note.circumstances, self._now)}
        else:
            for cell in asked.cells:
                self._noted.pop(cell, None)
        self._write_all()

    def _expect_no_others(self, asked: Asked) -> None:
        found: dict[str, None] = {}
        for cell in asked.cells:
            if cell in self._noted:
                then = self._noted[cell].circumstances
                found.update(dict.fromkeys(differences(then, self._now)))
        if found:
            raise Mistake(
                f"'{self.path}' has cells that were measured otherwise: {', '.join(found)}. They "
                "would stand beside others in one table. Without --resume they are dropped and all "
                "is measured anew; --output FILE leaves them, and makes another table.")

    def _read(self, head: bytes, lines: Iterable[bytes], networks: Mapping[str, str]) -> None:
        refusal = (f"'{self.path}' %s; it is left as it is, so move it away or choose another "
                   "--output.")
        try:
            told = json.loads(head)
            host = told["host"]
            self._networks = {str(key): str(name) for key, name in told["networks"].items()}
            searches = [each if isinstance(each.get("knobs"), dict) else {}
                        for each in told.get("searches", ())]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Mistake(refusal % "holds no notes of 'selion tune'") from None
        if host != self._host:
            raise Mistake(refusal % "holds notes of another host")
        for cell, measured, search in filter(None, map(_read_line, lines)):
            network = networks.get(cell.machine)
            if network in (None, self._networks.get(cell.machine)):
                known = search in range(len(searches))
                self._noted[cell] = _Note(measured, searches[search] if known else {})

    def _line(self, cell: Cell) -> bytes:
        note = self._noted[cell]
        noted = {"cell": [cell.machine, cell.collective, cell.size],
                 "search": self._searches.index(note.circumstances), "measured": note.measured}
        return json.dumps(noted).encode() + b"\n"

    def _write_all(self) -> None:
        """Over what is there, so that little is lost where this is cut short."""
        self._searches = [self._now]
        for note in self._noted.values():
            if note.circumstances not in self._searches:
                self._searches.append(note.circumstances)
        head = {"host": self._host, "networks": self._networks, "searches": self._searches}
        lines = [json.dumps(head).encode() + b"\n", *map(self._line, self._noted)]
        with _told(self.path):
            self._file.seek(0)
            if self._noted:
                self._file.write(b"".join(lines))
            self._file.truncate()
            self._file.flush()

    def add(self, cell: Cell, measured: dict[str, Any]) -> None:
        has_head = bool(self._noted)
        self.done[cell] = measured
        self._noted[cell] = _Note(measured, self._now)
        if not has_head:
            self._write_all()
            return
        with _told(self.path):
            self._file.write(self._line(cell))
            self._file.flush()

    def drop(self, cells: Iterable[Cell]) -> None:
        """Those that need not be gone on with."""
        for cell in cells:
            self._noted.pop(cell, None)
        self._write_all()
