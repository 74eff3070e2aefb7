# SPDX-License-Identifier: Apache-2.0
"""Measures this host and writes what was found as a machine file of the simulator."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selion.measuring_program import ask
from selion.mistake import Failure, Mistake
from selion.whole_file import write_whole

_program = "study_calibrate"


@dataclass(frozen=True)
class Constant:
    """A line of the file. The unit is in the key."""

    key: str
    value: float
    source: str

    def __str__(self) -> str:
        value = self.value if isinstance(self.value, int) else f"{max(self.value, 0):.3g}"
        return f"{self.key} = {{ value = {value}, source = {json.dumps(self.source)} }}"


def measure(quick: bool) -> dict[str, Any]:
    """What the measuring program says of this host.

    @error Failure if it is not built or fails, with its sentence.
    """
    return ask(_program, ["--quick"] if quick else [], SELION_MACHINE="threads")


def _size(count: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:g} {unit}"
    return f"{count} bytes"


def _fitted(figure: Mapping[str, float], unit: str, on: str) -> str:
    spread = f"5 % {figure['p5']:.3g}, 95 % {figure['p95']:.3g}"
    return (
        f"fitted on {figure['n']} measurements of this host, median {figure['median']:.3g} {unit} "
        f"({spread}): {on}"
    )


def no_less(rest: float) -> str:
    """What is said of a difference of which nothing is left."""
    return "" if rest > 0 else f"; that is {rest:.3g} ns, and no cost is less than 0"


def _direct(figures: Mapping[str, Any], key: str, name: str, on: str) -> Constant:
    """A constant that is the figure itself, in nanoseconds."""
    return Constant(key, figures[name]["median"], _fitted(figures[name], "ns", on))


def processor(found: Mapping[str, Any]) -> list[Constant]:
    """What a core takes for its own work."""
    figures = found["figures"]
    own = _size(found["own_cache_bytes"])
    product = figures["product_sum_ns"]
    flop = (product["median"] - 2 * figures["load_ns"]["median"]) / 2
    return [
        Constant(
            "flop_ns",
            flop,
            _fitted(product, "ns", "a step of a sum of products; half of it less its two loads"
                                   + no_less(flop)),
        ),
        _direct(
            figures, "int_op_ns", "int_op_ns", "an addition or exclusive or, each on the last one"
        ),
        _direct(figures, "load_ns", "load_ns", "a load of 8 bytes from the first-level cache"),
        _direct(figures, "store_ns", "store_ns", "a store of 8 bytes to the first-level cache"),
        _direct(figures, "copied_byte_ns", "copied_byte_ns", f"memcpy of {own}, a byte of it"),
        Constant(
            "call_ns",
            1.0,
            "assumed because entering an operation takes a few instructions, which cannot be "
            "told from what it does",
        ),
        _direct(figures, "poll_ns", "poll_ns", "a pause and a load"),
    ]


def _ways(found: Mapping[str, Any]) -> list[Constant]:
    """Between two cores. What the host has no cores for is assumed."""
    figures = found["figures"]
    hit = figures["load_ns"]["median"]
    crossing = "a load of a line that {} has just changed"
    near_core, far_core = "a core of the same cache", "a core of another cache"
    near, far = figures.get("near_ns"), figures.get("far_ns")
    if near:
        near_line = _direct(figures, "near_ns", "near_ns", crossing.format(near_core))
    else:
        value = far["median"] if far else figures["from_memory_ns"]["median"]
        near_line = Constant(
            "near_ns", value, "assumed because no two usable cores share a cache; as far as others"
        )
    if far:
        far_line = _direct(figures, "far_ns", "far_ns", crossing.format(far_core))
    else:
        far_line = Constant(
            "far_ns",
            near_line.value,
            "assumed because all usable cores share a cache; nothing is farther than near_ns",
        )
    between = (near or far or {"median": near_line.value})["median"]
    flag = figures.get("flag_ns")
    if flag:
        rest = flag["median"] - 2 * between
        on = "a flag one way, less two crossings of its line" + no_less(rest)
        wake = Constant("wake_ns", rest, _fitted(flag, "ns", on))
    else:
        wake = Constant(
            "wake_ns",
            figures["poll_ns"]["median"],
            "assumed because there is one usable core: a waiting thread looks once more",
        )
    return [
        Constant(
            "same_core_ns",
            hit,
            "assumed because each rank has a core of its own; the key is not used",
        ),
        near_line,
        far_line,
        Constant(
            "line_service_ns",
            between,
            "assumed because a line goes from core to core one way after the other, each as long "
            "as near_ns",
        ),
        wake,
    ]


def _node(found: Mapping[str, Any]) -> list[Constant]:
    figures = found["figures"]
    large, block = _size(found["large_bytes"]), _size(found["block_bytes"])
    memory, copied = figures["memory_bytes_per_ns"], figures["block_byte_ns"]
    shape = "given: the cores of this host that are usable, as hwloc lays them out"
    per_socket = memory["median"] / found["sockets"]
    atomic = figures["atomic_ns"]["median"] - figures["load_ns"]["median"]
    return [
        *(Constant(key, found[key], shape) for key in ("sockets", "cores_per_socket")),
        Constant("threads_per_core", 1, "given: Selion puts one rank on a core"),
        Constant(
            "fpus_per_core", 1, "assumed because one rank a core finds its units always free"
        ),
        Constant("cores_per_cache", found["cores_per_cache"], shape),
        Constant("line_bytes", found["line_bytes"], "given: what hwloc says of the last cache"),
        _direct(figures, "hit_ns", "load_ns", "a load of 8 bytes from the first-level cache"),
        *_ways(found),
        _direct(
            figures, "from_memory_ns", "from_memory_ns", f"loads all over {large}, one by one"
        ),
        Constant(
            "atomic_ns",
            atomic,
            _fitted(figures["atomic_ns"], "ns", "a locked addition in its own cache; less a load"
                                                + no_less(atomic)),
        ),
        Constant(
            "memory_gb_per_s",
            per_socket,
            _fitted(memory, "GB/s", f"all usable cores read {large} at once; of one socket"),
        ),
        Constant(
            "copy_gb_per_s",
            1 / copied["median"],
            _fitted(copied, "ns", f"memcpy of {block}, a byte of it"),
        ),
    ]


def machine_file(found: Mapping[str, Any], quick: bool) -> str:
    """The text of a machine file that says what was found."""
    cores = f"{found['cores']} usable core{'' if found['cores'] == 1 else 's'}"
    how = "selion calibrate --quick" if quick else "selion calibrate"
    lines = [
        f"# Written by '{how}' on a host with {cores}.",
        "# Predictions hold for that host, as busy as it was then.",
        "",
        "[machine]",
        'name = "this-host"',
        f"summary = {json.dumps(f'the host that was measured: {cores}, {platform.machine()}')}",
        "",
        "[processor]",
        *map(str, processor(found)),
        "",
        "[node]",
        *map(str, _node(found)),
    ]
    return "\n".join(lines) + "\n"


def check_target(path: Path, force: bool) -> None:
    """Finds before anything is measured what would keep the file from being written.

    @error Mistake with what to change.
    """
    if path.is_dir():
        raise Mistake(f"'{path}' is a folder; name a file, such as {path}/this-host.toml.")
    if path.exists() and not force:
        raise Mistake(f"'{path}' exists already; --force replaces it, -o writes elsewhere.")
    there = path if path.exists() else next(each for each in path.parents if each.exists())
    if there != path and not there.is_dir():
        raise Mistake(f"'{path}' cannot be written: '{there}' is no folder.")
    if not os.access(there, os.W_OK):
        raise Mistake(f"'{path}' cannot be written: no permission.")


def write(path: Path, text: str, force: bool) -> None:
    """Writes the file whole or not at all, and makes its folder; a file that has come meanwhile is
    kept without `force`.

    @error Failure with the system's reason.
    """
    if force:
        write_whole(path, text)
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            unfinished.write_text(text, encoding="utf-8")
            os.link(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as problem:
        raise Failure(f"'{path}' cannot be written: {problem.strerror}.") from None
