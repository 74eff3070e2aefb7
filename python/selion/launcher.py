# SPDX-License-Identifier: Apache-2.0
"""Jobs on many hosts: the site's launcher, and how it is asked to start a program."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selion import spec
from selion.mistake import Mistake, listing

_limit_seconds = 20
_most_digits = 9  # of a number of ranks
_name_of_host = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
#: What a program on another host needs beside SELION_*, if it is set here.
_passed_on = ("LD_LIBRARY_PATH", "PYTHONPATH", "XDG_CACHE_HOME")
#: Open MPI 4 notices a host that is cut off before its ranks do, instead of after 15 minutes.
_open_mpi_4 = ("--mca", "oob_tcp_keepalive_time", "4", "--mca", "oob_tcp_keepalive_intvl", "1",
               "--mca", "oob_tcp_keepalive_probes", "3")


#: Set where a batch system has said how many ranks there may be.
_allocations = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "COBALT_JOBID")
#: More ranks than cores, where nothing but this host says how many there may be.
_crowding = {"open-mpi-4": ("--oversubscribe",), "prte": ("--map-by", ":OVERSUBSCRIBE")}

#: What Open MPI says at length, by words in it, and the same in a sentence.
_refusals = {
    "an attempt to run as root": "mpirun of Open MPI starts nothing for root; run this as another "
    "user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1.",
    "There are not enough slots": "mpirun of Open MPI starts as many ranks here as there are "
    "cores; say how many, as in --hosts localhost:4.",
}

#: Programs that start the ranks of a job themselves.
names = ("mpiexec", "mpirun", "prterun", "srun")

#: Hosts on which jobs of the machine fabric are started; for this package only.
hosts_variable = "SELION_HOSTS"


@dataclass(frozen=True)
class Host:
    name: str
    slots: int | None  #: ranks that it takes at most; None: its share


@dataclass(frozen=True)
class Launcher:
    """`family` tells whose options it understands."""

    path: str
    family: str


def parse_hosts(text: str) -> list[Host]:
    """Hosts of a list `a,b` or `a:4,b:2`.

    @error Mistake for one that is malformed, or unknown to this host.
    """
    found: list[Host] = []
    for part in text.split(","):
        name, colon, slots = part.partition(":")
        is_number = slots.isdecimal() and len(slots) <= _most_digits
        is_counted = not colon or (is_number and int(slots) > 0)
        if not _name_of_host.fullmatch(name) or not is_counted:
            raise Mistake(f"'{part}' in the list of hosts is none; legal: HOST or HOST:RANKS, "
                          "joined by commas.")
        if any(name == host.name for host in found):
            raise Mistake(f"The host '{name}' is in the list twice; write '{name}:2'.")
        found.append(Host(name, int(slots) if colon else None))
    for host in found:
        try:
            socket.getaddrinfo(host.name, None)
        except OSError as problem:
            why = problem.strerror
            raise Mistake(f"The host '{host.name}' is not known here: {why}.") from None
    return found


def shares(hosts: Sequence[Host], ranks: int | None, per_process: int = 1) -> list[int]:
    """How many processes each host gets, of so many ranks.

    @error Mistake if there are too many ranks for the hosts' own numbers, too few for all hosts, or
        such as processes do not make.
    """
    for host in hosts:
        if (host.slots or 0) % per_process != 0:
            raise Mistake(f"'{host.name}:{host.slots}' in the list of hosts: a process has "
                          f"{per_process} ranks; legal is a multiple of {per_process}.")
    counted = [host.slots for host in hosts if host.slots is not None]
    if ranks is None:
        return [(host.slots or per_process) // per_process for host in hosts]
    if len(counted) not in (0, len(hosts)):
        raise Mistake("Some hosts of the list have a number of ranks and some have none; "
                      "give all or none.")
    if counted:
        if sum(counted) != ranks:
            raise Mistake(f"The hosts take {sum(counted)} ranks together but -n asks for {ranks}; "
                          "leave out one of them.")
        return [slots // per_process for slots in counted]
    processes = ranks // per_process
    if processes < len(hosts):
        raise Mistake(f"{ranks} ranks do not fill {len(hosts)} hosts; list fewer.")
    each, more = divmod(processes, len(hosts))
    return [each + (number < more) for number in range(len(hosts))]


def _family_of_mpirun(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, check=False, text=True,
                              errors="replace", timeout=_limit_seconds)
    except subprocess.TimeoutExpired:
        raise Mistake(f"'{path} --version' has not ended after {_limit_seconds} s; put a launcher "
                      "that works first on the PATH.") from None
    except OSError as problem:
        raise Mistake(f"'{path}' cannot be started: {problem.strerror}; put a launcher that works "
                      "first on the PATH.") from None
    words = done.stdout + done.stderr
    if found := re.search(r"Open MPI\)? (\d+)", words):
        return "open-mpi-4" if int(found[1]) < 5 else "prte"
    return "prte" if "PRTE" in words or "PRRTE" in words else ""


def find() -> Launcher:
    """Slurm's within an allocation of it, else mpirun or prterun, else Slurm's.

    @error Mistake if there is none with PMIx, or one that does not say what it is.
    """
    slurm = shutil.which("srun")
    if slurm and "SLURM_JOB_ID" in os.environ:
        return Launcher(slurm, "slurm")
    others = []
    for name in ("mpirun", "prterun"):
        path = shutil.which(name)
        if path is None:
            continue
        if family := _family_of_mpirun(path):
            return Launcher(path, family)
        others.append(path)
    if slurm:
        return Launcher(slurm, "slurm")
    there = f"{listing(others)} is none of them" if others else "none is on the PATH"
    raise Mistake("The machine fabric needs a launcher with PMIx, mpirun of Open MPI, prterun or "
                  f"srun, and {there}; install one (Debian: openmpi-bin).")


def refusal_in(said: str) -> str | None:
    """A sentence for a launcher's page on why it starts nothing; None where it has not said so."""
    return next((told for words, told in _refusals.items() if words in said), None)


