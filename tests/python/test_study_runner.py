# SPDX-License-Identifier: Apache-2.0
"""`selion study` on a study whose program is a script: rows, faults, comparing."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from conftest import clean_environment, command, needs_module, seconds

_speed = [(op, size) for op in ("put", "get") for size in (8, 64)]


def test_rows_of_all_points(fake):
    done = fake.run("--repetitions", "2", "--seed", "7")
    assert done.returncode == 0, done.stderr
    rows = fake.rows()
    assert len(rows) == 2 * (2 * 4 + 2 * 2)
    assert rows[0] == {
        "study": "fake",
        "experiment": "speed",
        "machine": "threads:2",
        "ranks": 2,
        "params": {"op": "put", "bytes": 8},
        "metric": "latency_ns",
        "value": 8.5,
        "unit": "ns",
        "repetition": 0,
        "seed": 7,
    }
    speed = [row["params"] for row in rows if row["experiment"] == "speed"]
    assert {(params["op"], params["bytes"]) for params in speed} == set(_speed)
    assert len(fake.runs()) == 6
    assert f"{len(rows)} rows in selion-out/fake/results.jsonl" in done.stdout


def test_integers_stay_integers(fake):
    fake.run("--experiment", "speed", "--set", "op=put", "--set", "bytes=8")
    assert [type(row["value"]) for row in fake.rows()] == [float, int]
    assert '"value": 3,' in fake.results.read_text()


def test_the_header(fake):
    fake.run("--quick", "--experiment", "speed")
    header = json.loads(fake.results.read_text().splitlines()[0])
    assert {"selion", "commit", "host", "cpu", "knobs"} <= header.keys()
    assert header["knobs"]["SELION_BIN"] == str(fake.folder / "bin")
    assert header["host"] == os.uname().nodename


def test_axes_are_replaced(fake):
    fake.run("--experiment", "speed", "--set", "op=get", "--set", "bytes=16,1K")
    assert {(row["params"]["op"], row["params"]["bytes"]) for row in fake.rows()} == {
        ("get", 16),
        ("get", 1024),
    }


@needs_module
def test_a_number_of_ranks_that_nobody_says_is_a_dash(fake):
    done = fake.run("--quick", "--experiment", "speed", "--machine", "sim:crossbar")
    assert done.returncode == 0, done.stderr
    assert {row["ranks"] for row in fake.rows()} == {None}
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[1][:2] == ["machine", "ranks"]
    assert [line[:2] for line in lines[2:4]] == [["sim:crossbar", "-"]] * 2


def test_a_rule_cuts_the_grid(fake):
    done = fake.run("--experiment", "speed", "--set", "op=put,barrier", "--set", "bytes=0,8")
    assert done.returncode == 0
    found = {(row["params"]["op"], row["params"]["bytes"]) for row in fake.rows()}
    assert found == {("put", 0), ("put", 8), ("barrier", 0)}


def test_other_machines(fake):
    fake.run("--quick", "--experiment", "speed", "--machine", "threads", "--machine", "processes:3")
    machines = [(row["machine"], row["ranks"]) for row in fake.rows()]
    assert set(machines) == {("threads:2", 2), ("processes:3", 3)}


def test_json_prints_the_rows(fake):
    done = fake.run("--quick", "--json", "--out", "here")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == fake.rows(fake.folder / "here" / "results.jsonl")
    assert len(rows) == 4


def test_all_studies(fake, selion):
    done = selion("study", "all", "--quick", "--out", "all", **fake.environment())
    assert done.returncode == 0
    assert len(fake.rows(fake.folder / "all" / "fake" / "results.jsonl")) == 4


def test_where_standard_output_is_closed_rows_are_kept_all_the_same(fake):
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command, "study", "fake", "--quick"], cwd=fake.folder,
        env=clean_environment(**fake.environment()), capture_output=True, text=True,
        timeout=seconds)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(fake.rows()) == 4


def test_a_point_that_is_left_out(fake):
    done = fake.run("--quick", FAKE_FAULT="skip", FAKE_FAULTY="speed")
    assert done.returncode == 0
    assert "left out on 'threads:2': no such thing here." in done.stderr
    assert {row["experiment"] for row in fake.rows()} == {"links"}


@pytest.mark.parametrize("asked", [(), ("--resume",), ("--compare",), ("--json",)])
def test_where_all_points_are_left_out_it_is_a_failure(fake, asked):
    assert fake.run("--experiment", "links").returncode == 0  # rows of others do not count
    done = fake.run("--experiment", "speed", *asked, FAKE_FAULT="skip")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "selion study: No point of what was asked for was measured; all were left out.")


def test_where_no_point_is_left_to_be_measured_it_is_no_failure(fake):
    assert fake.run("--quick").returncode == 0
    assert fake.run("--quick", "--resume", FAKE_FAULT="skip").returncode == 0


def test_an_empty_name_is_the_name_of_no_experiment(fake):
    for asked in (("--experiment", ""), ("--experiment", "", "--compare")):
        done = fake.run(*asked)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == ("selion study: '' is not an experiment of the study 'fake'; "
                               "legal: speed, links.\n")


_by_ranks = """
[experiment.by-ranks]
summary = "the same by the number of ranks"
axes = ["bytes"]

