# SPDX-License-Identifier: Apache-2.0
"""bench/run and its programs: what they refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, root, seconds, write_script
from selion import places
from selion.mistake import Failure

# Prints what a true one prints of one operation, if that is wanted.
_fake = """
    import json, sys
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    if only in "barrier":
        print(json.dumps({"operation": "barrier", "machine": "threads:2", "contestant": "selion",
                          "is_selion": True, "ns": [50]}))
"""


def call(*line: object, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in line], env=clean_environment(**changes),
                          capture_output=True, text=True, timeout=seconds)


@pytest.fixture
def run(tmp_path: Path):
    for program in ("bench_pair", "bench_startup"):
        write_script(tmp_path / "bin" / program, _fake)

    def start(*options: str) -> subprocess.CompletedProcess[str]:
        return call(sys.executable, root / "bench" / "run", "--bin", tmp_path / "bin", *options)

    return start


def test_the_command_shows_what_was_typed(run):
    done = run("--quick", "--program", "pair", "--only", "barr", "--shown-as", "selion bench x")
    assert done.returncode == 0, done.stderr
    assert "selion bench x" in done.stdout
    assert "| barrier | threads:2 | 50 ns | | | (50 ns to 50 ns, 2) |" in done.stdout


def test_a_part_is_measured(run):
    done = run("--program", "pair", "--only", "barr")
    assert done.returncode == 0, done.stderr
    assert "| barrier | threads:2 | 50 ns | | | (50 ns to 50 ns, 6) |" in done.stdout


# Measures in the first repetition, and in the second one ends otherwise.
_ends = """
    import json, os, signal, sys, time
    if sys.argv[sys.argv.index("--seed") + 1] == "2":
        END
    print(json.dumps({"operation": "barrier", "machine": "threads:2", "contestant": "selion",
                      "is_selion": True, "ns": [50]}))
"""
_said = "hat was measured until then is in rows.jsonl, which says that it is not all.\n"


@pytest.mark.parametrize(("end", "status", "words"), [
    ("sys.exit(3)", 1, f"W{_said}"),
    ("os.kill(os.getppid(), signal.SIGTERM); time.sleep(100)", 143, f"W{_said}"),
    ("os.kill(os.getppid(), signal.SIGINT); time.sleep(100)", 130, f"Interrupted; w{_said}"),
])
def test_what_was_measured_is_kept_however_it_ends(run, tmp_path, monkeypatch, end, status, words):
    monkeypatch.chdir(tmp_path)
    write_script(tmp_path / "bin" / "bench_pair", _ends.replace("END", end))
    done = run("--program", "pair", "--json", "rows.jsonl")
    assert done.returncode == status and words in done.stderr
    header, *rows = map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())
    assert (header["complete"], header["repeat"], len(rows)) == (False, 3, 2)
    assert run("--program", "pair", "--repeat", "1", "--json", "rows.jsonl").returncode == 0
    assert json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])["complete"] is True


@pytest.mark.parametrize(("options", "status", "words"), [
    (("--repeat", "0"), 2, "--repeat: '0' is not a whole number from 1 on"),
    (("--rounds", "0"), 2, "--rounds: '0' is not a whole number from 1 on"),
    (("--seed=-1",), 2, "--seed: '-1' is not a whole number from 1 on"),
    (("--program", "pairs"), 1,
     "No program has 'pairs' in its name; there are: bench_pair, bench_cached, bench_crowd, "),
    (("--program", "pair", "--only", "put 9 B"), 1,
     "No operation of bench_pair has 'put 9 B' in its name"),
])
def test_bad_arguments(run, options, status, words):
    done = run(*options)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr and "Traceback" not in done.stderr


# --- the programs themselves ----------------------------------------------------------------------


@pytest.fixture
def built() -> Path:
    """Folder of the programs, which builds that are for testing do not make."""
    try:
        return places.study_program("bench_pair").parent
    except Failure as failure:
        pytest.skip(str(failure))


@pytest.mark.parametrize("machine", ["threads:2@1", "sim:crossbar,ranks=2", "threads:3"])
@pytest.mark.parametrize("program", ["bench_pair", "bench_cached", "bench_interrupt"])
def test_who_has_no_two_processors_to_share_memory_is_told(built, program, machine):
    done = call(built / program, "--rounds", "1", SELION_MACHINE=machine)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"{program} runs on 2 ranks that share memory and have a thread each, not on {machine}")


@pytest.mark.parametrize("machine", ["threads:2", "processes:2", "sim:crossbar,ranks=1"])
def test_more_than_one_rank_has_no_calls_measured(built, machine):
    done = call(built / "bench_offload", "--rounds", "1", SELION_MACHINE=machine)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"bench_offload runs on one rank, not on {machine}; set ")


@pytest.mark.parametrize("machine", ["threads:2", "processes:2"])
def test_one_processor_is_not_enough(built, machine):
    processor = str(min(os.sched_getaffinity(0)))
    done = call("taskset", "-c", processor, built / "bench_pair", SELION_MACHINE=machine)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bench_pair needs two processors, and may use 1\n"


@pytest.mark.parametrize(("options", "words"), [
    (("--only",), "--only is ''; legal: part of the names of the operations"),
    (("--block-us", "9223372036854775807"), "--block-us is '9223372036854775807'; legal: a whole"),
    (("--rounds", "0"), "--rounds is '0'; legal: a whole number from 1 on"),
    (("--round", "1"), "an option is '--round'; legal: --rounds, --blocks"),
])
def test_the_programs_refuse(built, options, words):
    done = call(built / "bench_pair", *options)
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr


@pytest.mark.parametrize("seconds_of_it", ["1x", "inf", "nan", "0", "1e300", ""])
def test_a_flood_of_no_length_is_refused(built, seconds_of_it):
    done = call(built / "bench_flood", seconds_of_it)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f'bench_flood: "{seconds_of_it}" is no number of seconds up to a '
                           "million\n")


def test_starts_stand_beside_those_of_an_empty_program(built):
    done = call(built / "bench_startup", "--rounds", "1", "--blocks", "1")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    machines = ("threads:2", "processes:2", "threads:64", "processes:64")
    assert [(row["machine"], row["contestant"]) for row in rows] == [
        (machine, who) for machine in machines for who in ("selion", "empty C++ program")]
    assert call(built / "bench_startup", "--only", "barrier").stdout == ""
