# SPDX-License-Identifier: Apache-2.0
"""The peers of Selion's collectives: what builds and starts each, and what is to be installed."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

bench = Path(__file__).resolve().parent.parent
_most_build_seconds = 300
_crowd = ("--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")
# Open MPI counts cores, of which there may be fewer than processors.
_apart = ("--oversubscribe", "--map-by", "core", "--bind-to", "core:overload-allowed",
          "--mca", "mpi_yield_when_idle", "0")


@dataclass(frozen=True)
class Peer:
    """One program of others: where it comes from, and how it is told the number of ranks."""

    name: str
    program: str
    source: str  # in collectives/peers/
    compiler: tuple[str, ...]
    packages: str  # of Debian
    launcher: str = ""  # a program that starts the ranks; empty: they are threads
    version: tuple[str, ...] = ()  # a command whose first line tells it
    yields: bool = True  # its processor to others while it waits

    @property
    def sources(self) -> list[Path]:
        return [bench / "collectives" / "peers" / self.source, bench / "harness" / "settings.cpp"]

    def why_absent(self) -> str:
        """What to install; empty if it is there."""
        needed = [self.compiler[0], *([self.launcher] if self.launcher else [])]
        missing = [name for name in needed if shutil.which(name) is None]
        if not missing:
            return ""
        return (f"{self.name} is not installed ({missing[0]} is missing): "
                f"apt-get install {self.packages}")

    def is_stale(self, program: Path) -> bool:
        headers = [*(bench / "collectives").glob("*.hpp"), *(bench / "harness").glob("*.hpp")]
        newest = max(file.stat().st_mtime for file in (*self.sources, *headers))
        return not program.exists() or program.stat().st_mtime < newest

    def build(self, folder: Path) -> str:
        """Makes the program in a folder unless it is there. @return what went wrong, or nothing."""
        program = folder / self.program
        if not self.is_stale(program):
            return ""
        made = program.with_suffix(".new")
        command = [*self.compiler, "-std=c++20", "-O3", "-DNDEBUG", f"-I{bench}",
                   f"-I{bench}/collectives", *map(str, self.sources), "-o", str(made)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  timeout=_most_build_seconds)
        except (OSError, subprocess.TimeoutExpired) as problem:
            return f"{self.compiler[0]} could not build {self.source}: {problem}"
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            return f"{self.compiler[0]} could not build {self.source}: {' '.join(errors[:1])}"
        made.replace(program)
        return ""

    def command(self, folder: Path, ranks: int, have_processors: bool) -> list[str]:
        """How to start so many ranks: with a processor each, or so that they yield."""
        program = str(folder / self.program)
        count = str(ranks)
        if self.launcher in ("mpirun.openmpi", "oshrun"):
            settings = _apart if have_processors else _crowd
            return [self.launcher, "--allow-run-as-root", "-np", count, *settings, program]
        if self.launcher == "mpiexec.mpich":
            bound = ("-bind-to", "core") if have_processors else ()
            return [self.launcher, "-np", count, *bound, program]
        return [program, count] if self.source == "threads.cpp" else [program]

    def environment(self, ranks: int, have_processors: bool) -> dict[str, str]:
        if self.source != "openmp.cpp":
            return {}
        waits = {"OMP_WAIT_POLICY": "active", "OMP_PROC_BIND": "true"}
        return {"OMP_NUM_THREADS": str(ranks), "OMP_DYNAMIC": "false",
                **(waits if have_processors else {"OMP_WAIT_POLICY": "passive"})}


# Also the limits that are written by hand, and the signal that tells how far apart the cores are.
threads = Peer("std::barrier", "collectives_threads", "threads.cpp", ("c++", "-pthread"), "g++",
               version=("c++", "--version"))
all_peers = (
    Peer("Open MPI", "collectives_openmpi", "mpi.cpp", ("mpicxx.openmpi",),
         "openmpi-bin libopenmpi-dev", "mpirun.openmpi", ("mpirun.openmpi", "--version")),
    Peer("MPICH", "collectives_mpich", "mpi.cpp", ("mpicxx.mpich",), "mpich libmpich-dev",
         "mpiexec.mpich", ("mpichversion",), yields=False),
    Peer("OpenSHMEM", "collectives_openshmem", "openshmem.cpp", ("oshc++",),
         "openmpi-bin libopenmpi-dev", "oshrun", ("oshrun", "--version")),
    Peer("libgomp", "collectives_openmp", "openmp.cpp", ("c++", "-fopenmp"), "g++",
         version=("c++", "--version")),
    threads,
)