[experiment.by-ranks.axis.ranks]
type = "int"
default = [1, 2, 4]
legal = { min = 1, max = 64 }

[experiment.by-ranks.metric.latency_ns]
unit = "ns"

[experiment.by-ranks.metric.count]
unit = "calls"
"""


def test_a_machine_has_the_points_of_its_own_number_of_ranks(fake):
    with open(fake.folder / "studies" / "fake" / "study.toml", "a", encoding="utf-8") as study:
        study.write(_by_ranks)
    done = fake.run("--machine", "threads:2", "--machine", "processes:2x2")
    assert done.returncode == 0, done.stderr
    found = {
        (row["machine"], row["params"]["ranks"])
        for row in fake.rows()
        if row["experiment"] == "by-ranks"
    }
    assert found == {("threads:2", 2), ("processes:2x2", 4)}
    words = " ".join(done.stderr.split())
    others = "they are of other numbers of ranks."
    for machine in "threads:2", "processes:2x2":
        assert f"fake by-ranks: 4 points left out on '{machine}': {others}" in words


def test_no_point_has_the_machines_number_of_ranks(fake):
    with open(fake.folder / "studies" / "fake" / "study.toml", "a", encoding="utf-8") as study:
        study.write(_by_ranks)
    done = fake.run("--experiment", "by-ranks", "--set", "ranks=4", "--machine", "threads:2")
    assert done.returncode == 2
    assert "The machine 'threads:2' has 2 ranks but the axis 'ranks' asks for 4" in done.stderr
    assert not fake.results.exists()


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("exit", "ended with exit status 1; it said:\nit is broken"),
        ("refusal", "'threads:2' cannot be started: mpirun of Open MPI starts nothing for root; "),
        ("noise", "printed a line that is not JSON ("),
        ("metric", "printed the metric 'colour'; study.toml declares latency_ns, count"),
        ("unit", "printed 'latency_ns' in the unit 's'; study.toml says 'ns'"),
        ("missing", "ended without the metric 'count' of repetition 0"),
    ],
)
def test_a_program_that_goes_wrong(fake, fault, complaint):
    done = fake.run(FAKE_FAULT=fault)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert "kept" not in done.stderr  # nothing was measured before
    assert len(fake.runs()) == 1  # the run stops there


def test_a_failed_point_is_run_again(fake):
    fake.run("--experiment", "speed", FAKE_FAULT="exit")
    assert fake.rows() == []
    assert fake.run("--experiment", "speed", "--resume").returncode == 0
    assert [row["metric"] for row in fake.rows()] == ["latency_ns", "count"] * 4


# --- published figures ----------------------------------------------------------------------------


def publish(fake, *lines: tuple[dict, str, float]) -> None:
    with fake.published.open("a") as file:
        for params, metric, value in lines:
            quoted = json.dumps(params).replace('"', '""')
            unit = "calls" if metric == "count" else "ns"
            file.write(f'fake,speed,"{quoted}",{metric},{value},{unit}\n')


def test_nothing_published(fake):
    done = fake.run("--compare", "--quick")
    assert done.returncode == 0
    assert done.stdout == "The study 'fake' has no published figures to compare with.\n"


def test_compare(fake):
    publish(
        fake,
        ({"op": "put", "bytes": 8}, "latency_ns", 8.5),
        ({"op": "put", "bytes": 64}, "latency_ns", 60),
        ({"op": "get", "bytes": 8}, "latency_ns", 17),
        ({"op": "get", "bytes": 64}, "count", 6),
        ({"op": "get", "bytes": 128}, "latency_ns", 1),
    )
    done = fake.run("--compare", "--experiment", "speed")
    assert done.returncode == 0, done.stderr
    table = [line.split() for line in done.stdout.splitlines()]
    assert table[0] == ["fake", "speed", "machine=threads:2"]
    assert table[1] == (
        "op bytes metric measured published unit error_% tolerance_% within".split()
    )
    assert table[2:6] == [
        ["put", "8", "latency_ns", "8.5", "8.5", "ns", "+0.00", "10", "yes"],
        ["put", "64", "latency_ns", "64.5", "60", "ns", "+7.50", "10", "yes"],
        ["get", "8", "latency_ns", "8.5", "17", "ns", "-50.00", "10", "no"],
        ["get", "64", "count", "3", "6", "calls", "-50.00", "-", "-"],
    ]
    assert done.stdout.splitlines()[-1] == (
        "fake: 2 of 3 cells within tolerance, 1 without a tolerance, "
        "1 of 5 published figures not measured."
    )
    assert [row["published"] for row in fake.rows() if "published" in row] == [8.5, 60, 17, 6]


def test_compare_measures_only_what_is_missing(fake):
    publish(fake, ({"op": "put", "bytes": 8}, "latency_ns", 8.5))
    fake.run("--experiment", "speed", "--set", "op=put")
    fake.runs()
    done = fake.run("--compare", "--experiment", "speed", "--json")
    assert len(fake.runs()) == 2
    (cell,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (cell["published"], cell["measured"], cell["is_within"]) == (8.5, 8.5, True)


def test_rows_of_another_seed_are_no_repetitions(fake):
    publish(fake, ({"op": "put", "bytes": 8}, "latency_ns", 8.5))
    asked = ("--experiment", "speed", "--set", "op=put", "--set", "bytes=8", "--resume")
    fake.run(*asked)
    fake.results.write_text(fake.results.read_text().replace('"value": 8.5', '"value": 80.5'))
    done = fake.run(*asked, "--seed", "2")
    table = [line.split() for line in done.stdout.splitlines() if "latency_ns" in line]
    assert "seed" in done.stdout.splitlines()[1].split() and "repetition" not in done.stdout
    assert [line[:7] for line in table] == [
        ["threads:2", "2", "put", "8", seed, "latency_ns", value]
        for seed, value in (("1", "80.5"), ("2", "8.5"))]
    for seed, measured in (("1", 80.5), ("2", 8.5)):
        done = fake.run(*asked[:-1], "--seed", seed, "--compare", "--json")
        [cell] = [json.loads(line) for line in done.stdout.splitlines()]
        assert cell["measured"] == measured


def test_figures_hold_for_the_number_of_ranks_of_their_source(fake):
    publish(fake, ({"op": "put", "bytes": 8}, "latency_ns", 8.5))
    fake.run("--quick", "--machine", "threads:4")
    assert not any("published" in row for row in fake.rows())
