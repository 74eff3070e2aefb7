# SPDX-License-Identifier: Apache-2.0
"""`selion bench offload`: what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tomllib

import pytest

from conftest import clean_environment, command, root, seconds, write_script
from selion import places
from selion.mistake import Failure

# Waits for ever once it has begun; who opens the file for writing knows that it has.
_waiting = """
    open("gate").read()
"""


@pytest.mark.parametrize(("arguments", "status", "words"), [
    (("--json", "nowhere/rows"), 2, "nowhere/rows cannot be written: No such file"),
    (("--only", "nosuch"), 1,
     "No operation has 'nosuch' in its name; there are: call and wait, thread, call and wait, "),
])
def test_it_refuses_before_it_measures(selion, tmp_path, arguments, status, words):
    write_script(tmp_path / "bin" / "bench_offload", "import sys; sys.exit('it was run')")
    rows = () if "--json" in arguments else ("--json", "rows")
    done = selion("bench", "offload", *rows, *arguments,
                  SELION_BIN=str(tmp_path / "bin"))
    assert (done.returncode, done.stdout) == (status, "")
    assert words in " ".join(done.stderr.split()) and "it was run" not in done.stderr
    assert not (tmp_path / "rows").exists()


def test_a_program_that_fails_is_named(selion, tmp_path):
    program = write_script(tmp_path / "bin" / "bench_offload", "import sys; sys.exit('no memory')")
    done = selion("bench", "offload", "--quick", "--json", "rows",
                  SELION_BIN=str(tmp_path / "bin"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        "no memory", f"{program} --rounds 3 --seed 1 ended with status 1"]
    assert not (tmp_path / "rows").exists()


def test_calls_are_those_of_one_rank_whatever_machine_is_set(selion, tmp_path):
    write_script(tmp_path / "bin" / "bench_offload",
                 "import os, sys; sys.exit(f\"on {os.environ.get('SELION_MACHINE')}\")")
    done = selion("bench", "offload", SELION_BIN=str(tmp_path / "bin"), SELION_MACHINE="threads:8")
    assert done.returncode == 1 and "\non None\n" in done.stderr


@pytest.mark.parametrize(("number", "status", "words"), [
    (signal.SIGINT, 130, ["Interrupted; nothing was written."]), (signal.SIGTERM, 143, [])])
def test_it_ends_with_its_programs(tmp_path, number, status, words):
    write_script(tmp_path / "bin" / "bench_offload", _waiting)
    os.mkfifo(tmp_path / "gate")
    running = subprocess.Popen(
        [*command, "bench", "offload", "--quick"], cwd=tmp_path,
        env=clean_environment(SELION_BIN=str(tmp_path / "bin")), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    gate = os.open(tmp_path / "gate", os.O_WRONLY)
    running.send_signal(number)
    out, errors = running.communicate(timeout=seconds)  # also the program has closed its errors
    os.close(gate)
    assert (running.returncode, out) == (status, "")
    assert errors.splitlines() == ["1/1 bench_offload", *words]


def test_a_call_by_flags_is_two_signals():
    """What tells how far apart the cores are is one signal, as in the other benchmarks."""
    try:
        program = places.study_program("bench_offload")
    except Failure as failure:
        pytest.skip(str(failure))
    done = subprocess.run([program, "--rounds", "3", "--only", "call and wait, thread"],
                          env=clean_environment(), capture_output=True, text=True, timeout=seconds)
    rows = {row["contestant"]: row for row in map(json.loads, done.stdout.splitlines())}
    flags = rows["bare flags"]
    if not flags["ns"]:
        pytest.skip("the cores moved in every round")
    assert statistics.median(flags["signal_ns"]) < 0.75 * statistics.median(flags["ns"])


def test_goals_are_those_of_operations_that_there_are():
    goals = tomllib.loads((root / "bench" / "offload" / "goals.toml").read_text())["goal"]
    done = subprocess.run([sys.executable, root / "bench" / "run_offload", "--only", "nosuch"],
                          capture_output=True, text=True, timeout=seconds)
    _, _, names = done.stderr.strip().partition("there are: ")
    assert ", ".join(dict.fromkeys(goal["operation"] for goal in goals)) == names
