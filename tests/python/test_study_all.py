# SPDX-License-Identifier: Apache-2.0
"""`selion study all` and `--jobs`: several studies under one bar, several points at a time."""

from __future__ import annotations

import errno
import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import Selion, clean_environment, command, seconds, write_script

_study = """
title = "{title}"
program = "{program}"
machine = "{machine}"

[experiment.points]
summary = "one row each"

[experiment.points.axis.n]
type = "int"
default = [1, 2, 3, 4]
quick = [1, 2]
legal = {{ min = 1, max = 100 }}

[experiment.points.metric.square]
unit = "1"
tolerance = 0.1
"""

# WAITS: the point that waits until the point OPENS has been run. BREAKS: the point that fails.
# ALONE: a file that no two runs may have at a time.
_program = """
    import json, os, sys, time
    given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    params = json.loads(given["--params"])
    n = str(params["n"])
    with open(os.environ["LOG"], "a") as log:
        log.write(sys.argv[0].rpartition("/")[2] + n + "\\n")
    if n == os.environ.get("WAITS"):
        open(os.environ["GATE"]).read()
    if n == os.environ.get("OPENS"):
        open(os.environ["GATE"], "w").close()
    if "ALONE" in os.environ:
        os.close(os.open(os.environ["ALONE"], os.O_CREAT | os.O_EXCL))
        time.sleep(0.2)
        os.unlink(os.environ["ALONE"])
    if n == os.environ.get("BREAKS") and "bad" in sys.argv[0]:
        sys.exit("it is broken")
    row = {"params": params, "metric": "square", "value": params["n"] ** 2, "unit": "1"}
    print(json.dumps(row))
"""


