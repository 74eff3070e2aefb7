# SPDX-License-Identifier: Apache-2.0
"""What ranks print, passed on to wherever this program's output goes: a notebook's cell, say."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from typing import IO, TextIO

_piece_bytes = 1 << 16
_mark = "selion: "


def is_open(stream: TextIO | None) -> bool:
    """Whether it can be written to; what has been put in the place of a stream may only `write`."""
    return stream is not None and not getattr(stream, "closed", False)


def flush(stream: TextIO | None) -> None:
    if stream is not None and is_open(stream) and hasattr(stream, "flush"):
        stream.flush()


class Forwarded:
    """A pipe whose text goes to a stream as it comes, except lines that are kept."""

    def __init__(
        self,
        pipe: IO[bytes] | None,
        stream: Callable[[], TextIO | None],
        keeps: Callable[[str], bool] | None = None,
    ) -> None:
        assert pipe is not None
        self._pipe = pipe
        self._stream = stream
        self._keeps = keeps
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self.kept: list[str] = []

    def fileno(self) -> int:
        return self._pipe.fileno()

    def forward(self) -> bool:
        """Passes on what is there. False: nothing will come any more."""
        piece = os.read(self.fileno(), _piece_bytes)
        self._write(self._decoder.decode(piece, final=not piece))
        return bool(piece)

    def close(self) -> None:
        self._show(self._rest)
        self._rest = ""
        self._pipe.close()

    def show_kept(self) -> None:
        """Passes on what was kept."""
        self._show("".join(f"{line}\n" for line in self.kept))
        self.kept = []

    def _write(self, text: str) -> None:
        if self._keeps is None:
            return self._show(text)
        *lines, last = (self._rest + text).split("\n")
        shown = ""
        for line in lines:
            if self._keeps(line):
                self.kept.append(line)
            else:
                shown += f"{line}\n"
        # The start of a line waits only if it may be one of those.
        may_be_kept = last.startswith(_mark) or _mark.startswith(last)
        self._rest = last if may_be_kept else ""
        self._show(shown if may_be_kept else shown + last)

    def _show(self, text: str) -> None:
        stream = self._stream()
        if text and stream is not None and is_open(stream):
            stream.write(text)
            flush(stream)
