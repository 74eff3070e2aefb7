# SPDX-License-Identifier: Apache-2.0
"""What runs on threads runs on two hosts, with the same results: every operation, the examples, the
programs of the tutorial, Python programs, and studies."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jobs import clean_environment, is_sanitized, limit, measuring, programs
from launched import Launched, for_mpirun, skip_without_fabric
from two_hosts import TwoHosts

skip_without_fabric()

_root = Path(__file__).resolve().parents[2]
sys.path.append(str(_root / "python"))
from selion import native  # noqa: E402

_ranks = 4


@pytest.mark.skipif(not (programs / "conformance_tests").exists(), reason="it is not built")
def test_every_operation(lasting_hosts: TwoHosts):
    with Launched(_ranks, "conformance_tests", "--gtest_brief=1", hosts=lasting_hosts,
                  SELION_TUNING="off") as job:
        outcome = job.end(within=4 * limit if is_sanitized else limit)
    assert outcome.status == 0, outcome.out + outcome.err
    assert re.search(r"PASSED.*? \S*\d+ tests", outcome.out)


_examples = {
    "ring": ("--rounds", "200"),
    "heat": ("--size", "50", "--steps", "100"),
    "conjugate_gradients": ("--poisson", "20"),
    "histogram": ("--values", "20000"),
    "fft_transpose": ("--size", "32"),
    "work_stealing": ("--width", "300"),
    "key_value": ("--operations", "5000", "--keys", "100"),
    "em3d": ("--random", "--nodes", "60", "--iterations", "30", "--verify"),
    "lapi_tour": (),
}
#: All but the one that is wrong on purpose.
_lessons = sorted({path.name for path in programs.glob("tutorial_*")} - {"tutorial_race"})
#: What depends on time, or on who comes first.
_varying = re.compile(
    r"; a hop took .*|\d+ ranks visited .*| in [0-9.]+ ms|em3d on .*|.*\b(time|ns)\b.*"
    r"|\d+(?= and \d+ of \d+)")


def _results(text: str) -> list[str]:
    return sorted(_varying.sub("", text).splitlines())


@pytest.mark.parametrize("name", [*_examples, *_lessons])
def test_results_are_those_on_threads(lasting_hosts: TwoHosts, name: str):
    if not (programs / name).exists():
        pytest.skip(f"{name} is not built")
    arguments = _examples.get(name, ())
    environment = clean_environment(SELION_MACHINE=f"threads:{_ranks}")
    alone = subprocess.run([programs / name, *arguments], env=environment, capture_output=True,
                           text=True, timeout=limit)
    with Launched(_ranks, name, *arguments, hosts=lasting_hosts) as job:
        outcome = job.end()
    assert outcome.status == 0, outcome.err
    assert "selion:" not in outcome.err
    assert _results(alone.stdout)
    assert _results(outcome.out) == _results(alone.stdout)


def test_there_are_lessons():
    assert len(_lessons) > 10


# --- Python ---------------------------------------------------------------------------------------


def _selion(hosts: TwoHosts, *arguments: str, folder: Path,
            **changes: str) -> subprocess.CompletedProcess[str]:
    """The command, on host-a."""
    environment = clean_environment(
        PYTHONPATH=str(_root / "python"), SELION_BIN=str(measuring), **for_mpirun,
        **hosts.for_mpirun(), **changes)
    command = [*hosts.enter("host-a"), sys.executable, "-m", "selion", *arguments]
    return subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=2 * limit)


_of_hosts = ",".join(TwoHosts.addresses())

_needs_module = pytest.mark.skipif(native.try_load()[0] is None,
                                   reason="the compiled module is not built: pip install -e .")


def test_selion_run_starts_a_program_on_hosts(lasting_hosts: TwoHosts, tmp_path: Path):
    done = _selion(lasting_hosts, "run", "-m", "fabric", "--hosts", _of_hosts, "-n", str(_ranks),
                   "-v", str(programs / "test_mailbox"), "right", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    places = re.findall(rf"fabric:{_ranks}: rank \d of {_ranks} on host (\S+) over", done.stderr)
    assert sorted(places) == ["host-a", "host-a", "host-b", "host-b"]


_program = '''
import os
import numpy as np
import selion

def main(world):
    part = world.allocate(4, np.float64)
    right = (world.rank + 1) % world.size
    part.put(np.full(4, world.rank + 0.5), rank=right)
    world.barrier()
    total = world.all_reduce(float(part.local.sum()))
    print(world.rank, os.uname().nodename, part.local[0], total)

selion.run(main)
'''


@_needs_module
def test_selion_run_starts_a_python_program_on_hosts(lasting_hosts: TwoHosts, tmp_path: Path):
    (tmp_path / "program.py").write_text(_program)
    done = _selion(lasting_hosts, "run", "--hosts", _of_hosts, "-n", str(_ranks), "program.py",
                   folder=tmp_path)
    assert done.returncode == 0, done.stderr
    told = sorted(line.split() for line in done.stdout.splitlines())
    assert [line[0] for line in told] == ["0", "1", "2", "3"]
    assert sorted(line[1] for line in told) == ["host-a", "host-a", "host-b", "host-b"]
    assert [float(line[2]) for line in told] == [3.5, 0.5, 1.5, 2.5]
    assert {float(line[3]) for line in told} == {32.0}


@_needs_module
def test_a_python_rank_that_raises_ends_all(lasting_hosts: TwoHosts, tmp_path: Path):
    (tmp_path / "program.py").write_text(
        "import selion\n"
        "def main(world):\n"
        "    if world.rank == 1:\n"
        "        raise ValueError('the cause is told')\n"
        "    world.barrier()\n"
        "selion.run(main)\n")
    done = _selion(lasting_hosts, "run", "--hosts", _of_hosts, "-n", "2", "program.py",
                   folder=tmp_path)
    assert done.returncode != 0
    assert "ValueError: the cause is told" in done.stderr


# --- studies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("study, experiment, ranks, settings", [
    ("one-sided", "latency", 2,
     ["op=put,get", "progress=polling", "wait=wait_counter", "bytes=8"]),
    ("host", "latency", 2, ["op=put,barrier", "bytes=0,8"]),
    ("multicore-collectives", "applications", 4, ["ranks=4", "kernel=cg_reductions"]),
    ("mesh-broadcast", "orders", 4, ["order=pass_up"]),
    ("software-cache", "read-latency", 4, []),
    ("offload", "transfer", 2, ["bytes=65536", "host=sparc_2"]),
])
def test_a_study_runs_on_hosts(lasting_hosts: TwoHosts, tmp_path: Path, study: str,
                               experiment: str, ranks: int, settings: list[str]):
    """All of the quick sets: scripts/ci/studies-on-hosts."""
    if not (measuring / f"study_{study.replace('-', '_')}").exists():
        pytest.skip("its program is not built")
    chosen = ["--experiment", experiment]
    sets = [part for one in settings for part in ("--set", one)]
    machine = f"fabric:{ranks}"
    done = _selion(lasting_hosts, "study", study, "--quick", *chosen, *sets, "-m", machine,
                   "--hosts", _of_hosts, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows and all(row["value"] > 0 for row in rows)
    points = [(str(row["params"]), row["metric"]) for row in rows]
    assert len(set(points)) == len(points), "one rank tells"
    assert {row["machine"].removesuffix(",progress=polling") for row in rows} == {machine}
    assert os.listdir(tmp_path) == ["selion-out"]


@pytest.mark.long
@pytest.mark.skipif(not (measuring / "study_calibrate").exists(), reason="it is not built")
def test_a_network_is_calibrated_and_simulated(lasting_hosts: TwoHosts, tmp_path: Path):
    done = _selion(lasting_hosts, "calibrate", "-m", "fabric", "--hosts", _of_hosts, "--quick",
                   folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "SELION_MACHINE=sim:./this-network.toml ./program\n"
    for ranks in (2, 4):
        environment = clean_environment(SELION_MACHINE=f"sim:./this-network.toml,ranks={ranks}")
        ring = subprocess.run([programs / "ring", "--rounds", "5"], env=environment, cwd=tmp_path,
                              capture_output=True, text=True, timeout=limit)
        assert (ring.returncode, ring.stderr) == (0, "")
        assert f"over {ranks} ranks" in ring.stdout
    compared = _selion(lasting_hosts, "study", "prediction", "--experiment", "operations", "--set",
                       "op=get", "--set", "bytes=8", "--set",
                       f"predicted_on=sim:{tmp_path}/this-network.toml", "-m", "fabric:2",
                       "--hosts", _of_hosts, "--json", folder=tmp_path)
    assert compared.returncode == 0, compared.stderr
    metrics = {row["metric"] for row in map(json.loads, compared.stdout.splitlines())}
    assert metrics == {"predicted_ns", "measured_ns", "error_percent"}