class Studies:
    """Two studies on simulated machines, `bad` and `good`, and one on real ones, `real`."""

    def __init__(self, folder: Path, selion: Selion) -> None:
        self.folder = folder
        self.gate, self.log = folder / "gate", folder / "log"
        os.mkfifo(self.gate)
        self._selion = selion
        for name, machine in (("bad", "sim:crossbar"), ("good", "sim:crossbar"),
                              ("real", "threads:2")):  # fmt: skip
            place = folder / "studies" / name
            place.mkdir(parents=True)
            text = _study.format(title=name.capitalize(), program=name, machine=machine)
            (place / "study.toml").write_text(text)
            (place / "published.csv").write_text("study,experiment,params,metric,value,unit\n")
            write_script(folder / "bin" / name, _program)

    def environment(self, **changes: str) -> dict[str, str]:
        return {
            "SELION_STUDIES": str(self.folder / "studies"),
            "SELION_BIN": str(self.folder / "bin"),
            "GATE": str(self.gate),
            "LOG": str(self.log),
            **changes,
        }

    def __call__(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return self._selion("study", *arguments, **self.environment(**changes))

    def start(self, *arguments: str, **changes: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, "study", *arguments],
            cwd=self.folder,
            env=clean_environment(**self.environment(**changes)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def lines(self, study: str) -> list[dict[str, Any]]:
        path = self.folder / "selion-out" / study / "results.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()][1:]

    def points(self, study: str) -> list[int]:
        return [row["params"]["n"] for row in self.lines(study)]

    def runs(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def studies(tmp_path: Path, selion: Selion) -> Studies:
    return Studies(tmp_path, selion)


# --- all studies ----------------------------------------------------------------------------------


def test_a_line_for_each_study_and_one_at_the_end(studies):
    done = studies("all")
    assert (done.returncode, done.stderr) == (0, "")
    *each, last = done.stdout.splitlines()
    assert [line.split(",")[:2] for line in each] == [
        [f"{name}: 4 points", " 4 rows"] for name in ("bad", "good", "real")
    ]
    assert last.startswith("12 rows in selion-out/*/results.jsonl, after ")
    assert last.endswith(" s")


def test_a_study_that_fails_does_not_stop_the_others(studies):
    done = studies("all", BREAKS="2")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "bad: failed"
    assert [studies.points(name) for name in ("good", "real")] == [[1, 2, 3, 4]] * 2
    assert done.stderr == (
        "selion study: 'bad' failed: The program of 'bad points n=2' on 'sim:crossbar' ended with "
        "exit status 1; it said:\nit is broken\n"
        "What was measured is kept in selion-out/bad/results.jsonl.\n"
    )


def test_a_study_that_cannot_be_planned_does_not_stop_the_others(studies):
    (studies.folder / "studies" / "bad" / "study.toml").write_text("colour = 1\n")
    (studies.folder / "bin" / "good").unlink()
    done = studies("all")
    assert done.returncode == 1
    assert studies.points("real") == [1, 2, 3, 4]
    assert "'bad' failed: " in done.stderr
    assert "unknown key colour" in done.stderr
    assert "'good' failed: The program 'good' was not found in" in done.stderr


def test_results_that_cannot_be_gone_on_with_do_not_stop_the_others(studies):
    assert studies("all", "--quick").returncode == 0
    (studies.folder / "selion-out" / "bad" / "results.jsonl").write_text("[]\n")
    done = studies("all", "--resume")
    assert done.returncode == 1
    assert "selion study: 'bad' failed: " in done.stderr
    assert "line 1 is no header of results" in done.stderr
    assert [studies.points(name) for name in ("good", "real")] == [[1, 2, 3, 4]] * 2


def test_a_folder_that_cannot_be_used_does_not_stop_the_others(studies):
    (studies.folder / "out").mkdir()
    (studies.folder / "out" / "bad").touch()
    done = studies("all", "--quick", "--out", "out")
    assert done.returncode == 1
    assert done.stderr == (
        "selion study: 'bad' failed: out/bad cannot hold results: Not a directory; choose another "
        "--out.\n"
    )
    assert sorted(studies.runs()) == ["good1", "good2", "real1", "real2"]


def test_a_mistake_starts_nothing(studies):
    done = studies("all", "--set", "n=0")
    assert done.returncode == 2
    assert done.stderr == "selion study: '0' is not a legal value of 'n'; legal: 1 to 100.\n"
    assert studies.runs() == []


def test_rows_of_all_studies(studies):
    done = studies("all", "--json", "--quick")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["study"], row["value"]) for row in rows] == [
        (name, value) for name in ("bad", "good", "real") for value in (1, 4)
    ]
    assert "6 rows in selion-out/*/results.jsonl, after " in done.stderr


def test_all_are_compared(studies):
    for name, figure in (("good", 4), ("real", 5)):
        with (studies.folder / "studies" / name / "published.csv").open("a") as file:
            file.write(f'{name},points,"{{""n"": 2}}",square,{figure},1\n')
    done = studies("all", "--compare")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-4:] == [
        "The study 'bad' has no published figures to compare with.",
        "good: 1 of 1 cells within tolerance.",
        "real: 0 of 1 cells within tolerance.",
        "all: 1 of 2 cells within tolerance; 2 are published.",
    ]


