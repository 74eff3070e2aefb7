# SPDX-License-Identifier: Apache-2.0
"""Two hosts within this one, joined by a cable, with a processor each, and how ranks are started on
them: so many on each by the launcher of Open MPI or of MPICH. No library finds memory to share
between them: each launcher's daemons tell it that ranks are on other hosts."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

root = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "tests" / "fault"))
from two_hosts import Refused, TwoHosts, two_hosts  # noqa: E402

__all__ = ["Refused", "Trouble", "Places", "places"]

_names = ("host-a", "host-b")
_cable = "cable"
_port = 5299
_start_seconds = 10
#: /sys shows the devices of the network in which it was mounted, and UCX looks there.
_see_devices = ("unshare", "--mount", "sh", "-c", 'mount -t sysfs none /sys && exec "$@"', "sh")


class Trouble(Exception):
    """Why a peer has measured nothing, in words that fit into a line."""


class Places:
    """@param cores a processor for each host."""

    def __init__(self, hosts: TwoHosts, cores: tuple[int, int], folder: Path):
        self._hosts = hosts
        self._cores = cores
        self._agent = folder / "bench-agent"
        lines = ["#!/bin/sh", "# In place of ssh: [OPTION...] HOST COMMAND",
                 'while case $1 in -*) true;; *) false;; esac; do shift; done',
                 "host=$1; shift", "case $host in"]
        for address, name in zip(hosts.addresses(), _names, strict=True):
            lines.append(f'{address}) exec {shlex.join(self.enter(name))} sh -c "$*";;')
        self._agent.write_text("\n".join([*lines, "esac", "exit 1", ""]))
        self._agent.chmod(0o755)

    def enter(self, host: str) -> list[str]:
        core = self._cores[_names.index(host)]
        return [*self._hosts.enter(host), "taskset", "-c", str(core), *_see_devices]

    def _list(self, each: int) -> str:
        return ",".join(f"{address}:{each}" for address in self._hosts.addresses())

    def open_mpi(self, ranks: int, settings: dict[str, str], passed: dict[str, str],
                 program: Path) -> list[str]:
        """@param settings of the library. @param passed variables for the ranks."""
        network = self._hosts.addresses()[0].rsplit(".", 1)[0] + ".0/24"
        settings = {"plm_rsh_agent": str(self._agent), "oob_tcp_if_include": network,
                    "btl_tcp_if_include": network, **settings}
        return [*self.enter("host-a"), "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe",
                "--bind-to", "none", "--map-by", "slot", "--host", self._list(ranks // 2),
                *(part for name, value in settings.items() for part in ("--mca", name, value)),
                *(part for name, value in passed.items() for part in ("-x", f"{name}={value}")),
                "-n", str(ranks), str(program)]

    def mpich(self, ranks: int, passed: dict[str, str], program: Path) -> list[str]:
        return [*self.enter("host-a"), "mpiexec.mpich", "-launcher", "ssh", "-launcher-exec",
                str(self._agent), "-iface", _cable, "-hosts", self._list(ranks // 2),
                *(part for name, value in passed.items() for part in ("-genv", name, value)),
                "-n", str(ranks), str(program)]

    def stream_ns(self, stream_bytes: int, seconds: float = 1) -> float:
        """Nanoseconds that so many bytes take in a stream of iperf3 from one host to the other.

        @raise Trouble"""
        server = [*self.enter("host-b"), "iperf3", "-s", "-1", "-p", str(_port), "--forceflush"]
        with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as listening:
            try:
                return stream_bytes * 8e9 / self._bits_per_second(listening, stream_bytes, seconds)
            finally:
                listening.kill()  # who waited for one stream in vain waits on

    def _bits_per_second(self, listening: subprocess.Popen, stream_bytes: int,
                         seconds: float) -> float:
        while "listening" not in listening.stdout.readline():
            if listening.poll() is not None:
                raise Trouble("iperf3 does not listen")
        client = [*self.enter("host-a"), "iperf3", "-c", self._hosts.addresses()[1], "-p",
                  str(_port), "-t", str(seconds), "-l", str(stream_bytes), "-J"]
        try:
            done = subprocess.run(client, capture_output=True, text=True,
                                  timeout=seconds + _start_seconds)
        except subprocess.TimeoutExpired as late:
            raise Trouble(f"iperf3 was not through after {late.timeout:.0f} s") from None
        if done.returncode != 0:
            raise Trouble(f"iperf3 ended with status {done.returncode}")
        try:
            rate = json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]
        except (ValueError, KeyError, TypeError):
            raise Trouble("iperf3 did not tell what it had received") from None
        if not rate:
            raise Trouble("iperf3 received nothing")
        return rate


@contextlib.contextmanager
def places(cores: tuple[int, int]) -> Iterator[Places]:
    """@raise Refused where namespaces are not allowed."""
    with tempfile.TemporaryDirectory() as folder, two_hosts(Path(folder)) as hosts:
        yield Places(hosts, cores, Path(folder))
