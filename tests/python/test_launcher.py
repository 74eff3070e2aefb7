# SPDX-License-Identifier: Apache-2.0
"""`selion run --hosts`: which launcher is asked, and how. The launchers here are scripts that tell
what they are told; jobs on two hosts are in tests/fault/test_two_hosts.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from conftest import write_script
from selion import launcher
from selion.mistake import Mistake

_tells = """
    import json, os, sys
    if "--version" in sys.argv:
        print({version!r})
        sys.exit()
    print(json.dumps({{"line": sys.argv[1:], "machine": os.environ.get("SELION_MACHINE")}}))
"""


def _with(folder: Path, **versions: str) -> str:
    """A PATH with these launchers and no other."""
    for name, version in versions.items():
        write_script(folder / name, _tells.format(version=version))
    return str(folder)


_open_mpi_4 = "mpirun (Open MPI) 4.1.4"


def _line(selion, *arguments: str, **changes: str) -> str:
    program = ["-m", "fabric", *arguments, "/bin/true", "7"]
    done = selion("run", "--show", *program, **changes)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_mpirun_is_told_hosts_and_ranks(selion, tmp_path):
    path = _with(tmp_path / "bin", mpirun=_open_mpi_4, srun="")
    line = _line(selion, "--hosts", "localhost,127.0.0.1", "-n", "5", PATH=path, SELION_SPIN="0")
    assert "SELION_MACHINE=fabric:5 " in line
    assert f"{path}/mpirun" in line
    assert "--host localhost:3,127.0.0.1:2" in line
    assert "-x SELION_MACHINE" in line and "-x SELION_SPIN" in line and "-x PYTHONPATH" in line
    assert line.endswith("-n 5 /bin/true 7")
    assert "oob_tcp_keepalive_time" in line


def test_a_rank_for_each_host_unless_told(selion, tmp_path):
    path = _with(tmp_path / "bin", mpirun="mpirun (Open MPI) 5.0.3")
    line = _line(selion, "--hosts", "localhost,127.0.0.1", PATH=path)
    assert "--host localhost:1,127.0.0.1:1" in line and " -n 2 " in line
    assert "keepalive" not in line
    line = _line(selion, "--hosts", "localhost:3,127.0.0.1:1", PATH=path)
    assert "--host localhost:3,127.0.0.1:1" in line and " -n 4 " in line


def test_slurm_is_asked_within_its_allocation(selion, tmp_path):
    path = _with(tmp_path / "bin", mpirun=_open_mpi_4, srun="")
    line = _line(selion, "--hosts", "localhost,127.0.0.1", "-n", "4", PATH=path, SLURM_JOB_ID="7")
    assert f"{path}/srun --mpi=pmix --nodelist=localhost,127.0.0.1 --nodes=2 --ntasks=4" in line
    assert "--ntasks-per-node=2" in line


def test_the_launcher_goes_on_without_ranks_if_the_job_does(selion, tmp_path):
    path = _with(tmp_path / "bin", mpirun=_open_mpi_4)
    assert "--enable-recovery" not in _line(selion, "-n", "2", PATH=path)
    assert "--enable-recovery" in _line(selion, "-n", "2", PATH=path, SELION_RANK_DEATH="report")
    slurm = launcher.Launcher("/usr/bin/srun", "slurm")
    line = launcher.command(slurm, [], 2, ["./program"], {"SELION_RANK_DEATH": "report"})
    assert "--kill-on-bad-exit=0" in line


def test_a_laptop_takes_more_ranks_than_it_has_cores(selion, tmp_path):
    path = _with(tmp_path / "bin", mpirun=_open_mpi_4)
    assert " --oversubscribe " in _line(selion, "-n", "64", PATH=path)
    for count in ((), ("--hosts", "localhost", "-n", "64")):
        assert "--oversubscribe" not in _line(selion, *count, PATH=path)
    # A batch system has the say.
    assert "--oversubscribe" not in _line(selion, "-n", "64", PATH=path, PBS_JOBID="7.host")
    path = _with(tmp_path / "prte", prterun="prterun (PRRTE) 3.0.2")
    assert " --map-by :OVERSUBSCRIBE " in _line(selion, "-n", "64", PATH=path)


def test_processes_of_several_ranks_are_counted_for_the_launcher(selion, tmp_path):
    def line(*arguments: str, **changes: str) -> str:
        done = selion("run", "--show", "-m", "fabric:x4", *arguments, "/bin/true", PATH=path,
                      **changes)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    path = _with(tmp_path / "bin", mpirun=_open_mpi_4, srun="")
    assert line("-n", "8").endswith("-n 2 /bin/true")
    told = line("--hosts", "localhost,127.0.0.1", "-n", "12")
    assert "SELION_MACHINE=fabric:3x4 " in told and " --bind-to none " in told
    assert "--host localhost:2,127.0.0.1:1" in told and " -n 3 " in told
    told = line("--hosts", "localhost:8,127.0.0.1:4")
    assert "--host localhost:2,127.0.0.1:1" in told and " -n 3 " in told
    told = line("--hosts", "localhost,127.0.0.1")
    assert "--host localhost:1,127.0.0.1:1" in told and " -n 2 " in told
    told = line("--hosts", "localhost,127.0.0.1", "-n", "8", SLURM_JOB_ID="7")
    assert "--mpi=pmix --cpus-per-task=4 --nodelist=localhost,127.0.0.1 --nodes=2" in told
    assert "--ntasks=2 --ntasks-per-node=1" in told


def test_the_launcher_is_run(selion, tmp_path):
    path = _with(tmp_path / "bin", prterun="prterun (PRRTE) 3.0.2")
    script = tmp_path / "job.py"
    script.write_text("")
    done = selion("run", "--hosts", "localhost", "-n", "2", str(script), PATH=path)
    assert done.returncode == 0, done.stderr
    assert '"machine": "fabric:2"' in done.stdout
    assert f'"{sys.executable}", "{script}"' in done.stdout


@pytest.mark.parametrize("arguments, sentence", {
    ("--hosts", "localhost", "-m", "processes:2"): "is for the machine fabric, not for",
    ("--hosts", "localhost:x"): "'localhost:x' in the list of hosts is none",
    ("--hosts", "localhost:" + "9" * 5000): "9' in the list of hosts is none",
    ("--hosts", "localhost,,a"): "'' in the list of hosts is none",
    ("--hosts", "-n,b"): "'-n' in the list of hosts is none",
    ("--hosts", "localhost,localhost"): "is in the list twice",
    ("--hosts", "localhost,127.0.0.1:2", "-n", "2"): "give all or none",
    ("--hosts", "localhost:2,127.0.0.1:2", "-n", "3"): "take 4 ranks together but -n asks for 3",
    ("--hosts", "localhost,127.0.0.1", "-n", "1"): "1 ranks do not fill 2 hosts",
    ("--hosts", "localhost,127.0.0.1", "-n", "4", "-m", "fabric:x4"): "4 ranks do not fill 2 hosts",
    ("--hosts", "localhost:6", "-m", "fabric:x4"): "a process has 4 ranks; legal is a multiple",
    ("-n", "6", "-m", "fabric:x4"): "-n asks for 6 ranks, but a process of the machine 'fabric:x4'",
    ("--hosts", "no-such-host.invalid"): "The host 'no-such-host.invalid' is not known here",
}.items())
def test_wishes_that_make_no_sense_are_explained(selion, tmp_path, arguments, sentence):
    path = _with(tmp_path / "bin", mpirun=_open_mpi_4)
    done = selion("run", *arguments, "/bin/true", PATH=path)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())


def test_no_launcher_is_explained(selion, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    done = selion("run", "--hosts", "localhost", "/bin/true", PATH=str(empty))
    assert done.returncode == 2
    assert "needs a launcher with PMIx" in done.stderr and "openmpi-bin" in done.stderr
    path = _with(tmp_path / "bin", mpirun="HYDRA build details:")
    done = selion("run", "--hosts", "localhost", "/bin/true", PATH=path)
    assert done.returncode == 2
    assert f"{path}/mpirun is none of them" in " ".join(done.stderr.split())


def test_a_launcher_that_does_not_answer_is_explained(tmp_path, monkeypatch):
    write_script(tmp_path / "mpirun", "import signal\nsignal.pause()")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(launcher, "_limit_seconds", 0.2)
    with pytest.raises(Mistake, match="/mpirun --version' has not ended after 0.2 s; put a launch"):
        launcher.find()


def test_a_launcher_that_is_no_program_is_explained(selion, tmp_path):
    path = tmp_path / "bin" / "mpirun"
    path.parent.mkdir()
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    done = selion("run", "--hosts", "localhost", "/bin/true", PATH=str(path.parent))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"selion run: '{path}' cannot be started: Exec format error; put a "
                           "launcher that works first on the PATH.\n")


def test_a_launcher_may_speak_in_other_bytes(selion, tmp_path):
    write_script(tmp_path / "bin" / "mpirun", """
        import sys
        sys.stdout.buffer.write(b"\\xff mpirun (Open MPI) 4.1.4")
    """)
    assert "keepalive" in _line(selion, "-n", "2", PATH=str(tmp_path / "bin"))


def test_slurm_needs_as_many_ranks_on_each_host():
    hosts = [launcher.Host("a", None), launcher.Host("b", None)]
    slurm = launcher.Launcher("/usr/bin/srun", "slurm")
    with pytest.raises(Mistake, match="as many ranks on each host, not 2, 1"):
        launcher.command(slurm, hosts, 3, ["./program"], {})
    assert os.sep in launcher.command(slurm, hosts, 4, ["./program"], {})[0]