def _on_a_terminal(
    line: list[str], folder: Path, env: dict[str, str], out_too: bool = False
) -> str:
    """What a command shows on a terminal of 60 columns: its errors, or all that it prints."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(line, cwd=folder, env={**env, "COLUMNS": "60", "TERM": "xterm"},
                             stdin=theirs, stdout=theirs if out_too else subprocess.PIPE,
                             stderr=theirs)  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            shown += chunk
    except OSError as problem:
        assert problem.errno == errno.EIO  # the other end is closed
    os.close(ours)
    if child.stdout is not None:
        child.stdout.close()
    assert child.wait(timeout=seconds) == 0
    return shown.decode()


def test_one_bar_over_all(studies):
    shown = _on_a_terminal(
        [*command, "study", "all", "--jobs", "1"],
        studies.folder,
        clean_environment(**studies.environment()),
    )
    assert "/12" in shown
    assert "/4 " not in shown
    assert "real points n=" in shown
    assert " left" in shown


def test_rows_for_a_pipe_do_not_go_to_the_terminal(studies):
    shown = _on_a_terminal(
        [*command, "study", "good", "--json"],
        studies.folder,
        clean_environment(**studies.environment()),
    )
    assert "square" not in shown


def test_comparisons_fit_on_a_narrow_terminal(studies):
    with (studies.folder / "studies" / "good" / "published.csv").open("a") as file:
        for n in (2, 3):
            file.write(f'good,points,"{{""n"": {n}}}",square,{n * n + 100},1\n')
    asked = [*command, "study", "good", "--compare", "--machine", "sim:crossbar,ranks=2",
             "--machine", "sim:crossbar,ranks=3"]  # fmt: skip
    shown = _on_a_terminal(asked, studies.folder, clean_environment(**studies.environment()),
                           out_too=True)  # fmt: skip
    lines = shown.splitlines()
    assert "machine=sim:crossbar,ranks=2  n=2  measured=4" in shown
    assert max(map(len, lines[-12:])) <= 60
    assert lines[-1] == "good: 0 of 4 cells within tolerance."
    piped = studies("good", "--compare")
    assert [line.split()[-1] for line in piped.stdout.splitlines()[2:4]] == ["no", "no"]


# --- several points at a time ---------------------------------------------------------------------


def test_rows_are_in_the_order_of_points(studies):
    done = studies("good", "--jobs", "2", WAITS="1", OPENS="3")
    assert done.returncode == 0, done.stderr
    assert studies.points("good") == [1, 2, 3, 4]
    assert [row["value"] for row in studies.lines("good")] == [1, 4, 9, 16]


def test_one_job_and_several_write_the_same_rows(studies):
    rows = []
    for jobs in ("1", "3"):
        assert studies("good", "--jobs", jobs).returncode == 0
        rows.append(studies.lines("good"))
    assert rows[0] == rows[1]


def test_points_of_real_machines_run_alone(studies):
    done = studies("real", "--jobs", "4", ALONE=str(studies.folder / "alone"))
    assert done.returncode == 0, done.stderr


def test_the_first_failure_is_told_and_nothing_starts_after_it(studies):
    done = studies("bad", "--jobs", "2", BREAKS="2", WAITS="3")  # 3 keeps its job until the end
    assert done.returncode == 1
    assert "'bad points n=2' on 'sim:crossbar' ended with exit status 1" in done.stderr
    assert studies.points("bad")[:1] == [1]
    assert "bad4" not in studies.runs()
    assert studies("bad", "--jobs", "2", "--resume").returncode == 0
    assert "bad1" not in studies.runs()
    assert sorted(studies.points("bad")) == [1, 2, 3, 4]


def test_what_was_complete_is_kept_at_ctrl_c(studies):
    running = studies.start("good", "--jobs", "2", WAITS="1", OPENS="5")
    gate = os.open(studies.gate, os.O_WRONLY)  # returns when the first point waits
    while not studies.log.exists() or "good4" not in studies.log.read_text():
        time.sleep(0.01)  # the last point begins when the second and the third are over
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=seconds)
    os.close(gate)
    assert running.returncode == 130
    assert "what was measured is kept, --resume goes on" in errors
    kept = studies.points("good")
    assert 1 not in kept
    assert {2, 3} <= set(kept)
    studies.runs()
    assert studies("good", "--resume").returncode == 0
    assert "good1" in studies.runs()
    assert sorted(studies.points("good")) == [1, 2, 3, 4]


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_numbers_of_jobs_that_are_not_legal(studies, jobs):
    done = studies("good", "--jobs", jobs)
    assert done.returncode == 2
    assert "--jobs" in done.stderr
    assert studies.runs() == []
