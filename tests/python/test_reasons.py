# SPDX-License-Identifier: Apache-2.0
"""Why the library has ended a job of `selion.run(..., machine=...)`: it stands in the exception."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, needs_module, seconds

pytestmark = needs_module

_text = """
import sys, time, selion

def disagree(world):
    (world.barrier if world.rank else world.sync)()

def wait(world):
    if world.rank == 0:
        world.barrier()
    else:
        time.sleep(600)

def deadlock(world):
    bell = world.signal()
    world.rank or bell.wait_until(2)

def fine(world):
    print("selion: warning: a rank's own words", file=sys.stderr)

def leave(world):
    print("selion: what a rank says", file=sys.stderr)
    time.sleep(0.2)
    world.rank or sys.exit(4)

def run(function, machine, **environment):
    try:
        selion.run(function, machine=machine, environment=environment)
    except Exception as error:
        print(type(error).__name__, getattr(error, "status", None), error)
    else:
        print("fine")

"""


def _run(folder: Path, call: str) -> tuple[str, str]:
    """What it prints, and what stands on standard error."""
    (folder / "program.py").write_text(_text + call)
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, stdin=subprocess.DEVNULL,
                          env=clean_environment(), capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("machine", ["processes:2", "sim:crossbar,ranks=2"])
def test_calls_that_disagree(tmp_path, machine):
    out, errors = _run(tmp_path, f"run(disagree, '{machine}', SELION_CHECK_CALLS='on')")
    [sentence] = errors.splitlines()
    assert sentence.startswith("selion: the ranks disagree about collective #1: rank 1 calls ")
    reason = sentence.removeprefix("selion: ")
    assert out == f"RankFailed 1 The job ended with exit status 1: {reason}.\n"


def test_a_hang(tmp_path):
    """The report's other lines are on standard error."""
    out, errors = _run(tmp_path, "run(wait, 'processes:2', SELION_HANG_TIMEOUT='1', "
                                 "SELION_HANG_ACTION='abort')")
    assert out == ("RankFailed 1 The job ended with exit status 1: hang: a rank of processes:2 has "
                   "waited for 1 s.\n")
    assert "\n  rank 0 waits in barrier" in errors


def test_a_deadlock(tmp_path):
    out, errors = _run(tmp_path, "run(deadlock, 'sim:crossbar,ranks=2')")
    assert re.fullmatch(r"RankFailed 1 The job ended with exit status 1: deadlock at \d+ ps: "
                        r"nothing can happen any more\.\n", out)
    assert re.search(r"\n  rank 0 waits in wait_until at .*:\d+ for a signal of at least 2; it is 0"
                     r"\n", errors)


@pytest.mark.parametrize("variables, sentence", [
    ("SELION_SPIN='x'", "SELION_SPIN=x is not understood; it takes a whole number."),
    ("SELION_TRACE='/none/x'", "SELION_TRACE=/none/x: cannot write this file (No such file or "
                               "directory)."),
])  # fmt: skip
def test_variables_that_are_not_legal(tmp_path, variables, sentence):
    out, _ = _run(tmp_path, f"run(fine, 'processes:2', {variables})")
    assert out == f"Mistake None {sentence}\n"


def test_what_is_no_reason(tmp_path):
    out, errors = _run(tmp_path, "run(fine, 'processes:1')")
    assert (out, errors) == ("fine\n", "selion: warning: a rank's own words\n")
    out, errors = _run(tmp_path, "run(leave, 'processes:1')")
    assert out == "RankFailed 4 Rank 0 of 1 left with exit status 4.\n"
    assert errors == "selion: what a rank says\n"
