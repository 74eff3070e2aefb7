# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of `selion bench`."""

from __future__ import annotations

from typing import NamedTuple


class Benchmark(NamedTuple):
    """A script of bench/ with a program that it needs, and the options that not all have."""

    script: str
    program: str
    options: tuple[str, ...]
    summary: str


benchmarks = {
    "operations": Benchmark(
        "run",
        "bench_pair",
        ("--busy",),
        "puts, gets, atomics, signals, messages and calls of two ranks, and starts of jobs; beside "
        "the same written by hand, and the goals",
    ),
    "network": Benchmark(
        "run_network",
        "bench_network",
        (),
        "the same between two hosts, which are network namespaces of this one (takes root); beside "
        "Open MPI, MPICH and the stream of iperf3, where these are installed",
    ),
    "simulator": Benchmark(
        "run_simulator",
        "bench_simulator",
        ("--most-ranks", "--svg"),
        "ranks of simulated machines: messages a second, memory, events; beside SimGrid",
    ),
    "collectives": Benchmark(
        "run_collectives",
        "bench_collectives",
        ("--ranks", "--processors", "--busy"),
        "collectives of 2, 16 and 64 ranks on two processors; beside Open MPI, MPICH, OpenSHMEM, "
        "libgomp and std::barrier, where these are installed",
    ),
    "offload": Benchmark(
        "run_offload",
        "bench_offload",
        (),
        "calls to workers, in C++ and in Python; beside oneTBB, StarPU, std::async, "
        "ProcessPoolExecutor, Ray and Dask, where these are installed",
    ),
    "python": Benchmark(
        "run_python",
        "bench_python",
        ("--mpi-python",),
        "puts, gets and collectives of two ranks in Python; beside mpi4py, where that is "
        "installed, and the same in C++",
    ),
}
