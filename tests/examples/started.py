# SPDX-License-Identifier: Apache-2.0
"""Starts examples as a user does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import IO

root = Path(__file__).resolve().parents[2]
programs = Path(os.environ.get("TEST_BIN_DIR", root / "build/dev/bin"))

#: One of each kind, and the numbers of ranks differ.
machines = ("threads:1", "threads:3", "threads:8@2", "processes:2", "processes:2x2",
            "processes:3,direct=off", "sim:crossbar,ranks=4")


def clean_environment() -> dict[str, str]:
    """Ours without variables of Selion and what was tuned on this host."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SELION_")}
    return {**kept, "XDG_CACHE_HOME": "/proc/none"}


def run(program: str, *arguments: object, machine: str = "threads:2",
        folder: Path | None = None, stdout: IO[str] | int = subprocess.PIPE,
        settings: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [programs / program, *map(str, arguments)],
        env={**clean_environment(), "SELION_MACHINE": machine, "SELION_HANG_TIMEOUT": "30",
             "SELION_HANG_ACTION": "abort", **(settings or {})},
        cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True,
        timeout=60,
    )


def output(program: str, *arguments: object, **options) -> str:
    """What a run without any trouble prints."""
    done = run(program, *arguments, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout
