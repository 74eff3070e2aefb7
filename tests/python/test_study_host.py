# SPDX-License-Identifier: Apache-2.0
"""The study `host`: its program, and a quick run of it on each kind of machine."""

from __future__ import annotations

import json
import subprocess

import pytest

from conftest import clean_environment, needs_module, root, seconds
from selion import places
from selion.mistake import Failure

try:
    _program = places.study_program("study_host")
except Failure as failure:
    pytest.skip(str(failure), allow_module_level=True)

_where = {"SELION_BIN": str(_program.parent), "SELION_STUDIES": str(root / "studies")}


@pytest.mark.parametrize("machine", ["threads:1", "threads:2", "threads:5@2", "processes:2"])
def test_a_quick_run(selion, machine):
    axes = ("--set", "bytes=0,8,4096")
    done = selion("study", "host", "--quick", *axes, "--machine", machine, "--json", **_where)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    points = {(row["experiment"], row["params"]["op"], row["params"]["bytes"]) for row in rows}
    calls = [(name, size) for name in ("put", "get", "put_signal", "all_reduce")
             for size in (8, 4096)]
    calls += [("fetch_add", 8), ("rpc", 8), ("barrier", 0)]
    assert points == {(name, *call) for name in ("latency", "rate") for call in calls}
    assert len(rows) == 11 + 11 + 6  # bandwidth is of puts and gets
    for row in rows:
        assert row["machine"] == machine
        assert row["ranks"] == int(machine.partition(":")[2].partition("@")[0])
        assert 0 < row["p5"] <= row["value"] <= row["p95"]
        assert row["n"] >= 7
        assert "published" not in row


def test_rate_and_bandwidth_agree(selion):
    options = ("--experiment", "rate", "--set", "op=put", "--set", "bytes=1024")
    done = selion("study", "host", *options, "--machine", "threads:2", "--json", **_where)
    value = {row["metric"]: row["value"] for row in map(json.loads, done.stdout.splitlines())}
    expected = value["operations_per_s"] * 1024 / (1 << 20)
    assert value["bandwidth_mib_per_s"] == pytest.approx(expected, rel=1e-4)


def test_repetitions(selion):
    options = ("--experiment", "latency", "--set", "op=barrier", "--repetitions", "3")
    done = selion("study", "host", *options, "--machine", "processes:2", "--json", **_where)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["repetition"] for row in rows] == [0, 1, 2]


def test_nothing_is_published(selion):
    options = ("--experiment", "latency", "--set", "op=barrier")
    done = selion("study", "host", *options, "--compare", **_where)
    assert done.returncode == 0
    assert "The study 'host' has no published figures to compare with." in done.stdout


@needs_module
def test_a_machine_that_is_not_there(selion):
    done = selion("study", "host", "--quick", "--machine", "treads:2", **_where)
    assert done.returncode == 2
    assert "did you mean 'threads'?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "--experiment NAME is missing."),
        (("--experiment", "speed", "--params", "{}"), "'speed' is no experiment; legal: latency,"),
        (("--experiment", "latency"), "--params lacks 'op'."),
        (("--experiment", "latency", "--params", "[1]"), "--params is '[1]'; legal is a JSON"),
        (("--experiment", "latency", "--params", "{"), "--params is '{'; legal is a JSON object."),
        (("--experiment",), "--experiment needs a value."),
        (("--colour", "red"), "'--colour' is no option; legal: --experiment NAME"),
        (("--repetitions", "0"), "--repetitions is '0'; legal is an integer from 1 on."),
        (("--seed", "one"), "--seed is 'one'; legal is an integer from 0 on."),
    ],
)
def test_bad_arguments_of_the_program(arguments, sentence):
    check_refusal(arguments, sentence)


@pytest.mark.parametrize(
    ("op", "size", "sentence"),
    [
        ("pull", 8, "'op' is 'pull'; legal: put, get, put_signal, fetch_add, rpc, barrier, "
                    "all_reduce."),
        (1, 8, "'op' is 1; legal: a string."),
        ("put", "8", "'bytes' is \"8\"; legal: an integer from 0 on."),
        ("put", -8, "'bytes' is -8; legal: an integer from 0 on."),
        ("put", 0, "'bytes' is 0 for 'put'; legal: 1 to 67108864."),
        ("put", 1 << 27, "'bytes' is 134217728 for 'put'; legal: 1 to 67108864."),
        ("fetch_add", 2, "'bytes' is 2 for 'fetch_add'; legal: 4, 8."),
        ("barrier", 8, "'bytes' is 8 for 'barrier'; legal: 0."),
        ("all_reduce", 12, "'bytes' is 12 for 'all_reduce'; legal: 8 to 67108864, multiples of 8."),
    ],
)
def test_bad_params(op, size, sentence):
    params = json.dumps({"op": op, "bytes": size})
    check_refusal(("--experiment", "latency", "--params", params), sentence)


def check_refusal(arguments: tuple[str, ...], sentence: str) -> None:
    done = subprocess.run(
        [str(_program), *arguments],
        env=clean_environment(SELION_MACHINE="processes:3"),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"study_host: {sentence}")
    assert done.stderr.count("\n") == 1
