# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm with one host, this one: its daemons with a configuration of their own, which
whoever needs them starts and stops."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_limit = 60.0
_programs = ("srun", "sinfo", "scancel", "slurmctld", "slurmd", "slurmstepd")

_configuration = """
ClusterName=selion-tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
TmpFS={short}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Absent(Exception):
    """Why there is no cluster here."""


def _check() -> None:
    if os.geteuid() != 0:
        raise Absent("only root starts the daemons of Slurm")
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    missing = [name for name in _programs if shutil.which(name, path=path) is None]
    if missing:
        raise Absent(f"there is no {', '.join(missing)} (Debian: slurm-wlm)")


def _check_pmix(environment: dict[str, str]) -> None:
    listed = subprocess.run(["srun", "--mpi=list"], env=environment, capture_output=True, text=True,
                            timeout=_limit)
    if "pmix" not in listed.stdout + listed.stderr:
        raise Absent("this Slurm is built without PMIx")


def _free_ports() -> list[int]:
    with contextlib.ExitStack() as all_of_them:
        places = [all_of_them.enter_context(socket.socket()) for _ in range(2)]
        for one in places:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in places]


def _await_host(environment: dict[str, str], daemons: list[subprocess.Popen]) -> None:
    end = time.monotonic() + _limit
    while time.monotonic() < end:
        for daemon in daemons:
            if daemon.poll() is not None:
                raise Absent(f"{daemon.args[0]} does not stay: {daemon.stderr.read().strip()}")
        told = subprocess.run(["sinfo", "--noheader", "--format=%T"], env=environment, text=True,
                              capture_output=True, timeout=_limit)
        if told.stdout.strip() == "idle":
            return
        time.sleep(0.05)  # nobody tells
    raise RuntimeError("the host of the cluster does not come up")


@contextlib.contextmanager
def slurm_cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Variables by which `srun` finds it. @raise Absent"""
    _check()
    with tempfile.TemporaryDirectory(prefix="selion-", ignore_cleanup_errors=True) as short:
        yield from _cluster_in(folder, short)


def _cluster_in(folder: Path, short: str) -> Iterator[dict[str, str]]:
    """@param short where PMIx has its sockets, whose names may be 107 letters long, and what a step
    that was killed has left keeps the step of that number of another cluster from starting."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    file = folder / "slurm.conf"
    host = socket.gethostname()
    file.write_text(_configuration.format(host=host, ports=_free_ports(), folder=folder,
                                          short=short))
    environment = {"SLURM_CONF": str(file)}
    _check_pmix({**os.environ, **environment})
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    daemons = []
    try:
        for name in ("slurmctld", "slurmd"):
            daemons.append(subprocess.Popen(
                [name, "-D"], env={**os.environ, **environment, "PATH": path}, text=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
        _await_host({**os.environ, **environment}, daemons)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.communicate(timeout=_limit)
            daemon.kill()
            daemon.wait()
