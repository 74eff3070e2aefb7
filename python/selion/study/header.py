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
#: What is compiled into the module and into the programs, beside what each has of its own.
_compiled = ("include", "src")
_source_suffixes = (".c", ".cpp", ".h", ".hpp")
#: How variables begin that jobs go by: Selion's, and those of the networks' library.
_knobs = ("SELION_", "FI_")
_dirty = "-dirty"  # as git marks a commit from which files differ
schema = 1  # of header and rows; a change that a reader must know of raises it


def commit(programs: Iterable[Path] = ()) -> str | None:
    """Commit of the source tree, with a mark if files differ from it, or what was compiled does;
    of an installed package what its build wrote down; None where nobody knows.

    @param programs that run beside the compiled module.
    """
    root = places.source_tree()
    if root is None or not (root / ".git").exists():
        written = Path(__file__).resolve().parents[1] / "commit"
        return written.read_text(encoding="utf-8").strip() if written.is_file() else None
    found = _git(root, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    name = found.decode().strip() if found is not None else ""
    if name and not name.endswith(_dirty) and _is_outdated(root, programs):
        name += _dirty
    return name or None


def changes(of: str | None, programs: Iterable[Path] = ()) -> str | None:
    """What tells code that differs from a commit from other code that does; "unknown" where nobody
    can tell; None where only other files differ, or none.

    @param of as `commit` says it of the same programs.
    """
    if of is None or not of.endswith(_dirty):
        return None
    root = places.source_tree()
    if root is None or not (root / ".git").exists() or _is_outdated(root, programs):
        return "unknown"
    found = _git(root, "diff-index", "-p", "--binary", "--full-index", "--no-textconv",
                 "--no-ext-diff", "HEAD", "--", *_code)
    if found is None:
        return "unknown"
    return hashlib.sha256(found).hexdigest()[:_digest_letters] if found else None


def _is_outdated(root: Path, programs: Iterable[Path]) -> bool:
    """Whether a source has been written since the module or one of the programs was compiled: they
    are then of another state of the tree, of which nobody knows any more."""
    module, _ = native.try_load()
    made_of: dict[Path, tuple[str, ...]] = {}
    if module and module.__file__:
        made_of[Path(module.__file__)] = ("python/bindings",)
    for program in programs:
        name = program.name.removeprefix("study_").replace("_", "-")
        made_of[program] = ("studies/harness", f"studies/{name}")
    return any(path.stat().st_mtime > built.stat().st_mtime
               for built, own in made_of.items() for folder in (*_compiled, *own)
               for path in (root / folder).rglob("*") if path.suffix in _source_suffixes)


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


def _folders(programs: Iterable[Path]) -> dict[str, str]:
    """Where each program lies, by its name: one folder is that of a build for measuring, another
    that of one with costly checks."""
    return {program.name: os.fsencode(program.parent.resolve()).decode(errors="backslashreplace")
            for program in programs}


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


def header(machines: Iterable[str] = (), programs: Iterable[Path] = ()) -> Row:
    """A header for rows that are measured now.

    @param machines specs of theirs. @param programs that measure.
    """
    programs = tuple(programs)
    knobs = {key: value for key, value in sorted(os.environ.items()) if key.startswith(_knobs)}
    measured_by = commit(programs)
    return {
        "selion": version(),
        "schema": schema,
        "commit": measured_by,
        "changes": changes(measured_by, programs),
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "cpu": cpu_name(),
        "cores": native.usable_cores(),
        "kernel": platform.release(),
        "compiler": native.compiler(),
        "tuning": tuning(),
        "programs": _folders(programs),
        "knobs": knobs,
        "constants": constants(machines),
    }
