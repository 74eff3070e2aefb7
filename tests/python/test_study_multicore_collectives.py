# SPDX-License-Identifier: Apache-2.0
"""The study `multicore-collectives`: the statements of its source, and real ranks."""

from __future__ import annotations

import json
import re

import pytest

from conftest import root
from studying import Study, values, where_is


page = (root / "studies/multicore-collectives/multicore-collectives.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def where() -> dict[str, str]:
    return where_is("study_multicore_collectives")


@pytest.fixture
def study(selion, where) -> Study:
    return Study(selion, "multicore-collectives", where)


def assert_printed(figures: list[str], found: list[float]) -> None:
    """The figures are what has been found, as precise as they are printed."""
    assert len(figures) == len(found)
    for figure, value in zip(figures, found, strict=True):
        decimals = len(figure.partition(".")[2])
        assert float(figure.replace(",", "")) == pytest.approx(value, abs=0.51 * 10**-decimals)


def test_threads_are_two_orders_of_magnitude_faster_than_processes(study):
    rows = study("threads-and-processes", "collective=barrier")
    us = values(rows, "latency_us", "processes")
    assert sorted(us) == [1, 2, 4, 8, 16, 32, 64]
    assert us[64] == pytest.approx(1000, rel=0.01)  # fitted on
    assert us[1] == pytest.approx(10, rel=0.1)
    grid = [us[processes] for processes in sorted(us)]
    assert grid == sorted(grid)
    for row in rows:
        params = row["params"]
        assert params["processes"] * params["threads"] == row["ranks"] == 64


@pytest.mark.parametrize("collective", ["broadcast", "all_reduce"])
def test_other_collectives_scale_likewise(study, collective):
    rows = study("threads-and-processes", f"collective={collective}", "bytes=256")
    us = values(rows, "latency_us", "processes")
    grid = [us[processes] for processes in sorted(us)]
    assert grid == sorted(grid)
    assert us[64] > 15 * us[1]


@pytest.mark.parametrize(("machine", "most"), [("clovertown", 8), ("bluegene-p", 4)])
def test_small_nodes_differ_less(study, machine, most):
    rows = study(f"threads-and-processes-{machine}", "collective=barrier", "bytes=0")
    us = values(rows, "latency_us", "processes")
    assert 1.5 < us[most] / us[1] < 10


def test_trees_as_they_are_drawn(study):
    rows = study("tree-shape", "ranks=16", "radix=2,4,8,16")
    parents = values(rows, "parent_of", "radix")
    depths = values(rows, "depth", "radix")
    assert parents[2] == [-1, 0, 0, 2, 0, 4, 4, 6, 0, 8, 8, 10, 8, 12, 12, 14]
    assert parents[4] == [-1, 0, 0, 0, 0, 4, 4, 4, 0, 8, 8, 8, 0, 12, 12, 12]
    assert parents[8] == [-1] + 7 * [0] + [0] + 7 * [8]
    assert parents[16] == [-1] + 15 * [0]
    assert depths == {2: 4, 4: 2, 8: 2, 16: 1}


def test_trees_beat_flat_where_ranks_are_many(study):
    axes = ("bytes=0,8,4096", "topology=flat,k_nomial", "radix=0,2,4", "timing=source")
    rows = study("radix", "collective=barrier,all_reduce", *axes, machine="sim:niagara2")
    us = values(rows, "latency_us", "collective", "bytes", "radix")
    for what in (("barrier", 0), ("all_reduce", 8), ("all_reduce", 4096)):
        assert us[*what, 0] > 3 * us[*what, 2]
    assert us["all_reduce", 4096, 4] == pytest.approx(us["all_reduce", 4096, 2], rel=0.05)


def test_broadcasts_are_timed_both_ways(study):
    axes = ("collective=broadcast", "bytes=4096", "radix=0,2,8")
    rows = study("radix", *axes, machine="sim:niagara2")
    us = values(rows, "latency_us", "timing", "radix")
    for timing in ("source", "rotating"):
        assert us[timing, 8] < us[timing, 2]
        assert us[timing, 8] < us[timing, 0]


def test_the_best_choice_for_the_machine(study):
    rows = study("summary", "bytes=0,8,256", machine="sim:niagara2")
    gain = values(rows, "throughput_vs_flat", "collective", "bytes", "choice")
    best = values(rows, "best_choice", "collective", "bytes")
    assert len(best) == 1 + 3 * 2
    for what in best:
        assert gain[*what, "flat"] == 1
        assert gain[*what, "dependent"] >= max(1, gain[*what, "independent"])
    for what in (("barrier", 0), ("broadcast", 256), ("exchange", 8)):
        assert gain[*what, "dependent"] > 1.1 * gain[*what, "independent"] > 1.1


def test_the_page_has_what_the_study_finds(study):
    """Barriers: they move no data whose place on the host counts."""
    figures = [re.findall(r"\d[\d,]*(?:\.\d+)?", line) for line in page.splitlines()
               if line.startswith("| barrier | ")]  # fmt: skip
    grid, nodes, radices, gains = figures[:4]
    only = ("collective=barrier", "bytes=0")

    def found(*asked: str, by: str, machine: str | None = None) -> list[float]:
        return list(values(study(*asked, machine=machine), "latency_us", by).values())

    layers = "threads-and-processes"
    assert_printed(grid, found(layers, *only, by="processes"))
    assert_printed(nodes, [us for node in ("clovertown", "bluegene-p") for us in
                           found(f"{layers}-{node}", *only, by="processes")])
    trees = ("topology=flat,k_nomial", "radix=0,2,3,4,6,8,12,16,32", "timing=source")
    assert_printed(radices, found("radix", *only, *trees, by="radix", machine="sim:niagara2"))
    rows = study("summary", *only)
    assert_printed(gains, [row["value"] for row in rows if row["params"].get("choice") in (
        "independent", "dependent")])


def test_hybrid_modes_of_the_cluster(study):
    rows = study("cluster-all-reduce", "nodes=16", "bytes=8,16384", "mode=dual,smp")
    gain = values(rows, "throughput_vs_vn", "mode", "bytes", "computation")
    for mode in ("dual", "smp"):
        assert gain[mode, 8, "leader"] > 1.1
        assert gain[mode, 16384, "leader"] < 1
        assert gain[mode, 16384, "partitioned"] > 1.3
    assert gain["smp", 8, "leader"] > gain["dual", 8, "leader"]


def test_loose_broadcasts_overlap(study):
    rows = study("strict-and-loose", "bytes=8,16384", machine="sim:niagara2")
    us = values(rows, "latency_us", "bytes", "sync")
    assert 5 < us[8, "strict"] / us[8, "loose"] < 12
    assert 1 < us[16384, "strict"] / us[16384, "loose"] < 2


def test_more_ranks_spend_more_of_their_time_in_collectives(study):
    share = values(
        study("applications", "ranks=16,64"), "time_in_collectives_percent", "kernel", "ranks"
    )
    for kernel in ("fft_exchange", "cg_reductions"):
        assert 0 < share[kernel, 16] < share[kernel, 64] < 100


@pytest.mark.parametrize("machine", ["threads:2", "processes:2"])
@pytest.mark.parametrize(
    ("experiment", "settings"),
    [
        ("radix", ("collective=barrier,broadcast", "bytes=0,256", "radix=0,2")),
        ("summary", ("collective=exchange", "bytes=8")),
        ("strict-and-loose", ("bytes=8",)),
        ("applications", ("ranks=2", "kernel=cg_reductions")),
    ],
)
def test_real_ranks(study, experiment, settings, machine):
    rows = study(experiment, *settings, machine=machine)
    assert rows
    for row in rows:
        assert row["ranks"] == 2
        assert row["machine"] == machine


def test_threads_and_processes_of_the_host(study):
    us = values(
        study("threads-and-processes-host", "collective=all_reduce", "bytes=256"),
        "latency_us",
        "processes",
        "threads",
    )
    assert set(us) == {(1, 2), (2, 1)}
    assert all(latency > 0 for latency in us.values())


@pytest.mark.parametrize(
    ("experiment", "setting", "machine", "words"),
    [
        ("cluster-all-reduce", "nodes=1", "threads:2", "it compares modes of a cluster"),
        ("threads-and-processes-host", "processes=2", "threads:2", "1 processes of 2 threads"),
        ("radix", "radix=0", "sim:bluegene-p,nodes=2", "it is about ranks of one memory"),
        ("applications", "ranks=4", "threads:2", "threads:2 has 2 ranks"),
    ],
)
def test_what_a_machine_cannot_do(selion, where, experiment, setting, machine, words):
    name = ("study", "multicore-collectives", "--experiment", experiment, "--quick")
    done = selion(*name, "--set", setting, "--machine", machine, **where)
    assert done.returncode == 1  # all of it
    assert words in " ".join((done.stdout + done.stderr).split())


def test_mpi_beside_threads_and_processes(selion, where):
    asked = ("--experiment", "mpi", "--json", "--set", "collective=broadcast", "--set", "bytes=8",
             "--set", "ranks=2")
    done = selion("study", "multicore-collectives", *asked, **where)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    us = values(rows, "latency_us", "library", "between")
    assert {("selion", "threads"), ("selion", "processes")} <= set(us)
    if ("mpi", "processes") not in us:
        assert "apt-get install openmpi-bin" in done.stderr
    assert all(value > 0 for value in us.values())
    assert ("mpi", "threads") not in us
