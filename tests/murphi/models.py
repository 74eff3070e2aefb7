# SPDX-License-Identifier: Apache-2.0
"""Runs models of the protocols through rumur, which visits all their states."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

needs_rumur = pytest.mark.skipif(shutil.which("rumur") is None,
                                 reason="rumur is missing (Debian: rumur)")


def check(name: str, folder: Path, **constants: int) -> subprocess.CompletedProcess:
    """@param constants of the model, with other values than it has."""
    text = Path(__file__).with_name(name).read_text()
    for constant, value in constants.items():
        text, count = re.subn(rf"\b{constant}: \d+;", f"{constant}: {value};", text, count=1)
        assert count == 1
    source = folder / "model.m"
    source.write_text(text)
    program = folder / "model"
    # With a single thread states are visited in one order, so the first error is always the same.
    subprocess.run(["rumur", "--threads", "1", "--output", f"{program}.c", source], check=True)
    subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-O1", "-mcx16", f"{program}.c",
                    "-o", program, "-lpthread", "-latomic"], check=True)
    return subprocess.run([program], capture_output=True, text=True, timeout=200)


def expect_no_error(done: subprocess.CompletedProcess, least_states: int) -> None:
    assert done.returncode == 0, done.stdout[-4000:]
    assert "No error found." in done.stdout
    states = int(re.search(r"(\d+) states, \d+ rules fired", done.stdout)[1])
    assert states > least_states


def expect_error(done: subprocess.CompletedProcess, words: str) -> None:
    assert done.returncode != 0
    assert words in done.stdout
