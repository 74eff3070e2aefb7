# SPDX-License-Identifier: Apache-2.0
"""What bench/run makes of the rounds that the benchmarks print, and heads of reports."""

import errno
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

bench = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(bench))
import command_line  # noqa: E402
import report  # noqa: E402
import surroundings  # noqa: E402


def load_script(name: str):
    """A script of bench/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(bench / name))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(made)
    return made


def row(contestant: str, ns: list[float], **more) -> dict:
    return {"operation": "barrier", "machine": "threads:2", "contestant": contestant,
            "is_selion": contestant == "selion", "ns": ns, **more}


def test_near_and_far_rounds_are_kept_apart():
    signals = {"signal_ns": [50.0, 250.0, 51.0]}
    near, far = sorted(
        report.contests([row("selion", [30, 160, 31], **signals),
                         row("flag", [40, 200, 41], **signals)]),
        key=lambda one: one.distance, reverse=True)
    assert (near.distance, far.distance) == ("near", "far")
    assert [list(near.selion.values()), list(near.rivals["flag"].values())] == [[30, 31], [40, 41]]
    assert [list(far.selion.values()), list(far.rivals["flag"].values())] == [[160], [200]]


def test_runs_of_one_contest_are_joined_round_by_round():
    rows = [row("selion", [10.0]), row("flag", [20.0]), row("selion", [30.0]), row("flag", [10.0])]
    [contest] = report.contests(rows)
    assert contest.ratios("flag") == [0.5, 3.0]


def test_a_rival_is_compared_in_the_rounds_that_it_has():
    rows = [row("selion", [ns], round=turn) for turn, ns in enumerate((10.0, 20.0, 30.0))]
    [contest] = report.contests([*rows, row("flag", [20.0], round=0), row("flag", [10.0], round=2)])
    assert contest.ratios("flag") == [0.5, 3.0]
    [line] = report.full_table([contest])[2:]
    assert line.endswith("| flag | 15 ns | 1.75 (0.50 to 3.00, 2) |")


def test_a_rival_without_a_round_in_common_has_no_ratio():
    [contest] = report.contests([row("selion", [10.0], round=0), row("flag", [20.0], round=1)])
    [line] = report.full_table([contest])[2:]
    assert line.endswith("| flag | 20 ns |  |")
    goal = {"operation": "barrier", "rivals": ["flag"], "most_ratio": 1}
    assert report.judge(contest, goal) is None


def test_the_best_rival_counts():
    [contest] = report.contests([row("selion", [105.0, 105.0]), row("slow", [200.0, 200.0]),
                                 row("quick", [100.0, 100.0])])
    goal = {"operation": "barrier", "rivals": ["slow", "quick", "absent"], "most_ratio": 1.1}
    assert report.judge(contest, goal) == ["1.05 (1.05 to 1.05, 2) of quick", "1.1", "yes"]
    assert report.judge(contest, {**goal, "most_ratio": 1})[2] == "**no**"
    assert report.judge(contest, {**goal, "rivals": ["absent"]}) is None


def test_goals_that_are_not_compared_are_told():
    found = report.contests([row("selion", [10.0]), row("flag", [20.0])])
    goals = [{"operation": "barrier", "rivals": rivals, "most_ratio": 1}
             for rivals in (["flag"], ["libgomp"], ["MPICH", "Open MPI"], ["libgomp"])]
    assert report.goal_table(found, goals)[2:] == [
        "| barrier | threads:2 | 0.50 (0.50 to 0.50, 1) of flag | 1 | yes |", "",
        "Not compared, because nobody of these was measured beside Selion: libgomp (2), MPICH or "
        "Open MPI (1)."]


@pytest.mark.parametrize(("more", "count"), [({}, 1), ({"ranks": 2}, 1), ({"ranks": 64}, 0),
                                             ({"kind": "processes"}, 0)])
def test_goals_name_ranks_and_kind_of_machine(more, count):
    contests = report.contests([row("selion", [1.0])])
    goal = {"operation": "barrier", "most_ns": 2, **more}
    assert len(report.goal_table(contests, [goal])) == 2 + count


def test_spread_is_median_and_percentiles():
    assert report.spread([float(n) for n in range(101)]) == report.Spread(50.0, 5.0, 95.0, 101)


@pytest.mark.parametrize(("script", "knobs"), [
    ("run", {"SELION_TUNING": "off", "OMP_NUM_THREADS": "3", "UCX_TLS": "tcp"}),
    ("run_collectives", {"UCX_TLS": "tcp"}),
    ("run_simulator", {"OMP_NUM_THREADS": "3", "UCX_TLS": "tcp"}),
    ("run_network", {"OMP_NUM_THREADS": "3"}),
])
def test_the_head_tells_the_variables_that_programs_were_given(monkeypatch, script, knobs):
    for name in [name for name in os.environ if name.startswith(surroundings._knobs)]:
        monkeypatch.delenv(name)
    for name, value in (("SELION_TUNING", "off"), ("OMP_NUM_THREADS", "3"), ("UCX_TLS", "tcp")):
        monkeypatch.setenv(name, value)
    module = load_script(script)
    environment = surroundings.inherited(getattr(module, "left_out", ()))
    assert surroundings.about("a command", environment)["knobs"] == knobs


def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch):
    rows = tmp_path / "rows"
    assert command_line.trouble_writing(rows, command_line.json_lines([{"a": 1}, {}])) == ""
    assert command_line.trouble_writing(None, "") == ""
    (tmp_path / "link").symlink_to(rows)
    assert command_line.trouble_writing(tmp_path / "link", "new") == ""
    assert (rows.read_text(), (tmp_path / "link").is_symlink()) == ("new", True)

    def full(path: Path, text: str, encoding: str) -> None:
        with path.open("w", encoding=encoding) as file:
            file.write(text[:2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    told = command_line.trouble_writing(rows, "newer")
    assert told == f"{rows} could not be written: No space left on device"
    assert rows.read_text() == "new" and sorted(tmp_path.iterdir()) == [tmp_path / "link", rows]


def test_what_was_measured_is_printed_if_its_file_cannot_be_written(tmp_path):
    """A device takes rows as a file does, until they are written."""
    program = tmp_path / "bin" / "bench_pair"
    program.parent.mkdir()
    row_ = json.dumps(row("selion", [10.0]))
    program.write_text(f"#!/bin/sh\necho '{row_}'\n")
    program.chmod(0o755)
    line = [sys.executable, bench / "run", "--bin", program.parent, "--program", "pair",
            "--json", "/dev/full"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "| barrier | threads:2 | 10 ns |" in done.stdout
    assert done.stderr.endswith("\n/dev/full could not be written: No space left on device\n")


def test_the_command_is_told_as_it_was_typed(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/bench/run", "--only", "put 8 B"])
    assert command_line.typed("bench/run") == "bench/run --only 'put 8 B'"
    assert command_line.typed("bench/run", "selion bench x") == "selion bench x"
