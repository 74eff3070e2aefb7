#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the handler time of machines/now-ultrasparc.toml on one figure: a remote read of a 32-bit
variable without cache takes 30 us.

The read is two short messages. Each costs its sender and its receiver the overhead and takes the
latency; the answer also carries four bytes; what is left is the handler at the home.
"""

from __future__ import annotations

from machine_file import report

_read_us = 30.0
_overhead_us = 2.9
_latency_us = 5.0
_bytes = 4
_mb_per_s = 38.0


def main() -> int:
    wires = 2 * _latency_us + _bytes / _mb_per_s
    handler = _read_us - wires - 4 * _overhead_us
    print(f"wires {wires:.3f} us, overheads {4 * _overhead_us:.1f} us, handler {handler:.3f} us")
    fitted = {
        "operations.get.origin_us": _overhead_us,
        "operations.get.target_us": 2 * _overhead_us + handler,  # receive, handle, answer
        "operations.get.reply_us": _overhead_us,
    }
    return report("now-ultrasparc", fitted, 2)


if __name__ == "__main__":
    raise SystemExit(main())
