# SPDX-License-Identifier: Apache-2.0
"""`selion study`: a mistake is one sentence that lists the legal values, and writes nothing."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--experiment", "sped"),
            "'sped' is not an experiment of the study 'fake' (did you mean 'speed'?); "
            "legal: speed, links.",
        ),
        (
            ("--set", "byte=8"),
            "'byte' is not an axis of the experiments (did you mean 'bytes'?); legal: op, bytes.",
        ),
        (
            ("--experiment", "links", "--set", "op=put"),
            "'op' is not an axis of the experiment 'links'; legal: bytes.",
        ),
        (
            ("--set", "op=put,pull"),
            "'pull' is not a legal value of 'op' (did you mean 'put'?); legal: put, get, barrier.",
        ),
        (
            ("--set", "bytes=-1"),
            "'-1' is not a legal value of 'bytes'; legal: 0 to 1048576.",
        ),
        (
            ("--set", "bytes=8.5"),
            "'8.5' is not a legal value of 'bytes'; legal: 0 to 1048576.",
        ),
        (("--set", "bytes=2M"), "'2M' is not a legal value of 'bytes'; legal: 0 to 1048576."),
        (("--set", "bytes="), "'bytes=' is not a legal --set; legal: key=value[,value...]."),
        (("--set", "bytes"), "'bytes' is not a legal --set; legal: key=value[,value...]."),
        (
            ("--set", "bytes=8", "--set", "bytes=64"),
            "--set names 'bytes' twice; give its values in one list: bytes=a,b.",
        ),
        (
            ("--set", "op=barrier", "--set", "bytes=8"),
            "The experiment 'speed' has no point with these values; "
            "legal: where op is barrier: bytes is 0.",
        ),
    ],
)
def test_a_mistake_writes_nothing(fake, arguments, sentence):
    done = fake.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"selion study: {sentence}\n"
    assert not (fake.folder / "selion-out").exists()
    assert fake.runs() == []


@pytest.mark.parametrize(
    "arguments", [("--repetitions", "0"), ("--seed", "-1"), ("--repetitions", "two"), ("--sett",)]
)
def test_bad_options(fake, arguments):
    done = fake.run(*arguments)
    assert done.returncode == 2
    assert arguments[0] in done.stderr
    assert not (fake.folder / "selion-out").exists()


def test_a_study_that_is_not_there(fake, selion):
    done = selion("study", "fakes", **fake.environment())
    assert done.returncode == 2
    assert done.stderr == (
        "selion study: 'fakes' is not a study (did you mean 'fake'?); legal: fake, all.\n"
    )


def test_options_without_a_study(fake, selion):
    done = selion("study", "--set", "bytes=8", **fake.environment())
    assert done.returncode == 2
    assert "need the name of a study" in done.stderr


def test_an_experiment_of_all_studies(fake, selion):
    done = selion("study", "all", "--experiment", "speed", **fake.environment())
    assert done.returncode == 2
    assert "--experiment needs the name of one study" in done.stderr


def test_a_program_that_is_not_built(fake):
    done = fake.run(SELION_BIN=str(fake.folder / "nowhere"))
    assert done.returncode == 1
    assert "The program 'fake' was not found in" in done.stderr
    assert not (fake.folder / "selion-out").exists()


def test_studies_that_are_not_there(selion):
    done = selion("study", SELION_STUDIES="/nowhere")
    assert done.returncode == 1
    assert done.stderr == "selion study: SELION_STUDIES is '/nowhere', which is not a folder.\n"


def test_the_list(fake, selion):
    done = selion("study", **fake.environment())
    assert done.returncode == 0
    for expected in (
        "fake: A study for tests",
        "  speed: two metrics  [machine: threads:2]",
        "    op=put,get  (legal: put, get, barrier)",
        "    bytes=8,64 bytes  (legal: 0 to 1048576)",
        "    -> latency_ns [ns], count [calls]",
    ):
        assert expected in done.stdout.splitlines()
