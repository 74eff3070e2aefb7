# SPDX-License-Identifier: Apache-2.0
"""A rank of a contestant: it takes orders from a socket, as bench/python/main.cpp does.

An order is a line of text: an operation, bytes, and how often. The answer is the nanoseconds of
one. The ranks take turns as root: one that always is it runs ahead, and what is measured is how
fast it can give, not when the data are there. Started by bench/run_python as
`contestants.py selion|mpi4py ADDRESS`.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np

Call = Callable[[], object]
one_sided = ("put", "get", "fetch_add")


class Selion:
    """Of `selion`: arrays are combined in place, and others go into memory that is there."""

    def __init__(self, world: Any) -> None:
        self.rank, self.size, self.barrier = world.rank, world.size, world.barrier
        self._world = world
        self._part = world.allocate(1)

    def call(self, name: str, own: np.ndarray, all_: np.ndarray, sent: np.ndarray) -> Call:
        world, part, other = self._world, self._part, (self.rank + 1) % self.size
        result = np.empty_like(own)
        roots = cycle(range(self.size))
        calls: dict[str, Call] = {
            "put": lambda: part.put(own, other),
            "get": lambda: part.get(other, out=own),
            "fetch_add": lambda: part.fetch_add(other, 0, 1),
            "barrier": world.barrier,
            "broadcast": lambda: world.broadcast(own, next(roots)),
            "all_reduce": lambda: world.all_reduce(own, out=own),
            "all_gather": lambda: world.all_gather(own, out=all_),
            "exchange": lambda: world.exchange(sent, out=all_),
            "gather": lambda: world.gather(own, next(roots), out=all_),
            "scatter": lambda: world.scatter(sent, next(roots), out=own),
            "reduce": lambda: world.reduce(own, "plus", next(roots), out=result),
            "scan": lambda: world.scan(own, out=result),
            "exscan": lambda: world.exscan(own, out=result),
        }
        return calls[name]

    def end(self) -> None:
        self._part.free()


class Mpi4py:
    """The same of MPI: a put and a get are complete when the window has been flushed."""

    def __init__(self) -> None:
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        self.rank, self.size, self.barrier = world.rank, world.size, world.Barrier
        self._mpi, self._world = MPI, world
        self._window = MPI.Win.Allocate(8, 8, comm=world)
        self._window.Lock_all()

    def call(self, name: str, own: np.ndarray, all_: np.ndarray, sent: np.ndarray) -> Call:
        world, window, in_place = self._world, self._window, self._mpi.IN_PLACE
        other = (self.rank + 1) % self.size
        roots = cycle(range(self.size))
        one, old, result = np.ones(1), np.ones(1), np.empty_like(own)

        def put() -> None:
            window.Put(own, other)
            window.Flush(other)

        def get() -> None:
            window.Get(own, other)
            window.Flush(other)

        def fetch_add() -> None:
            window.Fetch_and_op(one, old, other)
            window.Flush(other)

        calls: dict[str, Call] = {
            "put": put,
            "get": get,
            "fetch_add": fetch_add,
            "barrier": world.Barrier,
            "broadcast": lambda: world.Bcast(own, next(roots)),
            "all_reduce": lambda: world.Allreduce(in_place, own),
            "all_gather": lambda: world.Allgather(own, all_),
            "exchange": lambda: world.Alltoall(sent, all_),
            "gather": lambda: world.Gather(own, all_, next(roots)),
            "scatter": lambda: world.Scatter(sent, own, next(roots)),
            "reduce": lambda: world.Reduce(own, result, root=next(roots)),
            "scan": lambda: world.Scan(own, result),
            "exscan": lambda: world.Exscan(own, result),
        }
        return calls[name]

    def end(self) -> None:
        self._window.Unlock_all()
        self._window.Free()


def serve(system: Selion | Mpi4py, name: str, address: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect("\0" + address)
        given = connection.makefile("rw")
        print(name, system.rank, file=given, flush=True)
        for line in given:
            operation, bytes_, count = line.split()
            elements = int(bytes_) // 8
            own, all_, sent = (np.full(elements * n, 0.0) for n in (1, system.size, system.size))
            is_idle = operation in one_sided and system.rank != 0
            turns = range(0 if is_idle else int(count))
            call = system.call(operation, own, all_, sent)
            system.barrier()
            start = time.perf_counter_ns()
            for _ in turns:
                call()
            elapsed = time.perf_counter_ns() - start
            system.barrier()
            print(elapsed / len(turns) if turns else 0.0, file=given, flush=True)
    system.end()


def main() -> None:
    name, address = sys.argv[1:]
    if name == "mpi4py":
        serve(Mpi4py(), name, address)
        return
    import selion

    selion.run(lambda world: serve(Selion(world), name, address))


if __name__ == "__main__":
    main()
