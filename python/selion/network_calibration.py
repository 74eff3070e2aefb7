# SPDX-License-Identifier: Apache-2.0
"""Measures the network between two ranks of the machine `fabric` and writes what was found as a
machine file of the simulator: a crossbar, since of two ranks nothing is learnt about a topology."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from selion import calibration
from selion.calibration import Constant
from selion.measuring_program import ask

_program = "study_host"
_ranks = 2
_block, _long_block = 4096, 262144
#: What is measured, by name: operation and bytes.
_calls = {
    "put": ("put", 8),
    "get": ("get", 8),
    "atomic": ("fetch_add", 8),
    "block": ("get", _block),
    "long_block": ("get", _long_block),
}

Figures = Mapping[str, Mapping[str, float]]


def _latency(op: str, size: int, machine: str) -> dict[str, float]:
    params = json.dumps({"op": op, "bytes": size})
    row = ask(_program, ["--experiment", "latency", "--params", params, "--repetitions", "1",
                         "--seed", "1"], SELION_MACHINE=machine)
    return {"median": row["value"], "p5": row["p5"], "p95": row["p95"], "n": row["n"]}


def measure(machine: str) -> dict[str, dict[str, float]]:
    """Nanoseconds of calls of one rank on the other.

    @error Mistake or Failure, with its sentence, if they cannot be started.
    """
    return {name: _latency(op, size, machine) for name, (op, size) in _calls.items()}


def _fitted(figure: Mapping[str, float], on: str) -> str:
    spread = f"5 % {figure['p5']:.5g}, 95 % {figure['p95']:.5g}"
    return (f"fitted on {figure['n']:g} measurements of two ranks, median "
            f"{figure['median']:.5g} ns ({spread}): {on}")


def _network(found: Figures) -> list[Constant]:
    put, get = found["put"], found["get"]
    bytes_between = _long_block - _block
    per_byte = (found["long_block"]["median"] - found["block"]["median"]) / bytes_between
    return [
        Constant("latency_ns", (get["median"] - put["median"]) / 2,
                 _fitted(get, "a get of 8 bytes, less what a put takes; half of that, each way")),
        Constant("port_ns_per_byte", per_byte,
                 _fitted(found["long_block"],
                         f"a get of {_long_block} bytes, less one of {_block}; a byte of it")),
    ]


def _operation(name: str, figure: Mapping[str, float], less_ns: float, on: str) -> list[str]:
    value = figure["median"] - less_ns
    return ["", f"[operations.{name}]", str(Constant("origin_ns", value, _fitted(figure, on)))]


def _operations(found: Figures) -> list[str]:
    put = found["put"]
    both_ways = found["get"]["median"] - put["median"]
    started = "a put of 8 bytes, many in a row"
    same = f"{started}: what any operation takes to be sent"
    return [
        *_operation("put", put, 0, started),
        *_operation("signal", put, 0, same),
        *_operation("active_message", put, 0, same),
        *_operation("get", put, 0, same),
        *_operation("atomic", found["atomic"], both_ways,
                    "a fetch_add of 8 bytes, less both ways"),
    ]


def machine_file(processor: Mapping[str, Any], found: Figures, where: str, quick: bool) -> str:
    """The text of a machine file that says what was found.

    @param processor what the measuring program says of this host. @param where hosts, in words.
    """
    how = "selion calibrate -m fabric" + (" --quick" if quick else "")
    return "\n".join([
        f"# Written by '{how}' for {where}.",
        "# Predictions hold for that network, as busy as it was then.",
        "",
        "[machine]",
        'name = "this-network"',
        f"summary = {json.dumps(f'the network that was measured: two ranks, {where}')}",
        str(Constant("ranks", _ranks, "given: two were measured; a spec may ask for others")),
        "",
        "[processor]",
        *map(str, calibration.processor(processor)),
        "",
        "[network]",
        'kind = "crossbar"',
        *map(str, _network(found)),
        "",
        "[reception]",
        'kind = "polling"',
        'source = "given: ranks of the machine fabric serve others in their own calls"',
        "acknowledges_puts = true",
        *_operations(found),
    ]) + "\n"
