# SPDX-License-Identifier: Apache-2.0
"""All states of the coherence protocol (src/coherence/protocol.md), visited by rumur."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

model = Path(__file__).with_name("directory.m")
mistakes = {1: "a read of what is old", 2: "an upgrade of what is not there", 3: "deadlock"}

pytestmark = pytest.mark.skipif(shutil.which("rumur") is None,
                                reason="rumur is missing (Debian: rumur)")


def check(folder: Path, seeded: int = 0) -> subprocess.CompletedProcess:
    """@param seeded number of a mistake; 0: none."""
    text, count = re.subn(r"\bseeded: 0;", f"seeded: {seeded};", model.read_text(), count=1)
    assert count == 1
    source = folder / "model.m"
    source.write_text(text)
    program = folder / "model"
    subprocess.run(["rumur", "--output", f"{program}.c", source], check=True)
    subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-O2", "-mcx16", f"{program}.c",
                    "-o", program, "-lpthread", "-latomic"], check=True)
    return subprocess.run([program], capture_output=True, text=True, timeout=200)


def test_the_protocol(tmp_path: Path):
    done = check(tmp_path)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "No error found." in done.stdout
    states = int(re.search(r"(\d+) states, \d+ rules fired", done.stdout)[1])
    assert states > 10_000


@pytest.mark.parametrize("seeded", mistakes)
def test_a_mistake_is_found(tmp_path: Path, seeded: int):
    done = check(tmp_path, seeded)
    assert done.returncode != 0
    assert mistakes[seeded] in done.stdout
