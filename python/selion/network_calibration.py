# SPDX-License-Identifier: Apache-2.0
"""Measures the network between two ranks of the machine `fabric` and writes what was found as a
machine file of the simulator: a crossbar, since of two ranks nothing is learnt about a topology."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selion import calibration
from selion.calibration import Constant
from selion.measuring_program import ask_for_rows
from selion.mistake import Failure, Mistake
from selion.tuning import program

_program = "study_host"
_ranks = 2
_jobs, _repetitions = 5, 2  # of a quick look: 1 and 1
_tries = 30  # of figures that contradict each other
_short, _block, _long_block = 64, 4096, 262144
#: What is measured, by name: operation and bytes.
_calls = {
    "put": ("put", 8),
    "block_put": ("put", _block),
    "get": ("get", 8),
    "atomic": ("fetch_add", 8),
    "barrier": ("barrier", 0),
    "put_signal": ("put_signal", 8),
    "call": ("rpc", 8),
    "block": ("get", _block),
    "long_block": ("get", _long_block),
}

Figures = Mapping[str, Mapping[str, float]]


def _latency(op: str, size: int, machine: str, quick: bool) -> dict[str, float]:
    """The middle of what the repetitions of several jobs have found: where the system has put two
    ranks, they stay for as long as a job runs."""
    params = json.dumps({"op": op, "bytes": size})
    jobs, repetitions = (1, 1) if quick else (_jobs, _repetitions)
    words = ["--experiment", "latency", "--params", params, "--repetitions", str(repetitions),
             "--seed", "1"]
    rows = [row for _ in range(jobs)
            for row in ask_for_rows(_program, words, SELION_MACHINE=machine)]
    names = {"median": "value", "p5": "p5", "p95": "p95"}
    middle = {name: statistics.median(row[key] for row in rows) for name, key in names.items()}
    return {**middle, "n": sum(row["n"] for row in rows)}


def _check_ways(machine: str) -> None:
    """@error Mistake for ranks between which there is no network."""
    groups = program.team_of(machine).machine.rpartition("/")[2]
    if groups != f"{_ranks}x1":
        raise Mistake("The two ranks are on one host and share its memory, so no network would be "
                      "measured; name two hosts, as --hosts a,b.")


def _both_ways(found: Figures) -> float:
    return found["get"]["median"] - found["put"]["median"]


def _beside_a_way(found: Figures, name: str) -> float:
    """What ranks that meet take beside the time that their messages are under way."""
    return found[name]["median"] - _both_ways(found) / 2


def _moved_bytes(found: Figures) -> float:
    return found["long_block"]["median"] - found["block"]["median"]


@dataclass(frozen=True)
class Contradiction:
    """An operation took so little that no cost is left for what it is to tell.

    @param names of the figures concerned. @param sentence without its end.
    """

    names: tuple[str, ...]
    sentence: str


def contradiction(found: Figures) -> Contradiction | None:
    """The first that there is between figures."""
    ns = {name: f"{figure['median']:.5g} ns" for name, figure in found.items()}
    if _both_ways(found) <= 0:
        return Contradiction(("put", "get"), f"A get of 8 bytes took {ns['get']} and a put "
                             f"{ns['put']}, which leaves nothing for the way")
    if _moved_bytes(found) <= 0:
        return Contradiction(("block", "long_block"), f"A get of {_long_block} bytes took "
                             f"{ns['long_block']} and one of {_block} bytes {ns['block']}, which "
                             "leaves nothing for a byte")
    if _beside_a_way(found, "barrier") <= 0:
        return Contradiction(("put", "get", "barrier"), f"A barrier took {ns['barrier']}, a get of "
                             f"8 bytes {ns['get']} and a put {ns['put']}, which leaves nothing for "
                             "what a message takes to be sent alone")
    return None


def measure(machine: str, quick: bool) -> dict[str, dict[str, float]]:
    """Nanoseconds of calls of one rank on the other. What contradicts itself is measured again,
    and the least is kept: a disturbance is the usual reason, and none makes a call shorter.

    @error Mistake or Failure, with its sentence, if they cannot be started, share memory, or take
        what contradicts itself every time.
    """
    _check_ways(machine)
    found: dict[str, dict[str, float]] = {}
    names, sentence = tuple(_calls), ""
    for _ in range(_tries):
        for name in names:
            figure = _latency(*_calls[name], machine, quick)
            found[name] = min(figure, found.get(name, figure), key=lambda one: one["median"])
        doubt = contradiction(found)
        if doubt is None:
            return found
        names, sentence = doubt.names, doubt.sentence
    raise Failure(f"{sentence}; calibrate again while nothing else runs.")


def _fitted(figure: Mapping[str, float], on: str) -> str:
    spread = f"5 % {figure['p5']:.5g}, 95 % {figure['p95']:.5g}"
    return (f"fitted on {figure['n']:g} measurements of two ranks, median "
            f"{figure['median']:.5g} ns ({spread}): {on}")


def _network(found: Figures) -> list[Constant]:
    return [
        Constant("latency_ns", _both_ways(found) / 2,
                 _fitted(found["get"],
                         "a get of 8 bytes, less what a put takes; half of that, each way")),
        Constant("port_ns_per_byte", _moved_bytes(found) / (_long_block - _block),
                 _fitted(found["long_block"],
                         f"a get of {_long_block} bytes, less one of {_block}; a byte of it")),
    ]


def _origin(figure: Mapping[str, float], less_ns: float, on: str) -> str:
    rest = figure["median"] - less_ns
    source = _fitted(figure, on + calibration.no_less(rest))
    return str(Constant("origin_ns", max(rest, 0), source))


def _operation(name: str, figure: Mapping[str, float], less_ns: float, on: str) -> list[str]:
    return ["", f"[operations.{name}]", _origin(figure, less_ns, on)]


def _active_message(found: Figures) -> list[str]:
    """A call goes and its answer comes back: each is a message, and costs half of what is left."""
    rest = (found["call"]["median"] - _both_ways(found)) / 2
    source = _fitted(found["call"], "an rpc of 8 bytes, less both ways; half of that, for the call "
                                    "and for its answer" + calibration.no_less(rest))
    return ["", "[operations.active_message]",
            *(str(Constant(key, max(rest, 0), source)) for key in ("origin_ns", "reply_ns"))]


def _puts(found: Figures) -> list[str]:
    """Short ones in a row leave together, a block by itself."""
    moved_ns = _block * _moved_bytes(found) / (_long_block - _block)
    return [
        "",
        "[[operations.put]]",
        str(Constant("up_to_bytes", _short, "assumed because those of 8 bytes were measured")),
        _origin(found["put"], 0, "a put of 8 bytes, many in a row"),
        "",
        "[[operations.put]]",
        _origin(found["block_put"], moved_ns,
                f"a put of {_block} bytes, many in a row, less what its bytes take"),
    ]


def _operations(found: Figures) -> list[str]:
    put = found["put"]
    way = _both_ways(found) / 2
    started = "a put of 8 bytes, many in a row"
    return [
        *_puts(found),
        *_operation("get", put, 0, f"{started}: what it takes to be sent"),
        # Many in a row leave together; those for which somebody waits leave alone.
        *_operation("signal", found["barrier"], way,
                    "a barrier of the two, in which each sends one; less its way"),
        *_operation("put_signal", found["put_signal"], way,
                    "a put of 8 bytes with a signal to and fro, one way; less that"),
        *_active_message(found),
        *_operation("atomic", found["atomic"], _both_ways(found),
                    "a fetch_add of 8 bytes, less both ways"),
    ]


def machine_file(processor: Mapping[str, Any], found: Figures, where: str, quick: bool) -> str:
    """The text of a machine file that says what was found.

    @pre the figures do not contradict each other.
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
