# SPDX-License-Identifier: Apache-2.0
"""`selion study` on simulated machines that lack what some experiments ask of them: those are left
out with a line that says why, and the others go on."""

from __future__ import annotations

import pytest

from conftest import needs_module, write_script

pytestmark = needs_module

_on_meshes = """
[experiment.meshes]
summary = "a mesh of each side"
machine_template = { sim = "{machine},rows={side},columns={side}" }

[experiment.meshes.axis.side]
type = "int"
default = [2, 3]
quick = [2, 3]
legal = "any"

[experiment.meshes.metric.latency_ns]
unit = "ns"
"""
_no_columns = "crossbar.toml, option columns=2: there is no such option"


@pytest.fixture
def meshes(fake):
    """The study with an experiment that only meshes suit; its program prints what that asks for."""
    path = fake.published.parent / "study.toml"
    path.write_text(path.read_text() + _on_meshes)
    return fake


def test_an_experiment_that_asks_for_more_is_left_out_and_the_others_go_on(meshes):
    done = meshes.run("--quick", "--machine", "sim:crossbar,ranks=2")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(
        f"fake meshes: 2 points left out on 'sim:crossbar,ranks=2': {_no_columns}")
    assert {row["experiment"] for row in meshes.rows()} == {"speed", "links"}
    assert "4 rows in selion-out/fake/results.jsonl" in done.stdout
    assert meshes.run("--quick", "--compare", "--machine", "sim:crossbar,ranks=2").returncode == 1


def test_one_machine_of_two_may_suit(meshes):
    done = meshes.run("--quick", "--experiment", "speed", "--machine", "sim:crossbar,ranks=2")
    assert (done.returncode, done.stderr) == (0, "")
    done = meshes.run("--quick", "--machine", "sim:crossbar", "--machine", "threads:2")
    assert done.returncode == 1
    assert {row["machine"] for row in meshes.rows() if row["experiment"] == "speed"} == {
        "sim:crossbar", "threads:2"}


def test_where_nothing_is_left_it_is_a_failure(meshes, selion):
    done = meshes.run("--experiment", "meshes", "--machine", "sim:crossbar")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "selion study: The machine 'sim:crossbar' has no point of what was asked for: "
        + _no_columns)
    assert not meshes.results.exists()


def test_a_study_of_all_that_has_nothing_left_does_not_keep_the_others(meshes, selion):
    other = meshes.folder / "studies" / "other"
    other.mkdir()
    (other / "study.toml").write_text("program = 'fake'\nmachine = 'sim:epiphany-iii'\n"
                                      + _on_meshes)
    done = selion("study", "all", "--quick", "--machine", "sim:crossbar", **meshes.environment())
    assert done.returncode == 1
    assert "'other' failed: The machine 'sim:crossbar' has no point" in done.stderr
    assert {row["experiment"] for row in meshes.rows()} == {"speed", "links"}


_refusing = """
import json, os, sys
machine = os.environ["SELION_MACHINE"]
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if given["--experiment"] == "speed":
    print(f'selion: machine "{machine}": loss is for others.', file=sys.stderr)
    sys.exit(int(os.environ.get("FAKE_STATUS", "2")))
for to in (0, 1):
    params = {**json.loads(given["--params"]), "from": 0, "to": to}
    print(json.dumps({"params": params, "metric": "link_bytes", "value": 1, "unit": "bytes"}))
"""


def test_what_the_machine_itself_refuses_at_the_start_is_left_out(fake):
    write_script(fake.folder / "bin" / "fake", _refusing)
    done = fake.run("--machine", "sim:crossbar")
    assert done.returncode == 1
    assert done.stderr == ("fake speed: 4 points left out on 'sim:crossbar': "
                           "loss is for others.\n")
    assert {row["experiment"] for row in fake.rows()} == {"links"}


@pytest.mark.parametrize(("machine", "status"), [("sim:crossbar", "1"), ("threads:2", "2")])
def test_other_ends_are_failures(fake, machine, status):
    write_script(fake.folder / "bin" / "fake", _refusing)
    done = fake.run("--machine", machine, FAKE_STATUS=status)
    assert done.returncode == 1
    assert f"ended with exit status {status}; it said:" in done.stderr
    assert fake.rows() == []
