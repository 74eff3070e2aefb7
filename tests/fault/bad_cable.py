#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One more cable between two hosts, that keeps frames for a while, loses some, brings some twice
and some before those that were sent first. Two TAP devices and this program between them: any
kernel has what that takes, while netem is a module that many are built without."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from two_hosts import Refused, TwoHosts

name = "bad"
_network = "10.231.9"
_limit = 20.0  # seconds, for anything that takes a moment
_most_at_once = 64  # frames of one host before the other's are looked at
_longest_frame = 1 << 16

_set_interface = 0x400454CA  # TUNSETIFF
_tap_without_head = 0x0002 | 0x1000  # IFF_TAP | IFF_NO_PI
_network_namespace = 0x40000000  # CLONE_NEWNET


@dataclass(frozen=True)
class Faults:
    """@param delay,jitter seconds: each frame takes the first, and up to the second more, so that
    it may be overtaken. @param loss,twice parts of all frames."""

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    twice: float = 0.0
    seed: int = 1


@dataclass
class Counts:
    """Of frames: those that came, and what became of some."""

    frames: int = 0
    lost: int = 0
    twice: int = 0
    overtaken: int = 0


class BadCable:
    def __init__(self, hosts: TwoHosts, faults: Faults):
        holders = [str(holder) for holder in hosts.holders()]
        self.addresses = [f"{_network}.{number}" for number in (1, 2)]
        self._relay = subprocess.Popen(
            [sys.executable, __file__, *holders, json.dumps(asdict(faults))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self._relay.stdout.readline() != "ready\n":
            raise Refused(f"no TAP devices: {self._relay.communicate(timeout=_limit)[1].strip()}")
        try:
            for host, address in zip(("host-a", "host-b"), self.addresses, strict=True):
                for command in (["address", "add", f"{address}/24", "dev", name],
                                ["link", "set", name, "up"]):
                    subprocess.run([*hosts.enter(host), "ip", *command], check=True,
                                   timeout=_limit)
        except BaseException:
            self._relay.kill()
            raise

    def be_silent(self) -> None:
        """Nothing comes over any more, until `speak`; the devices keep some hundred frames."""
        self._relay.send_signal(signal.SIGSTOP)

    def speak(self) -> None:
        self._relay.send_signal(signal.SIGCONT)

    def end(self) -> Counts:
        self.speak()
        self._relay.terminate()
        out, err = self._relay.communicate(timeout=_limit)
        if self._relay.returncode != 0:
            raise RuntimeError(f"the bad cable has failed: {err.strip()}")
        return Counts(**json.loads(out))


@contextlib.contextmanager
def bad_cable(hosts: TwoHosts, **faults: float) -> Iterator[BadCable]:
    """@raise Refused where there are no TAP devices."""
    made = BadCable(hosts, Faults(**faults))
    try:
        yield made
    finally:
        made._relay.kill()
        made._relay.wait()


# --- the program between the devices --------------------------------------------------------------
def _open_device(holder: int) -> int:
    """A TAP device on a host, which is gone when the file is closed."""
    with open(f"/proc/{holder}/ns/net", "rb") as space:
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), _network_namespace) != 0:
            raise OSError(ctypes.get_errno(), f"setns to the network of process {holder}")
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(file, _set_interface, struct.pack("16sH22x", name.encode(), _tap_without_head))
    return file


class _Relay:
    def __init__(self, ends: Sequence[int], faults: Faults):
        self.counts = Counts()
        self.is_over = False
        self._ends = ends
        self._faults = faults
        self._chance = random.Random(faults.seed)
        self._under_way: list[tuple[float, int, int, bytes]] = []
        self._latest = dict.fromkeys(ends, 0)  # number of the frame that each has been brought

    def run(self) -> None:
        tests = os.getppid()
        while not self.is_over and os.getppid() == tests:
            wait = self._bring()
            for end in select.select(self._ends, (), (), wait)[0]:
                self._take(end)

    def _bring(self) -> float:
        """@return seconds until the next one is due."""
        now = time.monotonic()
        while self._under_way and self._under_way[0][0] <= now:
            _, number, end, frame = heapq.heappop(self._under_way)
            self.counts.overtaken += number < self._latest[end]
            self._latest[end] = max(self._latest[end], number)
            with contextlib.suppress(OSError):  # a device that is down, or full
                os.write(end, frame)
        return max(self._under_way[0][0] - now, 0.0) if self._under_way else 0.1

    def _take(self, end: int) -> None:
        other = self._ends[1 - self._ends.index(end)]
        for _ in range(_most_at_once):
            try:
                frame = os.read(end, _longest_frame)
            except BlockingIOError:
                return
            self.counts.frames += 1
            if self._chance.random() < self._faults.loss:
                self.counts.lost += 1
                continue
            is_twice = self._chance.random() < self._faults.twice
            self.counts.twice += is_twice
            for _ in range(1 + is_twice):
                late = self._faults.delay + self._faults.jitter * self._chance.random()
                heapq.heappush(self._under_way,
                               (time.monotonic() + late, self.counts.frames, other, frame))


def _main(first: str, second: str, faults: str) -> None:
    relay = _Relay([_open_device(int(holder)) for holder in (first, second)],
                   Faults(**json.loads(faults)))

    def end(*_: object) -> None:
        relay.is_over = True

    signal.signal(signal.SIGTERM, end)
    print("ready", flush=True)
    relay.run()
    print(json.dumps(asdict(relay.counts)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    _main(*sys.argv[1:])
