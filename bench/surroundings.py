# SPDX-License-Identifier: Apache-2.0
"""On what a benchmark was run: the first line of its file, and the head of its report."""

import os
import platform
import subprocess
from pathlib import Path

root = Path(__file__).resolve().parent.parent


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


def about(command: str) -> dict:
    """@param command as it was given, with the name that the user knows."""
    return {
        "command": command,
        "commit": first_line("git", "describe", "--always", "--dirty"),
        "compiler": first_line("c++", "--version"),
        "processor": f"{processor()}, {os.cpu_count()} processors",
        "kernel": platform.release(),
        "load": os.getloadavg()[0],
        "knobs": {k: v for k, v in os.environ.items() if k.startswith(("SELION_", "OMP_"))},
    }
