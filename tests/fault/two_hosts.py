# SPDX-License-Identifier: Apache-2.0
"""Two hosts within this one: each a network and a name of its own, joined by a cable, with a launch
agent in place of ssh. Gone when the processes that hold them are."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

_network = "10.231.7"
_names = ("host-a", "host-b")


class Refused(Exception):
    """This host makes no namespaces for us."""


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    if done.returncode != 0:
        raise Refused(f"{shlex.join(command)}: {done.stderr.strip()}")


def _enter(holder: int) -> list[str]:
    return ["nsenter", f"--target={holder}", "--net", "--uts"]


class TwoHosts:
    def __init__(self, holders: list[int], folder: Path):
        self._holders = holders
        self._agent = folder / "agent"
        lines = ["#!/bin/sh", "host=$1; shift", "case $host in"]
        for number, holder in enumerate(holders, 1):
            lines.append(f'{_network}.{number}) exec {shlex.join(_enter(holder))} sh -c "$*";;')
        self._agent.write_text("\n".join([*lines, "esac", "exit 1", ""]))
        self._agent.chmod(0o755)
        self._connect()

    def _connect(self) -> None:
        first, second = (_enter(holder) for holder in self._holders)
        _run(*first, "ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
             str(self._holders[1]))
        for number, (enter, name) in enumerate(zip((first, second), _names, strict=True), 1):
            _run(*enter, "hostname", name)
            _run(*enter, "ip", "address", "add", f"{_network}.{number}/24", "dev", "cable")
            for device in ("lo", "cable"):
                _run(*enter, "ip", "link", "set", device, "up")
        for enter in (first, second):
            self._await_cable(enter)

    @staticmethod
    def _await_cable(enter: list[str]) -> None:
        """The kernel takes up to a second to see that both ends are there."""
        end = time.monotonic() + 20
        show = [*enter, "ip", "-brief", "link", "show", "cable"]
        while " UP " not in subprocess.check_output(show, text=True, timeout=20):
            if time.monotonic() > end:
                raise Refused("the cable between the hosts stays down")
            time.sleep(0.02)  # nobody tells

    def mpirun(self, mpirun: str, ranks: int, variables: list[str]) -> list[str]:
        """Command that starts a program on both, half of the ranks on each."""
        each = (ranks + 1) // 2
        hosts = ",".join(f"{_network}.{number}:{each}" for number in (1, 2))
        passed = [part for name in variables for part in ("-x", name)]
        return [*_enter(self._holders[0]), mpirun, "--mca", "plm_rsh_agent", str(self._agent),
                "--mca", "oob_tcp_if_include", f"{_network}.0/24", "--host", hosts,
                "--map-by", "node", *passed, "-n", str(ranks)]


@contextlib.contextmanager
def two_hosts(folder: Path) -> Iterator[TwoHosts]:
    """@raise Refused where namespaces are not allowed."""
    if os.geteuid() != 0:
        raise Refused("only root makes networks")
    holders = []
    try:
        for _ in _names:
            command = ["unshare", "--net", "--uts", "sh", "-c", "echo; exec sleep 600"]
            holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True)
            holders.append(holder)
            if holder.stdout.readline() != "\n":
                raise Refused(f"unshare: {holder.communicate(timeout=20)[1].strip()}")
        yield TwoHosts([holder.pid for holder in holders], folder)
    except FileNotFoundError as missing:
        raise Refused(str(missing)) from missing
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()
