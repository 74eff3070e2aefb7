#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the DMA engine of machines/epiphany-iii.toml.

Two constants, the set-up and the cycles of a byte, on the six times of a transfer from core 0 to
core 15 that nobody disturbs: the largest relative error becomes smallest. The wire's own latency,
(hops + 1) * 1.5 cycles, is not part of the set-up.
"""

from __future__ import annotations

from machine_file import report
from minimax import minimax

_cycles = {8: 332, 512: 546, 2048: 1088, 4096: 1955, 8192: 3683, 12288: 5303}
_wire = (6 + 1) * 1.5  # three columns and three rows


def main() -> int:
    setup, per_byte = minimax(
        [[1, count] for count in _cycles],
        [cycles - _wire for cycles in _cycles.values()],
        list(_cycles.values()),
    )
    print("bytes  published  fitted  error")
    for count, cycles in _cycles.items():
        fitted = setup + per_byte * count + _wire
        print(f"{count:5}  {cycles:9}  {fitted:6.0f}  {fitted / cycles - 1:+.1%}")
    # A tick is half a cycle.
    fitted = {"network.dma_setup_cycles": round(2 * setup) / 2}
    return report("epiphany-iii", fitted, 1) | report(
        "epiphany-iii", {"network.dma_cycles_per_byte": per_byte}, 4
    )


if __name__ == "__main__":
    raise SystemExit(main())
