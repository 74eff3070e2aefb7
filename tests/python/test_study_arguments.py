# SPDX-License-Identifier: Apache-2.0
"""`selion study`: a mistake is one sentence that lists the legal values, and writes nothing."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--machine", "threads:0"),
            "'threads:0' is not a machine; legal: threads, threads:N, threads:N@C, of 1 to 1048575 "
            "ranks.",
        ),
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
    "arguments", [("--repetitions", "0"), ("--repetitions", "1" + 20 * "0"),
                  ("--repetitions", "two"), ("--seed", "-1"), ("--seed", str(2**64)), ("--sett",)]
)
def test_bad_options(fake, arguments):
    done = fake.run(*arguments)
    assert done.returncode == 2
    assert arguments[0] in done.stderr
    assert not (fake.folder / "selion-out").exists()


@pytest.mark.parametrize("more", [(), ("--resume",)])
@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("file", "file cannot hold results: Not a directory"),
        ("file/below", "file/below cannot hold results: Not a directory"),
        ("/proc/nope", "/proc/nope cannot hold results: No such file or directory"),
        ("taken", "taken/results.jsonl cannot hold results: Is a directory"),
    ],
)
def test_a_folder_that_cannot_be_used(fake, out, sentence, more):
    (fake.folder / "file").touch()
    (fake.folder / "taken" / "results.jsonl").mkdir(parents=True)
    done = fake.run("--out", out, *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"selion study: {sentence}; choose another --out.\n"
    assert fake.runs() == []


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
    done = selion("study", SELION_STUDIES="/proc/nowhere")
    assert done.returncode == 1
    assert done.stderr == (
        "selion study: SELION_STUDIES is '/proc/nowhere', which is not a folder.\n"
    )


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


# --- machines that an experiment does not use -----------------------------------------------------

_by_axes = """
[experiment.by-axes]
summary = "its axes say what its machines are"
axes = ["bytes"]
machine = "processes"
machine_template = { "*" = "threads:{ranks}", processes = "processes:{ranks}" }

[experiment.by-axes.axis.ranks]
type = "int"
default = 2
legal = { min = 1, max = 64 }

[experiment.by-axes.metric.latency_ns]
unit = "ns"

[experiment.by-axes.metric.count]
unit = "calls"
"""


@pytest.fixture
def with_axes(fake):
    with open(fake.folder / "studies" / "fake" / "study.toml", "a", encoding="utf-8") as study:
        study.write(_by_axes)
    return fake


def _machines(fake, experiment: str) -> list[str]:
    return [row["machine"] for row in fake.rows() if row["experiment"] == experiment]


def test_machines_that_come_to_the_same_are_run_once(with_axes):
    done = with_axes.run("--quick", "-m", "sim:crossbar", "-m", "threads:2", "-m", "threads:2",
                         "-m", "threads")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert _machines(with_axes, "by-axes") == ["threads:2"] * 2
    assert _machines(with_axes, "speed") == ["sim:crossbar"] * 2 + ["threads:2"] * 2
    assert len(with_axes.runs()) == 5


def test_machines_without_a_part_in_an_experiment_are_told(with_axes):
    done = with_axes.run("--quick", "-m", "threads:2", "-m", "threads", "-m", "processes")
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "fake by-axes: its axes say what its machines are; these have no part in that: threads:2, "
        "threads.\n"
    )
    assert _machines(with_axes, "by-axes") == ["threads:2"] * 2 + ["processes:2"] * 2


@pytest.mark.parametrize(
    ("machine", "legal"),
    [("threads", "leave it out."), ("processes:4", "leave it out, or write 'processes'.")],
)
def test_a_machine_without_a_part_in_the_one_experiment(with_axes, machine, legal):
    done = with_axes.run("--experiment", "by-axes", "-m", machine)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "selion study: The axes of the experiment 'by-axes' say what its machines are, and "
        f"'{machine}' has no part in that; {legal}\n"
    )
    assert not (with_axes.folder / "selion-out").exists()
