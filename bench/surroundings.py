# SPDX-License-Identifier: Apache-2.0
"""On what a benchmark was run: the first line of its file, and the head of its report."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

root = Path(__file__).resolve().parent.parent
sys.path.append(str(root / "python"))  # behind an installed package, which has its module
from selion.study import header  # noqa: E402

_no_table = "off"
# Variables by which users change what is measured: of Selion, and of its peers.
_knobs = ("SELION_", "OMP_", "GOMP_", "OMPI_", "MPICH_", "MPIR_", "UCX_")


def first_line(*command: str) -> str:
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True,
                              check=True).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def inherited(left_out: tuple[str, ...]) -> dict[str, str]:
    """Our environment without the variables that begin so."""
    return {key: value for key, value in os.environ.items() if not key.startswith(left_out)}


def table_setting() -> str:
    """By which table Selion's collectives go: by that which the user names, and by none otherwise,
    so that figures do not depend on what was once tuned here."""
    return os.environ.get("SELION_TUNING") or _no_table


def inherited_with_table(left_out: tuple[str, ...]) -> dict[str, str]:
    """The same as `inherited`, where Selion's variables are left out."""
    return {**inherited(left_out), "SELION_TUNING": table_setting()}


def about(command: str, environment: Mapping[str, str] = os.environ) -> dict:
    """@param command as it was given, with the name that the user knows. @param environment what
    the programs inherit of it."""
    return {
        "command": command,
        "commit": first_line("git", "describe", "--always", "--dirty"),
        "compiler": first_line("c++", "--version"),
        "processor": f"{processor()}, {os.cpu_count()} processors",
        "kernel": platform.release(),
        "load": os.getloadavg()[0],
        "tuning": _table_in(environment),
        "knobs": {key: value for key, value in environment.items() if key.startswith(_knobs)},
    }


def _table_in(environment: Mapping[str, str]) -> str:
    """What tells the table of measured collectives that programs use from others."""
    is_none = environment.get("SELION_TUNING") == _no_table
    return "none" if is_none else header.tuning() or "unknown"
