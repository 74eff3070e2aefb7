# SPDX-License-Identifier: Apache-2.0
"""`selion study` is interrupted or killed, or finds a cut file: what is kept, and going on."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator

import pytest

from conftest import clean_environment, command, seconds
from selion import places
from selion.study import catalog, session
from selion.study.plan import Request


@contextlib.contextmanager
def stalled(fake, at: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A run that stands still at a point after its first row there, until the block ends."""
    os.mkfifo(fake.gate)
    running = subprocess.Popen(
        [*command, "study", "fake", "--json", *arguments],
        cwd=fake.folder,
        env=clean_environment(**fake.environment(FAKE_STALL=at)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    gate = os.open(fake.gate, os.O_WRONLY)  # returns when the program waits
    try:
        yield running
    finally:
        running.kill()
        running.communicate(timeout=seconds)
        os.close(gate)
        fake.gate.unlink()
        fake.runs()


_at_speed = 'speed{"op": "get", "bytes": 8}'
_at_links = 'links{"bytes": 8}'


@pytest.mark.parametrize(("at", "kept"), [(_at_speed, 4), (_at_links, 8)])
def test_resume_after_kill(fake, at, kept):
    with stalled(fake, at):
        pass
    assert len(fake.rows()) == kept  # nothing of the point that was cut short
    done = fake.run("--resume", "--json")
    assert done.returncode == 0, done.stderr
    again = fake.runs()
    assert again[0].startswith(at)  # that point, and those that never ran
    assert len(again) == {_at_speed: 4, _at_links: 2}[at]
    assert len(done.stdout.splitlines()) == 12 - kept
    rows = fake.rows()
    keys = [json.dumps([row["experiment"], row["metric"], row["params"]]) for row in rows]
    assert len(keys) == len(set(keys)) == 12


_partly = """
[experiment.partly]
summary = "a metric that some machines cannot tell follows one that all can"
axes = ["bytes"]

[experiment.partly.metric.latency_ns]
unit = "ns"

[experiment.partly.metric.count]
unit = "calls"
optional = true
"""


def test_a_point_without_its_optional_rows_is_measured_again(fake):
    with open(fake.folder / "studies" / "fake" / "study.toml", "a", encoding="utf-8") as study:
        study.write(_partly)
    asked = ("--experiment", "partly", "--jobs", "1")
    assert fake.run(*asked, FAKE_FAULT="exit").returncode == 1  # behind the first row
    assert fake.rows() == []
    assert fake.run(*asked, "--resume").returncode == 0
    assert [row["metric"] for row in fake.rows()] == ["latency_ns", "count"] * 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_keeps_what_is_complete(fake, number):
    with stalled(fake, _at_speed) as running:
        running.send_signal(number)
        running.send_signal(number)  # as timeout does
        _, errors = running.communicate(timeout=seconds)
    assert running.returncode == 128 + number
    assert errors == (
        "selion study: Interrupted; what was measured is kept, --resume goes on.\n"
    )
    assert [row["params"] for row in fake.rows()][::2] == [
        {"op": "put", "bytes": 8}, {"op": "put", "bytes": 64}
    ]


_interrupted_wait = r"""
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

extern "C" int epoll_wait(int file, struct epoll_event* events, int most, int timeout_ms) {
    if (unlink(getenv("WAIT_ENDS")) == 0) raise(SIGTERM);
    using function = int(int, struct epoll_event*, int, int);
    static auto* const kernel = reinterpret_cast<function*>(dlsym(RTLD_NEXT, "epoll_wait"));
    return kernel(file, events, most, timeout_ms);
}
"""


def test_an_interruption_just_before_a_wait_is_heard(fake, tmp_path, monkeypatch):
    # The interpreter has looked for signals already, and the wait has not yet begun.
    source, library = tmp_path / "wait.cpp", tmp_path / "wait.so"
    source.write_text(_interrupted_wait)
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    subprocess.run([*compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("WAIT_ENDS", str(tmp_path / "signal"))
    with stalled(fake, _at_speed) as running:
        (tmp_path / "signal").touch()
        _, errors = running.communicate(timeout=seconds)
    assert (running.returncode, "Interrupted" in errors) == (143, True)


def test_data_of_a_program_do_not_outlive_a_run_that_is_ended(fake, tmp_path, monkeypatch):
    digits = tmp_path / "packages" / "sklearn" / "datasets" / "data" / "digits.csv.gz"
    digits.parent.mkdir(parents=True)
    digits.write_bytes(gzip.compress(b"0,1\n"))
    package = tmp_path / "packages" / "scikit_learn-1.dist-info" / "METADATA"
    package.parent.mkdir()
    package.write_text("Metadata-Version: 2.1\nName: scikit-learn\nVersion: 1\n")
    study = fake.folder / "studies" / "fake" / "study.toml"
    study.write_text(study.read_text().replace("[experiment.speed]",
                                               '[experiment.speed]\ndata = "digits"'))  # fmt: skip
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    with stalled(fake, _at_speed) as running:
        assert [path.name for path in temporary.glob("selion-*/*")] == ["digits.csv"]
        running.terminate()
        running.communicate(timeout=seconds)
    assert list(temporary.iterdir()) == []


def test_a_cut_last_line_is_measured_again(fake):
    fake.run("--experiment", "speed")
    whole = fake.results.read_bytes()
    fake.results.write_bytes(whole[:-20])
    fake.runs()
    assert fake.run("--experiment", "speed", "--resume").returncode == 0
    assert len(fake.runs()) == 1
    assert fake.results.read_bytes() == whole


def test_rows_that_nobody_can_count_are_measured_again_where_the_file_is_cut(fake):
    fake.run("--experiment", "links")
    whole = fake.results.read_bytes()
    fake.results.write_bytes(whole[:-20])
    fake.runs()
    assert fake.run("--experiment", "links", "--resume").returncode == 0
    assert len(fake.runs()) == 1
    assert fake.results.read_bytes() == whole


@pytest.mark.parametrize("experiment", ["speed", "links"])
def test_a_finished_run_has_nothing_to_do(fake, experiment):
    fake.run("--experiment", experiment)
    whole = fake.results.read_bytes()
    fake.runs()
    assert fake.run("--experiment", experiment, "--resume").returncode == 0
    assert fake.runs() == []
    assert fake.results.read_bytes() == whole


@pytest.mark.parametrize(
    "arguments",
    [("--repetitions", "2"), ("--seed", "2"), ("--machine", "processes:2")],
)
def test_resume_tells_points_apart(fake, arguments):
    fake.run("--quick", "--experiment", "speed")
    first = fake.rows()
    fake.runs()
    assert fake.run("--quick", "--experiment", "speed", "--resume", *arguments).returncode == 0
    assert len(fake.runs()) == 1
    rows = fake.rows()
    assert rows[: len(first)] == first
    assert len(rows) == 2 * len(first)


def test_resume_without_an_earlier_run(fake):
    assert fake.run("--quick", "--resume").returncode == 0
    assert len(fake.rows()) == 4


_whole_row = {"experiment": "speed", "machine": "threads:2", "params": {}, "metric": "count",
              "value": 1, "repetition": 0, "seed": 1}  # fmt: skip


@pytest.mark.parametrize(
    "damaged",
    [
        "{}",
        "[" * 100_000,
        *(json.dumps({**_whole_row, key: value})
          for key, value in (("params", 5), ("metric", []), ("machine", {}), ("repetition", "0"))),
    ],
)  # fmt: skip
def test_a_damaged_line_is_not_thrown_away(fake, damaged):
    fake.run("--quick")
    lines = fake.results.read_text().splitlines(keepends=True)
    lines[2] = damaged + "\n"
    fake.results.write_text("".join(lines))
    done = fake.run("--resume")
    assert done.returncode == 2
    assert done.stderr == (
        "selion study: selion-out/fake/results.jsonl, line 3 is no row of results; "
        "move the file away or choose another --out.\n"
    )
    assert fake.results.read_text() == "".join(lines)


@pytest.mark.parametrize("asked", [["--resume"], ["--compare"], ["--resume", "--mix"]])
def test_rows_of_another_study_are_not_gone_on_with(fake, asked):
    """Its experiments may have the same names, and rows of both would be shown as those of one."""
    assert fake.run("--quick").returncode == 0
    text = fake.results.read_text().replace('"study": "fake"', '"study": "other"', 1)
    fake.results.write_text(text)
    fake.runs()
    done = fake.run(*asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("selion study: selion-out/fake/results.jsonl has rows of another study, "
                           "other, and this is 'fake'; choose another --out.\n")
    assert (fake.runs(), fake.results.read_text()) == ([], text)
    fake.results.write_text(text.replace('"study": "other", ', "", 1))
    done = fake.run(*asked)
    assert done.returncode == 2 and "line 2 is no row of results" in done.stderr


@pytest.mark.parametrize("schema", [2, 0, "1", None, True])
@pytest.mark.parametrize("asked", [(), ("--mix",), ("--compare",)])
def test_rows_of_another_schema_are_not_gone_on_with(fake, schema, asked):
    fake.run("--experiment", "speed")
    header, rest = fake.results.read_text().split("\n", 1)
    fake.results.write_text(json.dumps({**json.loads(header), "schema": schema}) + "\n" + rest)
    before = fake.results.read_bytes()
    fake.runs()
    done = fake.run("--resume", *asked)
    assert (done.returncode, done.stdout, fake.runs()) == (2, "", [])
    assert done.stderr.startswith(
        "selion study: selion-out/fake/results.jsonl has rows of schema "
        f"{json.dumps(schema)}, and this version of selion knows 1. Without --resume ")
    assert fake.results.read_bytes() == before


def test_rows_of_a_point_for_which_there_is_no_room_are_left_out(fake):
    fake.run("--experiment", "speed", "--quick")
    size = fake.results.stat().st_size + 300  # room for a point, and for a part of another one
    done = subprocess.run(
        ["prlimit", f"--fsize={size}", *command, "study", "fake", "--experiment", "speed"],
        cwd=fake.folder,
        env=clean_environment(**fake.environment()),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 1
    assert "selion-out/fake/results.jsonl cannot be written: File too large.\n" in done.stderr
    assert [row["metric"] for row in fake.rows()] == ["latency_ns", "count"]


def test_two_runs_do_not_write_to_one_folder(fake):
    with stalled(fake, _at_speed):
        before = fake.results.read_bytes()
        done = fake.run("--quick")
    assert done.returncode == 2
    assert "Another run writes to selion-out/fake; choose another --out." in done.stderr
    assert fake.results.read_bytes() == before


class _NoWatcher:
    def __getattr__(self, name):
        return lambda *_: None


def test_what_another_run_wrote_until_the_folder_was_free_is_kept(fake, monkeypatch):
    for name, value in fake.environment().items():
        monkeypatch.setenv(name, value)
    fake.run("--experiment", "speed", "--set", "op=put", "--set", "bytes=8")
    real = session.ResultFile

    def late(folder):
        fake.run("--experiment", "speed", "--set", "op=put", "--resume")
        return real(folder)

    monkeypatch.setattr(session, "ResultFile", late)
    fake.runs()
    study = catalog.find(places.studies_folder(), "fake")
    request = Request(experiment="speed", settings=("op=put",))
    session.Session(study, request, fake.results.parent).run(_NoWatcher(), go_on=True)
    assert len(fake.runs()) == 1  # the point that the other run had left
    assert [row["params"]["bytes"] for row in fake.rows()] == [8, 8, 64, 64]
