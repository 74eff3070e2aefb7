# SPDX-License-Identifier: Apache-2.0
"""What a program prints, of which no more than its beginning and its end is kept.

    with KeptOutput() as output:
        child = job.start(line, env, stdout=output.writer, stderr=subprocess.STDOUT)
        output.begin()
        ...  # until the program and all that it has started are gone
        print(output.end().decode(errors="replace"))
"""

from __future__ import annotations

import array
import fcntl
import os
import select
import termios
import threading
from types import TracebackType

_part_bytes = 256 * 1024  # of the beginning, and of the end
_chunk_bytes = 64 * 1024


class KeptOutput:
    """A pipe, and a thread that empties it."""

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        self._is_over, self._ending = os.pipe()
        self._thread: threading.Thread | None = None
        self._first = bytearray()
        self._last = bytearray()
        self._bytes = 0

    def __enter__(self) -> KeptOutput:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()
        for file in (self._reader, self._is_over):
            os.close(file)

    def begin(self) -> None:
        """After the program has started: it has its end of the pipe, and no thread at its birth."""
        self._close_writer()
        self._thread = threading.Thread(target=self._read_all)
        self._thread.start()

    def end(self) -> bytes:
        """All that was printed, or its two ends and between them a line about the rest."""
        self._stop()
        first, last = self._first, self._last[-_part_bytes:]
        if len(first) + len(last) == self._bytes:
            return bytes(first + last)
        first = first[: first.rfind(b"\n") + 1] or first
        last = last[last.find(b"\n") + 1 :] or last
        left_out = self._bytes - len(first) - len(last)
        newline = b"" if first.endswith(b"\n") else b"\n"
        return bytes(first + newline + f"[{left_out:,} bytes left out]\n".encode() + last)

    def _close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def _stop(self) -> None:
        """What is in the pipe is taken still, and no more: who left the job's group may print on
        for ever."""
        self._close_writer()
        if self._ending >= 0:
            os.close(self._ending)
            self._ending = -1
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _read_all(self) -> None:
        watched = select.poll()
        watched.register(self._reader, select.POLLIN)
        watched.register(self._is_over, 0)  # a closed pipe is told unasked
        while True:
            ready = dict(watched.poll())
            if self._is_over in ready:
                break
            if not self._read(_chunk_bytes):
                return
        there = array.array("i", [0])
        fcntl.ioctl(self._reader, termios.FIONREAD, there)
        while there[0] > 0 and (count := self._read(min(there[0], _chunk_bytes))):
            there[0] -= count

    def _read(self, most: int) -> int:
        chunk = os.read(self._reader, most)
        self._bytes += len(chunk)
        room = _part_bytes - len(self._first)
        self._first += chunk[:room]
        self._last += chunk[max(room, 0) :]
        if len(self._last) > 2 * _part_bytes:  # so that few bytes are moved often
            del self._last[:-_part_bytes]
        return len(chunk)
