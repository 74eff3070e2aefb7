# SPDX-License-Identifier: Apache-2.0
"""bench/run_network: a peer that fails is named, and the others go on. No hosts are made here."""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import pytest

from conftest import root, seconds, write_script

sys.path.insert(0, str(root / "bench"))
import report  # noqa: E402
from network import plan  # noqa: E402
from network import places as hosts  # noqa: E402

_server = """
import signal, sys
if "-s" in sys.argv:
    print("Server listening on 5299", flush=True)
    signal.pause()
"""


class OneHost(hosts.Places):
    """Both hosts are this one."""

    def __init__(self) -> None:
        self._hosts = SimpleNamespace(addresses=lambda: ("first", "second"))

    def enter(self, host: str) -> list[str]:
        return []

    def open_mpi(self, ranks, settings, passed, program) -> list[str]:
        return [str(program)]


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder of programs that are found before all others."""
    folder = tmp_path / "path"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def script():
    """bench/run_network as a module."""
    loader = importlib.machinery.SourceFileLoader("run_network", str(root / "bench/run_network"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_network", loader))
    loader.exec_module(made)
    return made


def test_a_stream_is_measured(path):
    told = '{"end": {"sum_received": {"bits_per_second": 8e9}}}'
    write_script(path / "iperf3", f"{_server}\nelse: print('{told}')")
    assert OneHost().stream_ns(1000) == 1000


@pytest.mark.parametrize(("end", "words"), [
    ("else: sys.exit(1)", "iperf3 ended with status 1"),
    ("else: print('no route')", "iperf3 did not tell what it had received"),
    ("""else: print('{"end": {"sum_received": {"bits_per_second": 0}}}')""",
     "iperf3 received nothing"),
])
def test_a_stream_that_fails_is_named(path, end, words):
    write_script(path / "iperf3", f"{_server}\n{end}")
    with pytest.raises(hosts.Trouble, match=words):
        OneHost().stream_ns(1000)


def test_a_server_that_does_not_listen_is_named(path):
    write_script(path / "iperf3", "")
    with pytest.raises(hosts.Trouble, match="iperf3 does not listen"):
        OneHost().stream_ns(1000)


def test_a_peer_that_cannot_be_built_is_named(path, tmp_path):
    write_script(path / "mpicxx.mpich", "import sys; sys.exit('mpi.cpp:1: error: no mpi.h')")
    with pytest.raises(hosts.Trouble) as caught:
        plan.mpich.build(tmp_path)
    assert str(caught.value) == "mpicxx.mpich could not build mpi.cpp: mpi.cpp:1: error: no mpi.h"


@pytest.mark.parametrize(("given", "used"), [(None, "off"), ("table.json", "table.json")])
def test_only_a_table_that_is_named_counts(monkeypatch, given, used):
    monkeypatch.delenv("SELION_TUNING", raising=False)
    if given:
        monkeypatch.setenv("SELION_TUNING", given)
    passed = {}
    monkeypatch.setattr(OneHost, "open_mpi", lambda *given: passed.update(given[3]))
    plan.command(OneHost(), "Selion", 2, root)
    assert passed["SELION_TUNING"] == used


def test_the_others_of_a_round_go_on(path, tmp_path):
    write_script(path / "iperf3", f"{_server}\nelse: sys.exit(1)")
    own = write_script(tmp_path / "own", r"print('barrier\t10')")
    peer = write_script(tmp_path / "peer", r"print('barrier\t20\nputs\t', end=''); exit(3)")
    given = argparse.Namespace(ranks=[2], repeat=1, seed=1)
    programs = {"Selion": own, "Open MPI": peer}
    rows: list[dict] = []
    troubles = script().play_round(OneHost(), programs, given, 0, rows)
    assert sorted(troubles) == ["Open MPI, 2 ranks, ended with status 3",
                                "iperf3 ended with status 1"]
    assert sorted((row["contestant"], row["ns"]) for row in rows) == [
        ("Open MPI", [20.0]), ("selion", [10.0])]


@pytest.mark.parametrize(("line", "status", "words"), [
    (("run_network", "--only", "bcast"), 1,
     "No operation has 'bcast' in its name; there are: message of 8 B, round trip, rpc of 8 B"),
    (("run_network", "--ranks", "8", "--only", "put"), 1,
     "No operation has 'put' in its name; there are: barrier, all_reduce 8 B\n"),
    (("run_hosts", "--only", "bcast"), 1,
     "No operation has 'bcast' in its name; there are: barrier, all_reduce 8 B, broadcast 8 B"),
    (("run_hosts", "--repeat", "0"), 2, "--repeat: '0' is not a whole number from 1 on"),
    (("run_hosts", "--ranks", "7"), 2, "--ranks: '7' is not even: each host has half of them"),
    (("run_hosts", "--bin", "nowhere"), 1, "There is no program nowhere/bench_collectives; build "),
    (("run_hosts", "--bin", "bin", "--beside", "other"), 1, "There is no program other; build "),
])
def test_it_refuses_before_hosts_are_made(tmp_path, line, status, words):
    write_script(tmp_path / "bin" / "bench_collectives", "import sys; sys.exit('it was run')")
    done = subprocess.run([sys.executable, root / "bench" / line[0], *line[1:]], cwd=tmp_path,
                          capture_output=True, text=True, timeout=seconds)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr and "Traceback" not in done.stderr


def test_the_operations_are_those_of_the_programs():
    text = (root / "bench" / "network" / "operations.hpp").read_text()
    assert set(re.findall(r'who, "([^"]+)"', text)) == {
        name for names in plan.operations.values() for name in names}


@pytest.mark.parametrize(("folder", "names", "parts"), [
    ("", "", ("pair", "cached", "crowd", "startup", "interrupt")),
    ("network", "Open MPI, messages; MPICH, messages", ("network",)),
])
def test_goals_name_what_is_measured(folder, names, parts):
    bench = root / "bench"
    told = [file.read_text() for part in parts for file in (bench / part).rglob("*.?pp")]
    told += [file.read_text() for part in parts for file in (bench / part).glob("*.py")]
    known = {*re.findall(r'"([^"\n]*)"', "\n".join(told)), *names.split("; ")}
    goals = tomllib.loads((bench / folder / "goals.toml").read_text())["goal"]
    named = {name for goal in goals for name in (goal["operation"], *goal.get("rivals", []))}
    assert named <= known


def test_a_peer_that_failed_in_a_round_is_compared_in_the_others():
    rows = [row for turn in range(3) for row in plan.rows_of("Selion", 2, {"barrier": 10}, turn)]
    rows += [row for turn in (0, 2) for row in plan.rows_of("MPICH", 2, {"barrier": 20}, turn)]
    [line] = report.full_table(report.contests(rows))[2:]
    assert line == "| barrier | fabric:2 | 10 ns | MPICH | 20 ns | 0.50 (0.50 to 0.50, 2) |"
