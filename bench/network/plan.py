# SPDX-License-Identifier: Apache-2.0
"""Who takes part in `bench/run_network`, and what of a peer stands beside what of Selion."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from network.places import Places, Trouble
from surroundings import table_setting

Row = dict[str, Any]
bench = Path(__file__).resolve().parent.parent
selion_program = "bench_network"
stream = "iperf3"
pair, crowd = 2, 8  # ranks, half of them on each host
operations = {
    pair: ("message of 8 B, round trip", "rpc of 8 B, round trip", "barrier", "put 8 B, complete",
           "get 8 B", "fetch_add", "put 1 MiB, complete", "get 1 MiB",
           "puts of 1 MiB in a row, each", "gets of 1 MiB in a row, each",
           "puts of 8 B in a row, each", "messages of 8 B in a row, each",
           "message of 1 MiB and an answer",
           *(f"{what} {length}" for length in ("64 KiB", "1 MiB")
             for what in ("broadcast", "reduce", "all_reduce", "all_gather", "exchange"))),
    crowd: ("barrier", "all_reduce 8 B"),
}
long_bytes = 1 << 20
by_messages = {"puts of 8 B in a row, each": "messages of 8 B in a row, each",
               "rpc of 8 B, round trip": "message of 8 B, round trip"}
_most_build_seconds = 300

# In Open MPI the way of one-sided operations that it takes over TCP, and what any site would set:
# memory within a host, and ranks that yield where they have no processor each.
_open_mpi = {"pml": "ob1", "btl": "tcp,vader,self", "osc": "pt2pt"}
_ucx = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "cable"}
_selion = {"SELION_MACHINE": "fabric", "SELION_FABRIC_INTERFACE": "cable"}


@dataclass(frozen=True)
class Peer:
    name: str
    compiler: str
    launcher: str
    packages: str  # of Debian
    version: tuple[str, ...]

    def why_absent(self) -> str:
        """What to install; empty if it is there."""
        missing = [name for name in (self.compiler, self.launcher) if shutil.which(name) is None]
        return (f"{self.name} is not installed ({missing[0]} is missing): "
                f"apt-get install {self.packages}" if missing else "")

    def build(self, folder: Path) -> Path:
        """@raise Trouble where that cannot be done."""
        program = folder / self.compiler
        command = [self.compiler, "-std=c++20", "-O3", "-DNDEBUG", f"-I{bench}",
                   str(bench / "network" / "peers" / "mpi.cpp"), "-o", str(program)]
        try:
            done = subprocess.run(command, capture_output=True, text=True,
                                  timeout=_most_build_seconds)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise Trouble(f"{self.compiler} could not build mpi.cpp: {problem}") from None
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise Trouble(f"{self.compiler} could not build mpi.cpp: {' '.join(errors[:1])}")
        return program


open_mpi = Peer("Open MPI", "mpicxx.openmpi", "mpirun.openmpi", "openmpi-bin libopenmpi-dev",
                ("mpirun.openmpi", "--version"))
mpich = Peer("MPICH", "mpicxx.mpich", "mpiexec.mpich", "mpich libmpich-dev", ("mpichversion",))
all_peers = (open_mpi, mpich)


def command(where: Places, name: str, ranks: int, program: Path) -> list[str]:
    """How a contestant is started."""
    if name == mpich.name:
        # Its ranks never yield: many on a processor take a slice of its time for each step.
        return [*where.mpich(ranks, _ucx, program), "1"]
    if name == open_mpi.name:
        yields = {"mpi_yield_when_idle": "1" if ranks > pair else "0"}
        return where.open_mpi(ranks, {**_open_mpi, **yields}, {}, program)
    passed = {**_selion, "SELION_TUNING": table_setting()}
    return where.open_mpi(ranks, {}, passed, program)


def parsed(output: str) -> dict[str, float]:
    """Nanoseconds of each operation that a program has printed, without a line that it had only
    begun."""
    whole = output[:output.rfind("\n") + 1]
    rows = (line.split("\t") for line in whole.splitlines() if "\t" in line)
    return {name: float(ns) for name, ns in rows}


def _row(operation: str, ranks: int, contestant: str, ns: float, turn: int) -> Row:
    return {"operation": operation, "machine": f"fabric:{ranks}", "contestant": contestant,
            "is_selion": contestant == "selion", "ns": [ns], "round": turn}


def rows_of(name: str, ranks: int, times: dict[str, float], turn: int) -> list[Row]:
    """What a peer does by messages stands beside Selion's puts and calls too, where it has no
    better way."""
    is_selion = name not in {peer.name for peer in all_peers}
    rows = [_row(operation, ranks, "selion" if is_selion else name, ns, turn)
            for operation, ns in times.items()]
    if not is_selion:
        rows += [_row(operation, ranks, f"{name}, messages", times[messages], turn)
                 for operation, messages in by_messages.items() if messages in times]
    return rows


def stream_rows(ns: float, turn: int) -> list[Row]:
    return [_row(f"{what} of 1 MiB in a row, each", pair, stream, ns, turn)
            for what in ("puts", "gets")]