def _passed(environment: Mapping[str, str]) -> list[str]:
    return sorted(name for name in environment
                  if name.startswith("SELION_") or name in _passed_on)


def _outlives_ranks(environment: Mapping[str, str]) -> bool:
    """Whether the launcher has to go on without ranks that die."""
    return environment.get("SELION_RANK_DEATH", "").lower() == "report"


def _is_allocation(environment: Mapping[str, str]) -> bool:
    return any(name in environment for name in _allocations)


def command(launcher: Launcher, hosts: Sequence[Host], ranks: int | None,
            line: Sequence[str], environment: Mapping[str, str],
            per_process: int = 1) -> list[str]:
    """The launcher's line that starts `line` on the hosts; without hosts, on those that the
    launcher knows of: on this one also more ranks than it has cores, as on other machines.

    @param environment the launcher's own: it is told which variables go with the program.
    @param per_process ranks, which are threads: a process needs as many processors.
    """
    processes = None if ranks is None else ranks // per_process
    counts = shares(hosts, ranks, per_process) if hosts else []
    outlives = _outlives_ranks(environment)
    if launcher.family == "slurm":
        start = [launcher.path, "--mpi=pmix"]
        if outlives:
            start.append("--kill-on-bad-exit=0")
        if per_process > 1:
            start.append(f"--cpus-per-task={per_process}")
        if not hosts:
            number = [] if processes is None else [f"--ntasks={processes}"]
            return [*start, *number, *line]
        # As many on each: Slurm has no list of different numbers but a file.
        if len(set(counts)) > 1:
            numbers = listing([count * per_process for count in counts])
            raise Mistake(f"srun starts as many ranks on each host, not {numbers}; give a number "
                          "that the hosts divide.")
        names = ",".join(host.name for host in hosts)
        return [*start, f"--nodelist={names}", f"--nodes={len(hosts)}",
                f"--ntasks={sum(counts)}", f"--ntasks-per-node={counts[0]}", *line]
    slots = ",".join(f"{host.name}:{count}" for host, count in zip(hosts, counts, strict=True))
    where = ["--host", slots] if hosts else []
    wanted = sum(counts) if hosts else processes
    number = [] if wanted is None else ["-n", str(wanted)]
    passed = [part for name in _passed(environment) for part in ("-x", name)]
    bound = _open_mpi_4 if launcher.family == "open-mpi-4" else ()
    # By default it binds a process to one core, or to as few as it likes.
    free = ["--bind-to", "none"] if per_process > 1 else []
    lenient = ["--enable-recovery"] if outlives else []
    is_bounded = bool(hosts) or wanted is None or _is_allocation(environment)
    crowding = () if is_bounded else _crowding[launcher.family]
    return [launcher.path, *bound, *lenient, *crowding, *free, *where, *passed, *number, *line]


def line_for(line: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """A program's line as the machine in its environment wants it: by the site's launcher for the
    machine fabric, on the hosts of SELION_HOSTS if that is set; as it is for any other, and for
    what a launcher has started.

    @error Mistake if there is no launcher, or the hosts are wrong.
    """
    machine = spec.parse(environment.get("SELION_MACHINE", ""))
    if machine.kind != "fabric" or "PMIX_RANK" in os.environ:
        return list(line)
    listed = os.environ.get(hosts_variable)
    hosts = parse_hosts(listed) if listed else []
    return command(find(), hosts, machine.ranks, line, environment, machine.per_process)


def use_hosts(hosts: str | None, machines: Sequence[str]) -> None:
    """From now on jobs of the machine fabric run on these hosts.

    @error Mistake for a list that is malformed, and for machines of other kinds.
    """
    if hosts is None:
        return
    if not machines:
        raise Mistake("--hosts is for the machine fabric: add -m fabric.")
    for machine in machines:
        if spec.parse(machine).kind != "fabric":
            raise Mistake(f"--hosts is for the machine fabric, not for '{machine}': ranks of other "
                          "machines are all on this host.")
    parse_hosts(hosts)
    os.environ[hosts_variable] = hosts
