# SPDX-License-Identifier: Apache-2.0
"""How a rank tells whoever has called `selion.run` how it has ended.

A message on a socket for each rank, with a memory file that holds what was pickled.
"""

from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass
from typing import NamedTuple

_head = struct.Struct("<IIB")


@dataclass(frozen=True, slots=True)
class Answer:
    """How a rank has ended: its result, or a `Trouble` as a tuple, pickled."""

    rank: int
    ranks: int
    is_trouble: bool
    payload: bytes


class Trouble(NamedTuple):
    """Why a rank has ended the job."""

    sentence: str
    traceback: str
    exception: bytes | None
    """Pickled, where that can be done."""


def send(to: socket.socket, answer: Answer) -> None:
    """Sends it; waits while the receiver is behind."""
    file = os.memfd_create("selion-result")
    try:
        with os.fdopen(os.dup(file), "wb") as stream:
            stream.write(answer.payload)
        head = _head.pack(answer.rank, answer.ranks, answer.is_trouble)
        socket.send_fds(to, [head], [file])
    finally:
        os.close(file)


def receive(source: socket.socket) -> Answer | None:
    """The next one; None when nobody can send any more."""
    message, files, _, _ = socket.recv_fds(source, _head.size, 1)
    if not message:
        return None
    rank, ranks, is_trouble = _head.unpack(message)
    with os.fdopen(files[0], "rb") as stream:
        stream.seek(0)
        return Answer(rank, ranks, bool(is_trouble), stream.read())
