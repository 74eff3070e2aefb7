# SPDX-License-Identifier: Apache-2.0
"""Whoever reaches the ports of a job and does not know its secret changes nothing in it."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs import limit, trying
from launched import Launched, skip_without_fabric, soon
from two_hosts import TwoHosts

skip_without_fabric()


_seed = "20177"  # of no other test


def _ranks(seconds: str) -> list[int]:
    """Processes of the job that runs for so long, once both are there."""
    end = time.monotonic() + soon
    while time.monotonic() < end:
        found = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = file.read_bytes().decode(errors="replace").split("\0")
                if words[0].endswith("test_network_load") and words[1:3] == [seconds, _seed]:
                    found.append(int(file.parent.name))
        if len(found) == 2 and all(_listening(one) for one in found):
            return found
        time.sleep(0.05)
    raise AssertionError("the ranks do not come")


def _listening(process: int) -> list[int]:
    """Ports on which a process takes connections; none of one that has ended."""
    return [port for _, port in _open(process, "tcp", "0A")]


def _open(process: int, kind: str, state: str) -> list[tuple[str, int]]:
    """Address and port of each socket of a kind that a process has in a state."""
    inodes, places = set(), []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # it has been closed
                if found := re.match(r"socket:\[(\d+)\]", os.readlink(file)):
                    inodes.add(found[1])
        for line in Path(f"/proc/{process}/net/{kind}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == state and fields[9] in inodes:
                host, port = fields[1].split(":")
                places.append((socket.inet_ntoa(struct.pack("=I", int(host, 16))), int(port, 16)))
    return places


def _greeting(number: int) -> bytes:
    """What libfabric's `net` says when it connects, as the peer of some address."""
    head = bytes.fromhex("0300000800000000") + bytes(16) + bytes.fromhex("0100000000000000")
    return head + bytes.fromhex("000082df0000") + struct.pack(">H", 20000 + number)


def _frame(announced: int) -> bytes:
    return bytes([3, 0, 0, 0, 0, 0, 0x10, 0]) + struct.pack("<Q", 16 + announced)


def _garbage(stranger: socket.socket) -> None:
    stranger.sendall(os.urandom(4000))


def _half_a_frame(stranger: socket.socket) -> None:
    stranger.sendall(_greeting(0))
    time.sleep(0.3)
    stranger.sendall(_frame(15_000) + b"x" * 1000)


def _too_long_a_frame(stranger: socket.socket) -> None:
    stranger.sendall(_greeting(1))
    time.sleep(0.3)
    stranger.sendall(_frame(20_000) + b"x" * 20_000)


def _a_whole_frame(stranger: socket.socket) -> None:
    stranger.sendall(_greeting(2))
    time.sleep(0.3)
    stranger.sendall(_frame(100) + b"x" * 100)


@pytest.mark.parametrize("visit", [_garbage, _half_a_frame, _too_long_a_frame, _a_whole_frame])
@trying(seconds=("3", "10"))
def test_strangers_change_nothing(visit: Callable[[socket.socket], None], seconds: str):
    with Launched(2, "test_network_load", seconds, _seed, SELION_TEST_HOSTS="2",
                  SELION_MACHINE="fabric", SELION_FABRIC_PROVIDER="net") as job:
        visited = 0
        for process in _ranks(seconds):
            for port in _listening(process):
                try:
                    with socket.create_connection(("127.0.0.1", port), timeout=2) as stranger:
                        visit(stranger)
                        time.sleep(0.2)
                    visited += 1
                except OSError:
                    continue  # it listens elsewhere, or has sent the stranger away
        outcome = job.end(within=soon + 20)
    assert visited > 0, "nobody was there"
    assert outcome.status == 0, outcome.err


_send = """
import socket, sys
stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for garbage in (b"", b"x" * 24, b"x" * 1000):
    stranger.sendto(garbage, (sys.argv[1], int(sys.argv[2])))
"""


def test_strange_signs_of_life_are_told_of(hosts: TwoHosts):
    with Launched(2, "test_network_load", "4", _seed, hosts=hosts,
                  SELION_FABRIC_PROVIDER="net") as job:
        for process in _ranks("4"):
            [(address, port)] = _open(process, "udp", "07")
            enter = ["nsenter", f"--target={process}", "--net"]
            subprocess.run([*enter, sys.executable, "-c", _send, address, str(port)], check=True,
                           timeout=limit)
        outcome = job.end(within=soon + 20)
    assert outcome.status == 0, outcome.err
    told = re.findall(r"warning: rank (\d) of 2 on host \S+ has dropped 3 datagrams that were no "
                      "signs of life of this job", outcome.err)
    assert sorted(told) == ["0", "1"], outcome.err
