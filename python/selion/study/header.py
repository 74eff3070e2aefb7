# SPDX-License-Identifier: Apache-2.0
"""The first line of results.jsonl: by what, where and with which settings rows were measured."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path

from selion import known_machines, native, places, spec
from selion.mistake import Mistake
from selion.study.rows import Row
from selion.version import version

_digest_letters = 12
schema = 1  # of header and rows; a change that a reader must know of raises it


def commit() -> str | None:
    """Commit of the source tree, with a mark if files differ from it; of an installed package what
    its build wrote down; None where nobody knows."""
    root = places.source_tree()
    if root is None or not (root / ".git").exists():
        written = Path(__file__).resolve().parents[1] / "commit"
        return written.read_text(encoding="utf-8").strip() if written.is_file() else None
    try:
        found = subprocess.run(
            [
                "git",
                "-C",
                str(root),
                "describe",
                "--always",
                "--dirty",
                "--abbrev=40",
                "--exclude=*",
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None


def cpu_name() -> str:
    """The processor's name as the kernel gives it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.machine()


def constants(machines: Iterable[str]) -> dict[str, str]:
    """What tells the constants of simulated machines from others of the same name, such as those of
    another calibration. @param machines specs."""
    found: dict[str, str] = {}
    if native.try_load()[0] is None:  # nobody knows them
        return found
    for name in sorted({each.partition(",")[0] for each in machines}):
        if spec.parse(name).kind == "sim":
            with contextlib.suppress(Mistake):  # rows of it may be kept, and its file be gone
                text = known_machines.explain(name)
                found[name] = hashlib.sha256(text.encode()).hexdigest()[:_digest_letters]
    return found


def header(machines: Iterable[str] = ()) -> Row:
    """A header for rows that are measured now. @param machines specs of theirs."""
    knobs = {key: value for key, value in sorted(os.environ.items()) if key.startswith("SELION_")}
    return {
        "selion": version(),
        "schema": schema,
        "commit": commit(),
        "host": platform.node(),
        "cpu": cpu_name(),
        "cores": native.usable_cores(),
        "kernel": platform.release(),
        "compiler": native.compiler(),
        "knobs": knobs,
        "constants": constants(machines),
    }


def differences(then: Row, now: Row) -> list[str]:
    """What is not as it was when a results file was begun."""
    found = [
        f"{key} was {then.get(key)}, is {now[key]}"
        for key in ("selion", "commit", "host", "cpu", "knobs")
        if then.get(key) != now[key]
    ]
    known = then.get("constants", {})
    return found + [
        f"the machine '{name}' had other constants, such as those of another calibration"
        for name, digest in now["constants"].items()
        if known.get(name, digest) != digest
    ]
