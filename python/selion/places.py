# SPDX-License-Identifier: Apache-2.0
"""Where studies, benchmarks and programs lie: named by the user, installed, or in a source tree."""

from __future__ import annotations

import os
from pathlib import Path

from selion import native
from selion.mistake import Failure, listing

_package = Path(__file__).resolve().parent


def source_tree() -> Path | None:
    """The project's folder if this package is used from its source tree."""
    root = _package.parents[1]
    return root if (root / "CMakeLists.txt").is_file() and (root / "studies").is_dir() else None


def studies_folder() -> Path:
    """Folder whose sub-folders hold a study.toml each.

    @error Failure if there is none, with the cure.
    """
    named = os.environ.get("SELION_STUDIES")
    if named:
        if not Path(named).is_dir():
            raise Failure(f"SELION_STUDIES is '{named}', which is not a folder.")
        return Path(named)
    root = source_tree()
    for folder in (root / "studies" if root else None, _package / "studies"):
        if folder and folder.is_dir():
            return folder
    raise Failure(
        "No studies were found; install them with 'pip install .' in the source tree, "
        "or set SELION_STUDIES to their folder."
    )


def bench_folder() -> Path:
    """Folder of the scripts that measure.

    @error Failure if there is none, with the cure.
    """
    root = source_tree()
    if root and (root / "bench").is_dir():
        return root / "bench"
    raise Failure(
        "Benchmarks come with the source tree of Selion, and this package is used without it; "
        "install it there with 'pip install --editable .'."
    )


def program_folders() -> list[Path]:
    """Folders that may hold the programs of studies and benchmarks."""
    named = os.environ.get("SELION_BIN")
    if named:
        return [Path(folder) for folder in named.split(os.pathsep) if folder]
    module, _ = native.try_load()
    installed = Path(module.__file__).parent if module and module.__file__ else _package
    root = source_tree()
    return [installed / "bin", *(sorted((root / "build").glob("*/bin")) if root else [])]


def _preference(program: Path) -> tuple[bool, float]:
    """Figures should come from an optimised build without costly checks, and from the last one."""
    is_for_measuring = program.parent.parent.name in ("selion", "release", "python")
    return (is_for_measuring, program.stat().st_mtime)


def study_program(name: str) -> Path:
    """Path of the program of a study or benchmark.

    @error Failure if it is not built, with the cure.
    """
    folders = program_folders()
    found = [folder / name for folder in folders if os.access(folder / name, os.X_OK)]
    if found:
        return found[0] if os.environ.get("SELION_BIN") else max(found, key=_preference)
    raise Failure(
        f"The program '{name}' was not found in {listing(folders)}; build it with "
        "'cmake --preset release && cmake --build build/release', or set SELION_BIN to its folder."
    )
