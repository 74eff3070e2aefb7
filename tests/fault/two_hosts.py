# SPDX-License-Identifier: Apache-2.0
"""Two hosts within this one: each a network and a name of its own, joined by two cables, with a
launch agent in place of ssh. Gone at the end, with every process that still runs on them."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

#: Cables by name, and the first three numbers of the addresses on each. The launcher is on the
#: first.
_networks = {"cable": "10.231.7", "second": "10.231.8"}
_network = _networks["cable"]
_names = ("host-a", "host-b")
_limit = 60.0  # for anything that takes a moment


class Refused(Exception):
    """This host makes no namespaces for us."""


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_limit)
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
        for cable in _networks:
            _run(*first, "ip", "link", "add", cable, "type", "veth", "peer", "name", cable, "netns",
                 str(self._holders[1]))
        for number, (enter, name) in enumerate(zip((first, second), _names, strict=True), 1):
            _run(*enter, "hostname", name)
            for cable, network in _networks.items():
                _run(*enter, "ip", "address", "add", f"{network}.{number}/24", "dev", cable)
            for device in ("lo", *_networks):
                _run(*enter, "ip", "link", "set", device, "up")
        for cable in _networks:
            self._await_cable(cable)

    def _await_cable(self, cable: str) -> None:
        """The kernel takes up to a second to see that both ends are there."""
        end = time.monotonic() + _limit
        for holder in self._holders:
            show = [*_enter(holder), "ip", "-brief", "link", "show", cable]
            while " UP " not in subprocess.check_output(show, text=True, timeout=_limit):
                if time.monotonic() > end:
                    raise RuntimeError(f"the {cable} between the hosts stays down")
                time.sleep(0.02)  # nobody tells

    def holders(self) -> list[int]:
        """The process of each host that holds its network."""
        return list(self._holders)

    def enter(self, host: str) -> list[str]:
        """What to put before a command that shall run on a host."""
        return _enter(self._holders[_names.index(host)])

    def cut(self, cable: str) -> None:
        _run(*self.enter("host-b"), "ip", "link", "set", cable, "down")

    def mend(self, cable: str) -> None:
        """What was cut is whole again."""
        _run(*self.enter("host-b"), "ip", "link", "set", cable, "up")
        self._await_cable(cable)

    def bar(self, cable: str, how: str) -> None:
        """From now on host-a reaches host-b on this cable no longer. @param how "blackhole":
        nobody is told; "unreachable": whoever sends is."""
        _run(*self.enter("host-a"), "ip", "route", "add", how, f"{_networks[cable]}.2/32")

    def bar_connections(self, cable: str) -> None:
        """From now on no connection (TCP) comes about on this cable, and datagrams pass."""
        _run(*self.enter("host-a"), "ip", "rule", "add", "to", f"{_networks[cable]}.2/32",
             "ipproto", "tcp", "blackhole")

    def processes_on(self, host: str) -> list[int]:
        """All but the one that holds the host."""
        holder = self._holders[_names.index(host)]
        network = os.readlink(f"/proc/{holder}/ns/net")
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == holder:
                continue
            with contextlib.suppress(OSError):
                if os.readlink(entry / "ns/net") == network:
                    found.append(int(entry.name))
        return found

    def kill_all_on(self, host: str) -> None:
        for process in self.processes_on(host):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def for_mpirun(self) -> dict[str, str]:
        """Variables by which Open MPI's launcher, started on host-a, reaches host-b."""
        return {"OMPI_MCA_plm_rsh_agent": str(self._agent),
                "OMPI_MCA_oob_tcp_if_include": f"{_network}.0/24"}

    @staticmethod
    def addresses() -> list[str]:
        """By which the launcher knows the hosts."""
        return [f"{_network}.{number}" for number in (1, 2)]

    def mpirun(self, mpirun: str, ranks: int, variables: list[str]) -> list[str]:
        """Command that starts a program on both, half of the ranks on each."""
        each = (ranks + 1) // 2
        hosts = ",".join(f"{_network}.{number}:{each}" for number in (1, 2))
        passed = [part for name in variables for part in ("-x", name)]
        return [*_enter(self._holders[0]), mpirun, "--mca", "plm_rsh_agent", str(self._agent),
                "--mca", "oob_tcp_if_include", f"{_network}.0/24", "--host", hosts,
                "--map-by", "node", *passed, "-n", str(ranks)]


@contextlib.contextmanager
def two_hosts(folder: Path, seconds: int = 600) -> Iterator[TwoHosts]:
    """@param seconds after which they are gone whatever happens
    @raise Refused where namespaces are not allowed."""
    if os.geteuid() != 0:
        raise Refused("only root makes networks")
    holders = []
    try:
        for _ in _names:
            command = ["unshare", "--net", "--uts", "sh", "-c", f"echo; exec sleep {seconds}"]
            holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True)
            holders.append(holder)
            if holder.stdout.readline() != "\n":
                raise Refused(f"unshare: {holder.communicate(timeout=20)[1].strip()}")
        made = TwoHosts([holder.pid for holder in holders], folder)
        try:
            yield made
        finally:
            for name in _names:
                made.kill_all_on(name)  # a launcher's daemon waits long for one that is cut off
    except FileNotFoundError as missing:
        raise Refused(str(missing)) from missing
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()
