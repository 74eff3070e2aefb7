# SPDX-License-Identifier: Apache-2.0
"""The study `prediction`: what it compares, and what it says where it cannot."""

from __future__ import annotations

import json

import pytest

from conftest import root
from studying import where_is


@pytest.fixture(scope="module")
def where() -> dict[str, str]:
    return where_is("study_prediction")


@pytest.mark.parametrize("machine", ["threads:2", "processes:2"])
def test_predicted_beside_measured(selion, where, machine):
    axes = ("--set", f"predicted_on=sim:{root}/machines/this-host.toml", "--set", "nodes=20")
    done = selion(
        "study", "prediction", "--quick", *axes, "--machine", machine, "--json", **where
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    points: dict[str, dict[str, float]] = {}
    for row in rows:
        assert (row["machine"], row["ranks"]) == (machine, 2)
        points.setdefault(row["params"].get("op", row["experiment"]), {})[row["metric"]] = row[
            "value"
        ]
    calls = {"put", "get", "put_signal", "fetch_add", "rpc", "barrier", "all_reduce", "broadcast"}
    assert set(points) == calls | {"em3d"}
    for values in points.values():
        predicted, measured = values["predicted_ns"], values["measured_ns"]
        assert predicted > 0
        assert measured > 0
        error = 100 * (predicted - measured) / measured
        assert values["error_percent"] == pytest.approx(error, rel=1e-3, abs=0.01)


@pytest.mark.parametrize("cores", [2, 4])
def test_a_simulated_machine_predicts_itself(selion, where, tmp_path, cores):
    """Both halves run the same code, so the same machine gives the same times."""
    described = (root / "machines/this-host.toml").read_text()
    file = tmp_path / "host.toml"
    file.write_text(described.replace("cores_per_socket = 2", f"cores_per_socket = {cores}"))
    here = f"sim:{file}"
    done = selion(
        *("study", "prediction", "--experiment", "em3d", "--set", f"predicted_on={here}"),
        *("--set", "nodes=20", "--quick", "--machine", f"{here},ranks=2", "--json"),
        **where,
    )
    assert (done.returncode, done.stderr) == (0, "")
    values = {row["metric"]: row["value"] for row in map(json.loads, done.stdout.splitlines())}
    assert values["predicted_ns"] == pytest.approx(values["measured_ns"], rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "there is no ./this-host.toml; 'selion calibrate' writes one"),
        (
            ("--set", f"predicted_on=sim:{root}/machines/this-host.toml", "--machine", "threads:1"),
            "it is about two ranks, and threads:1 has 1",
        ),
    ],
)
def test_what_it_skips(selion, where, arguments, words):
    done = selion(
        *("study", "prediction", "--experiment", "operations", "--set", "op=get"),
        *("--set", "bytes=8", *arguments),
        **where,
    )
    assert done.returncode == 1  # all of it
    assert words in done.stdout + done.stderr


def test_only_simulated_machines_predict(selion, where):
    done = selion("study", "prediction", "--set", "predicted_on=threads:2", **where)
    assert done.returncode != 0
    assert "legal: simulated machines" in done.stderr
