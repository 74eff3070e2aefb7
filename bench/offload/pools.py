# SPDX-License-Identifier: Apache-2.0
"""Pools of Python beside each other: a function that does nothing, and the sum of 1 MB, with one
worker each. Prints a JSON line for each contestant, with its nanoseconds per call, one number a
round. Ray and Dask take part where they are installed."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager

import numpy as np

from selion.offload import Pool

Call = Callable[[], object]
megabyte = np.ones(1 << 17)


def nothing() -> None:
    return None


def total(array: np.ndarray) -> float:
    return float(array.sum())


class Contestant:
    """A pool's two calls, each waited for."""

    def __init__(self, name: str, empty: Call, large: Call) -> None:
        self.name = name
        self.calls = {"submit and result": empty, "submit and result, 1 MB": large}
        self.rounds: dict[str, list[float]] = {operation: [] for operation in self.calls}


@contextmanager
def selion() -> Iterator[list[Contestant]]:
    with Pool(workers=1) as pool:
        own = pool.array(megabyte.shape)
        own[:] = megabyte
        submit = pool.submit
        yield [
            Contestant(
                "selion",
                lambda: submit(nothing).result(),
                lambda: submit(total, megabyte).result(),
            ),
            Contestant(
                "selion, array of the pool",
                lambda: submit(nothing).result(),
                lambda: submit(total, own).result(),
            ),
        ]


@contextmanager
def standard_library() -> Iterator[list[Contestant]]:
    with ProcessPoolExecutor(1) as pool:
        submit = pool.submit
        yield [
            Contestant(
                "ProcessPoolExecutor",
                lambda: submit(nothing).result(),
                lambda: submit(total, megabyte).result(),
            )
        ]


@contextmanager
def ray_actor() -> Iterator[list[Contestant]]:
    try:
        import ray
    except ImportError:
        yield []
        return

    @ray.remote
    class Worker:
        def nothing(self) -> None:
            return None

        def total(self, array: np.ndarray) -> float:
            return float(array.sum())

    ray.init(num_cpus=1, logging_level="error", include_dashboard=False)
    worker = Worker.remote()
    yield [
        Contestant(
            "Ray actor",
            lambda: ray.get(worker.nothing.remote()),
            lambda: ray.get(worker.total.remote(megabyte)),
        )
    ]
    ray.shutdown()


@contextmanager
def dask() -> Iterator[list[Contestant]]:
    try:
        from distributed import Client
    except ImportError:
        yield []
        return
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        yield [
            Contestant(
                "Dask",
                lambda: client.submit(nothing, pure=False).result(),
                lambda: client.submit(total, megabyte, pure=False).result(),
            )
        ]


def least_block_ns(call: Call, block_s: float) -> float:
    """The least of several short blocks, as nanoseconds of one call."""
    blocks = []
    for _ in range(5):
        count = 0
        start = time.perf_counter()
        while (now := time.perf_counter()) < start + block_s:
            call()
            count += 1
        blocks.append((now - start) * 1e9 / count)
    return min(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--block-ms", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    order = random.Random(given.seed)
    with ExitStack() as pools:
        contestants: list[Contestant] = []
        for pool in (standard_library, dask, ray_actor, selion):
            contestants += pools.enter_context(pool())
        for contestant in contestants:  # functions travel, caches fill
            for call in contestant.calls.values():
                for _ in range(20):
                    call()
        for _ in range(given.rounds):
            for contestant in order.sample(contestants, len(contestants)):
                for operation, call in contestant.calls.items():
                    ns = least_block_ns(call, given.block_ms / 1000)
                    contestant.rounds[operation].append(ns)
    for contestant in contestants:
        for operation, rounds in contestant.rounds.items():
            if contestant.name == "selion, array of the pool" and "1 MB" not in operation:
                continue
            print(
                json.dumps(
                    {
                        "operation": operation,
                        "machine": "python",
                        "contestant": contestant.name,
                        "is_selion": contestant.name == "selion",
                        "ns": rounds,
                        "median_ns": statistics.median(rounds),
                    }
                )
            )


if __name__ == "__main__":
    main()
