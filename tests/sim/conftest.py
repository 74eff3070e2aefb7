# SPDX-License-Identifier: Apache-2.0
"""Programs of the build on simulated machines."""

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest

root = Path(__file__).resolve().parents[2]
programs = Path(os.environ.get("TEST_BIN_DIR", root / "build/dev/bin"))


def run(machine: str, *command: str, address_space: int = resource.RLIM_INFINITY,
        **variables: str) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SELION_")}
    environment |= {"SELION_MACHINE": machine, "XDG_CACHE_HOME": "/proc/none", **variables}
    path = programs / command[0]
    assert path.exists(), f"{path} is missing: build first, or set TEST_BIN_DIR"
    return subprocess.run([str(path), *command[1:]], env=environment, capture_output=True,
                          text=True, timeout=500, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_AS, (address_space, address_space)))


def checking_build() -> bool:
    """Whether the programs compare and watch what only the checking build does."""
    out = subprocess.check_output([programs / "test_misusing", "build"], text=True)
    level, is_sanitized = out.split()
    return level == "2" and is_sanitized == "0"


@pytest.fixture
def on_machine():
    return run


@pytest.fixture
def operation_us():
    """Microseconds of single operations: operation_us(machine, operation, target, sizes)."""

    def measure(machine: str, operation: str, target: int, sizes: list[int],
                others_compute: bool = False) -> dict[int, float]:
        busy = ["busy"] if others_compute else []
        done = run(machine, "test_operation_times", *busy, operation, str(target),
                   *map(str, sizes))
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return {row["bytes"]: row["ps"] / 1e6 for row in rows}

    return measure
