# SPDX-License-Identifier: Apache-2.0
"""A program that uses all of the Python face. A type checker reads it, and ranks run it."""

from __future__ import annotations

import array
import sys
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import selion
from selion.calls import Future
from selion.layout import block, block_cyclic, cyclic, on_grid, runs, tiles, whole
from selion.split_phase import Future as Collective
from selion.spread import Tile
from selion.transfers import Transfer


def collectives(world: selion.World) -> None:
    mine: NDArray[np.float64] = np.full(4, float(world.rank))
    assert_type(world.all_reduce(1), int)
    assert_type(world.all_reduce(0.5, "maximum"), float)
    assert_type(world.all_reduce(mine), NDArray[np.float64])
    assert_type(world.all_reduce(mine, out=mine), NDArray[np.float64])
    assert_type(world.all_reduce(array.array("d", [1, 2])), NDArray[Any])
    assert_type(world.broadcast(b"bytes"), bytes)
    assert_type(world.broadcast(mine, 0), NDArray[np.float64])
    world.broadcast(None)
    room: NDArray[np.float64] = np.empty((world.size, 4))
    assert_type(world.all_gather(mine, out=room), NDArray[np.float64])
    gathered = world.gather(mine, 0, out=room if world.rank == 0 else None)
    assert_type(gathered, NDArray[np.float64] | None)
    world.scatter(room if world.rank == 0 else None, out=mine)
    sent: NDArray[np.int64] = np.arange(world.size)
    assert_type(world.exchange(sent, out=sent.copy()), NDArray[np.int64])
    assert_type(world.reduce_scatter([1] * world.size), int)
    assert_type(world.reduce_scatter(room), NDArray[np.float64])
    part: NDArray[np.float64] = np.empty((1, 4))
    assert_type(world.reduce_scatter(room, "maximum", out=part), NDArray[np.float64])
    world.gather(1)
    world.all_gather(None)
    world.scatter([0] * world.size)
    world.exchange([0] * world.size)
    world.all_gatherv(b"any size")
    world.gatherv(mine[: world.rank])
    world.scatterv([mine] * world.size)
    world.exchangev([mine] * world.size)
    world.reduce(1)
    world.scan(mine)
    world.exscan(1, "plus", 0)
    later = world.split_phase.all_reduce(mine)
    assert_type(later, Collective[Any])
    later.wait(60)
    world.arrive()
    world.wait()
    world.sync()
    world.barrier()


def teams(world: selion.World) -> None:
    half = world.split(world.rank % 2)
    assert_type(half, selion.Subteam | None)
    if half is not None:
        with half:
            half.barrier()
            assert half.rank_of(half.world_rank(0)) == 0
    with world.split_by("node") as node, node.with_modes("all", "none") as loose:
        loose.barrier()
    if (first := world.subteam([0])) is not None:
        first.free()
    print(world.explain("broadcast", 8).why, file=sys.stderr)


def arrays(world: selion.World) -> None:
    part = world.allocate((2, 3), np.float64)
    assert_type(part, selion.GlobalArray)
    other = (world.rank + 1) % world.size
    part.put(np.ones((2, 3)), rank=other)
    part.put([1, 2.5], other, offset=4)
    part.put(memoryview(array.array("d", [1])), other)
    world.quiet(other)
    world.barrier()
    assert_type(part.get(other), NDArray[Any])
    two: NDArray[np.float64] = np.empty(2)
    assert_type(part.get(other, 0, 2, out=two), NDArray[np.float64])
    into = bytearray(8)
    assert_type(world.allocate(8, "u1").get(other, out=into), bytearray)
    part.item(other, 1)
    transfer = part.start_get(other)
    assert_type(transfer, Transfer[NDArray[Any]])
    assert_type(transfer.result(), NDArray[Any])
    assert part.start_put(3.5, other).wait(60) and transfer.is_ready
    bell = world.signal()
    part.put_signal([1.0], other, bell, set=1)
    assert_type(bell.wait_until(1, timeout=60), bool)
    bell.notify(world.rank, add=2)
    world.fence()
    counters = world.allocate(4, np.int64)
    counters.fetch_add(0, 0, 1)
    counters.add(0, 0, 1)
    counters.fetch_min(0, 1, -1)
    counters.fetch_max(0, 1, 9)
    assert_type(counters.fetch_and(0, 2, 3), int)
    assert_type(counters.fetch_or(0, 2, 3), int)
    assert_type(counters.fetch_xor(0, 2, 3), int)
    counters.swap(0, 3, 5)
    assert_type(counters.compare_swap(0, 3, 5, 6), int)
    counters.atomic_put(0, 3, 7)
    counters.atomic_get(0, 3)
    print(part.shape, part.dtype, part.size, np.asarray(part).shape, file=sys.stderr)
    world.barrier()
    bell.free()
    part.free()


def spread(world: selion.World) -> None:
    layouts = [
        None,
        tiles(2, 2),
        runs(4),
        on_grid(block(world.size), whole()),
        on_grid(block_cyclic(2, world.size), cyclic(1)),
    ]
    for layout in layouts:
        a = world.spread((8, 4), np.int32, layout)
        assert_type(a, selion.SpreadArray)
        for index in a.mine():
            a[index] = sum(index)
        world.barrier()
        assert a[3, 2] == 5 and a[1:3, ::2].shape == (2, 2)
        assert_type(a.read((slice(1, 2), ...)), NDArray[Any])
        assert_type(a.my_tiles(), list[Tile])
        assert_type(a.owner(0, 0), int)
        a.parts.fetch_add(a.owner(0, 0), a.local_index(0, 0), 1)
        world.barrier()
        a.free()


def calls(world: selion.World) -> None:
    def total(values: list[int], *, factor: int = 1) -> int:
        return factor * sum(values)

    answer = world.call((world.rank + 1) % world.size, total, [1, 2, 3], factor=2)
    assert_type(answer, Future[int])
    assert_type(answer.result(60), int)
    world.send(0, total, [1])
    assert_type(world.progress(), bool)


def measuring(world: selion.World) -> None:
    with world.meter("piece") as meter:
        world.charge(flops=3)
    assert_type(meter.summary(world).mean, float)
    assert_type(world.now(), int)


def main(world: selion.World, text: str = "") -> str:
    for part in (collectives, teams, arrays, spread, calls, measuring):
        part(world)
        world.barrier()
    return f"{text} {world.rank} on {world.machine}"


if __name__ == "__main__":
    assert_type(selion.run(main), None)
    found = selion.run(main, "by value", machine="processes:2", time_limit=60)
    assert_type(found, list[str])
    print(found)
    try:
        selion.run(collectives, machine="processes:2", environment={"SELION_HEAP": "none"})
    except (selion.RankFailed, selion.Mistake, selion.Failure) as failure:
        print(type(failure).__name__)
    assert_type(selion.usable_cores(), int)
