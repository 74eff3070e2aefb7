# SPDX-License-Identifier: Apache-2.0
"""`selion study`: what becomes of the rows of earlier runs, also where a run fails."""

from __future__ import annotations

import pytest

from conftest import needs_module


def test_a_second_run_keeps_the_first_one_aside(fake):
    fake.run("--quick")
    first = fake.results.read_text()
    fake.run("--quick", "--seed", "2")
    assert fake.results.with_name("results.previous.jsonl").read_text() == first
    assert {row["seed"] for row in fake.rows()} == {2}


def test_what_is_kept_aside_outlives_runs_without_rows(fake):
    fake.run("--quick")
    first = fake.results.read_text()
    for _ in range(2):
        assert fake.run("--quick", FAKE_FAULT="exit").returncode == 1
        assert fake.rows() == []
    assert fake.results.with_name("results.previous.jsonl").read_text() == first


@needs_module
@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        ("thread:2", "'thread' is not a machine (did you mean 'threads'?); legal: fabric, "),
        ("sim:crosbar", 'machine "sim:crosbar": there is no such machine (did you mean crossbar?)'),
    ],
)
def test_a_misspelt_machine_touches_no_results(fake, machine, sentence):
    fake.run("--quick")
    first = fake.results.read_text()
    done = fake.run("--quick", "--machine", "threads:2", "--machine", machine)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"selion study: {sentence}")
    assert fake.results.read_text() == first
    assert not fake.results.with_name("results.previous.jsonl").exists()


def test_a_failure_says_where_earlier_rows_are(fake):
    fake.run("--quick", "--experiment", "links")
    done = fake.run("--quick", "--resume", FAKE_FAULT="exit")
    assert done.returncode == 1
    assert "What was measured is kept in selion-out/fake/results.jsonl.\n" in done.stderr
    assert {row["experiment"] for row in fake.rows()} == {"links"}
