# SPDX-License-Identifier: Apache-2.0
"""`selion bench python`: what it measures, with mpi4py or without, and how it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from conftest import clean_environment, command, needs_module, root, seconds, write_script
from selion import places
from selion.mistake import Failure

sys.path.insert(0, str(root / "bench"))
from python import jobs  # noqa: E402

pytestmark = needs_module

# An mpi4py whose MPI has two ranks that know nothing of each other, and its starter.
_mpi = """
class _World:
    rank, size = 0, 2
    def Barrier(self): pass
    def Bcast(self, own, root): pass
    def Allreduce(self, how, own): pass
    def Allgather(self, own, all_): pass
    def Alltoall(self, own, all_): pass
    def Gather(self, own, all_, root): pass
    def Scatter(self, sent, own, root): pass
    def Reduce(self, own, result, root): pass
    def Scan(self, own, result): pass
    def Exscan(self, own, result): pass
class Win:
    @classmethod
    def Allocate(cls, size, unit, comm): return cls()
    def Lock_all(self): pass
    def Unlock_all(self): pass
    def Free(self): pass
    def Put(self, own, rank): pass
    def Get(self, own, rank): pass
    def Fetch_and_op(self, own, old, rank): pass
    def Flush(self, rank): pass
import os
COMM_WORLD = _World()
COMM_WORLD.rank = int(os.environ.get("FAKE_RANK", 0))
IN_PLACE = None
def Get_library_version(): return "MPICH Version: 5.0"
"""
_starter = """
    import os, subprocess, sys
    assert sys.argv[1:5] == ["-n", "2", "-bind-to", "core"]
    line = sys.argv[5:]
    ranks = [subprocess.Popen(line, env={**os.environ, "FAKE_RANK": str(i)}) for i in range(2)]
    sys.exit(max(each.wait() for each in ranks))
"""


# Takes orders as the true one does.
_contestant = """
    import os, socket, sys
    for rank in range(2):
        if os.fork() == 0:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect("\\0" + sys.argv[1])
                given = connection.makefile("rw")
                print("C++", rank, file=given, flush=True)
                for line in given:
                    print(1e6, file=given, flush=True)
            os._exit(0)
    for _ in range(2):
        os.wait()
