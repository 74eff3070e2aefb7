# SPDX-License-Identifier: Apache-2.0
"""Programs whose ranks are started by running them again: from where, and on which machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, needs_module, seconds

pytestmark = needs_module

_moves = """
import os
{first}
import selion
os.chdir("sub")
def main(world):
    print(world.rank, os.getcwd(), "SELION_JOB_FOLDER" in os.environ, flush=True)
selion.run(main)
print(os.getcwd(), "SELION_JOB_FOLDER" in os.environ)
"""


def _run(folder: Path, *line: str, machine: str = "processes:2") -> tuple[int, list[str], str]:
    done = subprocess.run([sys.executable, *line], cwd=folder, stdin=subprocess.DEVNULL,
                          env=clean_environment(SELION_MACHINE=machine), capture_output=True,
                          text=True, timeout=seconds)
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("moves.py", ["moves.py"]),
        ("moves.py", ["./moves.py"]),
        ("moves.py", ["../here/moves.py"]),
        ("moves.py", ["-m", "moves"]),
        ("app/__main__.py", ["app"]),
        ("app/moves.py", ["-m", "app.moves"]),
    ],
)
@pytest.mark.parametrize("machine", ["processes:2", "sim:crossbar,ranks=2"])
def test_a_program_that_changes_its_folder(tmp_path, name, line, machine):
    """Ranks begin where it has begun: a folder that is named from there is found there."""
    here = tmp_path / "here"
    (here / "sub").mkdir(parents=True)
    (here / name).parent.mkdir(exist_ok=True)
    (here / name).write_text(_moves.format(first=""))
    sub = str(here / "sub")
    expected = [f"{sub} False", f"0 {sub} False", f"1 {sub} False"]
    assert _run(here, *line, machine=machine) == (0, sorted(expected), "")


def test_a_program_that_changes_its_folder_before_anything_else(tmp_path):
    (tmp_path / "sub" / "sub").mkdir(parents=True)
    (tmp_path / "moves.py").write_text(_moves.format(first='os.chdir("sub")'))
    sub = str(tmp_path / "sub" / "sub")
    expected = [f"{sub} False", f"0 {sub} False", f"1 {sub} False"]
    assert _run(tmp_path, "moves.py") == (0, sorted(expected), "")


def test_a_machine_that_is_not_python_s(selion, tmp_path):
    """One sentence and exit status 2, as for any variable that is not legal."""
    (tmp_path / "program.py").write_text("import selion\nprint('before')\nselion.run(print)\n")
    sentence = ("Ranks in Python are processes, because threads of one interpreter wait for each "
                "other; the machine is 'threads:2': set SELION_MACHINE=processes:N, or leave it "
                "unset for one process per core.")
    status, out, errors = _run(tmp_path, "program.py", machine="threads:2")
    assert (status, out, errors) == (2, ["before"], f"selion: {sentence}\n")
    done = selion("run", "-m", "threads:2", "program.py")
    assert (done.returncode, done.stderr) == (2, f"selion: {sentence}\n")
    status, out, errors = _run(tmp_path, "program.py", machine="processes:99999999999")
    assert (status, out) == (2, ["before"])
    assert errors.startswith("selion: ") and errors.count("\n") == 1
