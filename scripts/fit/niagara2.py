#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits a message between processes of machines/niagara2.toml on one figure: a barrier of 64
processes takes about 1,000 us.

The barrier is a dissemination: in each of its rounds every process sends one message and waits for
one, so a round takes a message's time at its origin and at its target. The same constant stands for
either, and for all operations: a get or an atomic is a message there and one back.
"""

from __future__ import annotations

from math import ceil, log2

from machine_file import report

_processes = 64
_barrier_us = 1000.0


def main() -> int:
    rounds = ceil(log2(_processes))
    end = _barrier_us / rounds / 2
    print(f"{rounds} rounds of two ends: {end:.2f} us at each")
    fitted = {}
    for operation in ("signal", "put", "active_message"):
        fitted[f"operations.{operation}.origin_us"] = end
        fitted[f"operations.{operation}.target_us"] = end
    for operation in ("get", "atomic"):
        fitted[f"operations.{operation}.origin_us"] = end
        fitted[f"operations.{operation}.target_us"] = 2 * end
        fitted[f"operations.{operation}.reply_us"] = end
    return report("niagara2", fitted, 2)


if __name__ == "__main__":
    raise SystemExit(main())
