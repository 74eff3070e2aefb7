# SPDX-License-Identifier: Apache-2.0
"""selion cache-advice: which blocks a program's coherent memory should have, and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from selion import cache_advice
from selion.cache_advice import Costs, Space
from selion.cli.options import (
    AsJson,
    Machine,
    Program,
    ProgramArguments,
    Ranks,
    before_a_program,
    chosen_machine,
    program_line,
)
from selion.cli.output import answers_mistakes, print_json, print_table

context_settings = before_a_program

_columns = ("block_bytes", "misses", "cold", "invalidated", "false_sharing", "upgrades", "at_home",
            "messages", "moved_KiB", "waiting_ms")  # fmt: skip


def _print_sizes(space: Space, costs: Costs) -> None:
    lines = []
    for size in sorted({one.block_bytes for one in space.arrays}):
        whole = space.sum(size)
        counts = [size, whole.misses, whole.cold, whole.invalidated, whole.false_sharing,
                  whole.upgrades, whole.at_home, whole.messages,
                  whole.moved_bytes // 1024]  # fmt: skip
        lines.append([*map(str, counts), f"{costs.waiting_ms(whole):.3f}"])
    print_table(_columns, lines)


def _print_space(space: Space, costs: Costs) -> None:
    own = space.sum(space.block_bytes)
    names = ", ".join(space.names) or "no array with a name"
    print(f"space {space.number} ({names}): {own.accesses} accesses of {space.ranks} ranks, "
          f"{own.remote_accesses} of them to others' memory")  # fmt: skip
    if space.left_out:
        print(f"the traces had no room for the last {space.left_out} accesses")
    _print_sizes(space, costs)
    print(f"the run itself, with {space.block_bytes} bytes: {space.misses} misses, "
          f"{space.waited_ps * 1e-9:.3f} ms")  # fmt: skip
    best = costs.best_size(space.arrays)
    if best is None:
        print("best: any, because nobody would have waited with blocks of any size")
    elif best == space.block_bytes:
        print(f"best: blocks of {best} bytes, as they are")
    else:
        print(f"best: blocks of {best} bytes, {costs.waiting_ms(space.sum(best)):.3f} ms instead "
              f"of {costs.waiting_ms(own):.3f}")  # fmt: skip
    _print_arrays(space, costs, best)
    for one in space.worst:
        print(f"false sharing: {one.misses} misses in the block at byte {one.offset} of "
              f"{one.array or 'no array'}, rank {one.home}'s part")  # fmt: skip


def _print_arrays(space: Space, costs: Costs, best: int | None) -> None:
    """Those that would rather have a space of their own."""
    for name in space.names:
        alone = [one for one in space.arrays if one.array == name]
        size = costs.best_size(alone)
        if size is not None and size != best:
            print(f"in a space of its own, {name} would do best with blocks of {size} bytes")


def _as_json(spaces: list[Space], costs: Costs) -> dict[str, Any]:
    return {
        "message_ns": costs.message_ps / 1000,
        "byte_ns": costs.byte_ps / 1000,
        "spaces": [{**asdict(one), "best_block_bytes": costs.best_size(one.arrays)}
                   for one in spaces],
    }  # fmt: skip


@answers_mistakes("cache-advice")
def command(
    program: Program,
    arguments: ProgramArguments = None,
    machine: Machine = None,
    ranks: Ranks = None,
    as_json: AsJson = False,
) -> None:
    """Run a program twice, and say which blocks its coherent memory should have.

    All its accesses are written down and replayed with blocks of 8 to 65536 bytes, by
    invalidation and with room for all copies. What waiting costs is fitted on the two runs, which
    have blocks of different sizes. Counting slows the program down.
    """
    line = program_line(program, arguments)
    chosen = chosen_machine(machine, ranks)
    spaces, costs = cache_advice.advise(line, {"SELION_MACHINE": chosen} if chosen else {})
    if as_json:
        print_json(_as_json(spaces, costs))
        return
    for space in spaces:
        _print_space(space, costs)
        print()
    print(f"waiting of all ranks, fitted on two runs: {costs.message_ps / 1000:.1f} ns for a "
          f"message, {costs.byte_ps / 1000:.3f} ns for a byte of a block")  # fmt: skip