"""


@pytest.fixture
def run(selion, tmp_path):
    write_script(tmp_path / "bin" / "bench_python", _contestant)

    def call(*arguments: str, with_mpi: bool = False):
        changes = {"SELION_BIN": str(tmp_path / "bin")}
        if with_mpi:
            package = tmp_path / "packages" / "mpi4py"
            package.mkdir(parents=True)
            (package / "__init__.py").write_text("from mpi4py import MPI\n")
            (package / "MPI.py").write_text(_mpi)
            write_script(tmp_path / "path" / "mpiexec", _starter)
            paths = [str(package.parent), str(root / "python")]
            changes["PYTHONPATH"] = os.pathsep.join(paths)
            changes["PATH"] = f"{tmp_path / 'path'}{os.pathsep}{os.environ['PATH']}"
        rows = [] if "--json" in arguments else ["--json", "rows.jsonl"]
        line = ["bench", "python", "--quick", *rows, *arguments]
        done = selion(*line, **changes)
        path = tmp_path / "rows.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return done, [json.loads(row) for row in lines]

    return call


def test_without_mpi4py(run):
    done, (header, *rows) = run("--only", "8 B", "--mpi-python", "/bin/false")
    assert done.returncode == 0, done.stderr
    assert "mpi4py is left out, because it is not there" in done.stderr
    assert header["command"].startswith("selion bench python --quick")
    names = {"put", "get", "fetch_add", "broadcast", "all_reduce", "all_gather", "exchange",
             "gather", "scatter", "reduce", "scan", "exscan"}
    assert {(row["operation"], row["contestant"]) for row in rows} == {
        (f"{name}, 8 B", who) for name in names for who in ("selion", "C++")
    }
    assert all(row["machine"] == "processes:2" and len(row["ns"]) == 5 for row in rows)
    assert all(0 < ns < 1e9 for row in rows for ns in row["ns"])
    assert "| put, 8 B | processes:2 |" in done.stdout and "| 300 ns |" in done.stdout


def test_beside_mpi4py(run):
    done, (_, *rows) = run("--only", "barrier", "--mpi-python", sys.executable, with_mpi=True)
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr
    assert {row["contestant"] for row in rows} == {"selion", "C++", "mpi4py"}
    assert "of mpi4py | 1.0 |" in done.stdout


@pytest.mark.parametrize(("library", "options"), [
    ("MPICH Version:      5.0.2", ["-bind-to", "core"]), ("Open MPI v4.1.4, package: Debian", [])])
def test_ranks_of_mpi_are_bound_as_those_of_selion(tmp_path, library, options):
    python = write_script(tmp_path / "python", f"print({library!r})")
    starter = write_script(tmp_path / "mpiexec", "")
    assert jobs.mpi_starter(str(python)) == [str(starter), "-n", "2", *options]


def test_it_refuses(selion):
    done = selion("bench", "python", "--ranks", "2")
    assert done.returncode == 2
    assert "--ranks is not an option of 'python'; legal: --quick" in done.stderr


@pytest.mark.parametrize(("arguments", "status", "words"), [
    (("--json", "nowhere/rows"), 2, "nowhere/rows cannot be written: No such file"),
    (("--only", "nosuch"), 1, "No operation has 'nosuch' in its name; there are: put, 8 B, get"),
    (("--mpi-python", "/proc/nowhere/python"), 2,
     "--mpi-python is '/proc/nowhere/python', which is no "),
])
def test_it_refuses_before_it_measures(run, tmp_path, arguments, status, words):
    done, rows = run(*arguments)
    assert (done.returncode, done.stdout, rows) == (status, "", [])
    assert words in " ".join(done.stderr.split()) and "1/1" not in done.stderr
    assert not (tmp_path / "rows.jsonl").exists()


# Waits for ever once it has begun; who opens the file for writing knows that it has.
_waiting = """
    import os
    open("gate").read()
"""


@pytest.mark.parametrize(("change", "words"), [
    (("print(1e6, file=given, flush=True)", "os._exit(0)"),
     "C++ has ended early: barrier, 8 bytes, "),
    (("for line in given", "for line in []"), "C++ has ended early: barrier, 8 bytes, "),
    (('print("C++", rank', 'print("C++", 0'), "C++ came as 2 jobs of one rank: its starter is of "),
    (('print("C++", rank', 'print("Java", rank'), "or 'Java' has come instead; by hand: "),
])
def test_a_contestant_that_fails_is_named(run, tmp_path, change, words):
    write_script(tmp_path / "bin" / "bench_python", _contestant.replace(*change))
    done, rows = run("--only", "barrier", "--mpi-python", "/bin/false")
    assert (done.returncode, done.stdout, rows) == (1, "", [])
    assert words in done.stderr and "Traceback" not in done.stderr


def test_an_address_that_is_too_long_is_told():
    try:
        program = places.study_program("bench_python")
    except Failure as failure:
        pytest.skip(str(failure))
    done = subprocess.run([program, "x" * 500], env=clean_environment(), capture_output=True,
                          text=True, timeout=seconds)
    assert done.returncode != 0 and "an address has at most 107 bytes" in done.stderr


def test_ctrl_c_ends_it_with_a_sentence(tmp_path):
    write_script(tmp_path / "bin" / "bench_python", _waiting)
    os.mkfifo(tmp_path / "gate")
    running = subprocess.Popen(
        [*command, "bench", "python", "--quick", "--only", "barrier", "--mpi-python", "/bin/false"],
        cwd=tmp_path, env=clean_environment(SELION_BIN=str(tmp_path / "bin")),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    gate = os.open(tmp_path / "gate", os.O_WRONLY)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=seconds)
    os.close(gate)
    assert (running.returncode, out) == (130, "")
    assert errors.splitlines()[-1] == "Interrupted; nothing was written."
    assert "Traceback" not in errors
