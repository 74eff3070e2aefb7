# SPDX-License-Identifier: Apache-2.0
"""The first line of results.jsonl: by what, where and with which settings rows were measured."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from selion import known_machines, native, places, spec
from selion.mistake import Mistake
from selion.study.rows import Row
from selion.version import version

_digest_letters = 12
#: What programs are made of.
_code = ("CMakeLists.txt", "cmake", "include", "machines", "python", "src", "studies")
schema = 1  # of header and rows; a change that a reader must know of raises it


def commit() -> str | None:
    """Commit of the source tree, with a mark if files differ from it; of an installed package what
    its build wrote down; None where nobody knows."""
    root = places.source_tree()
    if root is None or not (root / ".git").exists():
        written = Path(__file__).resolve().parents[1] / "commit"
        return written.read_text(encoding="utf-8").strip() if written.is_file() else None
    found = _git(root, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    return found.decode().strip() or None if found is not None else None


def changes(of: str | None) -> str | None:
    """What tells code that differs from a commit from other code that does; "unknown" where nobody
    can tell; None where only other files differ, or none.

    @param of as `commit` says it.
    """
    if of is None or not of.endswith("-dirty"):
        return None
    root = places.source_tree()
    if root is None or not (root / ".git").exists():
        return "unknown"
    found = _git(root, "diff-index", "-p", "--binary", "--full-index", "--no-textconv",
                 "--no-ext-diff", "HEAD", "--", *_code)
    if found is None:
        return "unknown"
    return hashlib.sha256(found).hexdigest()[:_digest_letters] if found else None


def _git(root: Path, *words: str) -> bytes | None:
    """What git prints; None if it cannot."""
    try:
        return subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, check=True, timeout=30
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None


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


def tuning() -> str | None:
    """What tells the table of measured collectives that jobs use here from others; "none" where
    there is none, None where nobody can tell."""
    module, _ = native.try_load()
    if module is None:
        return None
    try:
        table = Path(module.tuning_path_in_use()).read_bytes()
    except (OSError, ValueError):  # ValueError: SELION_TUNING is not understood
        return "none"
    return hashlib.sha256(table).hexdigest()[:_digest_letters]


def header(machines: Iterable[str] = ()) -> Row:
    """A header for rows that are measured now. @param machines specs of theirs."""
    knobs = {key: value for key, value in sorted(os.environ.items()) if key.startswith("SELION_")}
    measured_by = commit()
    return {
        "selion": version(),
        "schema": schema,
        "commit": measured_by,
        "changes": changes(measured_by),
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "cpu": cpu_name(),
        "cores": native.usable_cores(),
        "kernel": platform.release(),
        "compiler": native.compiler(),
        "tuning": tuning(),
        "knobs": knobs,
        "constants": constants(machines),
    }
