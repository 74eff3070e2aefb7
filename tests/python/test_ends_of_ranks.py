# SPDX-License-Identifier: Apache-2.0
"""What ranks leave behind: output that cannot be written, threads, processes, missing results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, needs_module, seconds

pytestmark = needs_module


def _run(folder: Path, text: str, machine: str = "processes:2",
         **options: object) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    path.write_text("import os, sys, threading, time\nimport selion\n" + text)
    line = [sys.executable, str(path)]
    streams = {"stdout": subprocess.PIPE, "cwd": folder, **options}
    return subprocess.run(line, env=clean_environment(SELION_MACHINE=machine), text=True,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=seconds,
                          **streams)


def test_output_that_cannot_be_written(tmp_path):
    with open("/dev/full", "w") as full:
        done = _run(tmp_path, "selion.run(lambda world: print('hello', end=''))", stdout=full)
    assert done.returncode != 0
    sentence = "OSError: [Errno 28] What was printed cannot be written: No space left on device"
    assert f"ended with an exception of type {sentence}" in done.stderr
    assert "Traceback" not in done.stderr and "nanobind" not in done.stderr


@pytest.mark.parametrize("machine", ["processes:2", "sim:crossbar,ranks=2"])
@pytest.mark.parametrize("closes", ["sys.stdout.close()", "sys.stdout = sys.stderr = None"])
@pytest.mark.parametrize("where", ["{}\ndef main(world): world.barrier()\n",
                                   "def main(world):\n  world.barrier()\n  {}\n"])
def test_streams_that_the_program_has_closed(tmp_path, machine, closes, where):
    done = _run(tmp_path, where.format(closes) + "selion.run(main)\n", machine)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_stream_that_only_writes(tmp_path):
    done = _run(tmp_path, """
class Words:
    def write(self, text): told.append(text)
told, before = [], sys.stdout
sys.stdout = Words()
selion.run(lambda world: print("hi"), machine="processes:1")
sys.stdout = before
print("".join(told))
""")
    assert (done.stdout, done.stderr) == ("hi\n\n", "")


def test_threads_of_simulated_ranks_end_before_the_program(tmp_path):
    done = _run(tmp_path, """
def late():
    time.sleep(0.3)
    print("late", flush=True)
selion.run(lambda world: threading.Thread(target=late).start())
""", "sim:crossbar,ranks=2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "late\nlate\n", "")


def test_an_exit_with_a_status_waits_for_no_other_simulated_rank(tmp_path):
    done = _run(tmp_path, """
def main(world):
    if world.rank == 1: sys.exit(3)
    world.barrier()
selion.run(main)
""", "sim:crossbar,ranks=3")
    assert done.returncode == 3


def test_results_that_are_missing(tmp_path):
    done = _run(tmp_path, """
def leave(world):
    if world.rank == 1: os._exit(0)
    return 1
try:
    print(selion.run(leave, machine="sim:crossbar,ranks=3"))
except selion.RankFailed as failure:
    print(failure)
print(selion.run(lambda world: sys.exit(0), machine="processes:2"))
""")
    assert done.stdout.startswith("The job ended with exit status 0 before ")
    assert done.stdout.endswith(" had returned.\n[None, None]\n")


def test_the_callers_folder_hides_nothing_of_the_library(tmp_path):
    (tmp_path / "here").mkdir()
    for name in ("json", "pickle", "socket"):
        (tmp_path / "here" / f"{name}.py").write_text("raise RuntimeError('not this one')")
    done = _run(tmp_path, "os.chdir('here')\n"
                          "print(selion.run(lambda world: world.rank, machine='processes:2'))")
    assert (done.stdout, done.stderr) == ("[0, 1]\n", "")


def test_a_time_limit_that_is_a_fraction(tmp_path):
    done = _run(tmp_path, """
from fractions import Fraction
try:
    selion.run(lambda world: time.sleep(60), machine="processes:2", time_limit=Fraction(1, 2))
except TimeoutError as error:
    print(error)
""")
    assert done.stdout == "The time limit of 0.5 s is over; the job was ended.\n"


def test_a_program_that_multiprocessing_runs_again(tmp_path):
    text = """
import multiprocessing
def main(world):
    if world.rank == 0:
        child = multiprocessing.get_context("spawn").Process(target=print, args=("child",))
        child.start()
        child.join()
    world.barrier()
"""
    done = _run(tmp_path, text + "selion.run(main)")
    assert done.returncode == 0
    assert "selion.mistake.Mistake: selion.run was reached in a process of multipr" in done.stderr
    done = _run(tmp_path, text + "if __name__ == '__main__': selion.run(main)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "child\n", "")


def test_a_job_within_a_rank_needs_a_machine(tmp_path):
    done = _run(tmp_path, """
def main(world):
    try:
        selion.run(print)
    except RuntimeError as error:
        print(error)
selion.run(main)
""", "processes:1")
    assert done.stdout.startswith("A rank cannot run the program again: name the machine of the")
