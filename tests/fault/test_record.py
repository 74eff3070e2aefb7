# SPDX-License-Identifier: Apache-2.0
"""Traces and meters hold what all ranks did, in forms that other programs read; nothing is written
unless asked for."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs import Job, programs, run, site, soon

machines = {"threads:3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4}


@pytest.mark.parametrize("machine", machines)
def test_a_trace_holds_events_of_all_ranks(machine: str, tmp_path: Path):
    path = tmp_path / "trace.json"
    outcome = run("surroundings", "exchange", machine=machine, SELION_TRACE=str(path))
    assert outcome.status == 0 and outcome.err == outcome.out == ""
    events = json.loads(path.read_text())
    assert isinstance(events, list)
    ranks = range(machines[machine])
    names = {event["tid"]: event["args"]["name"] for event in events
             if event["name"] == "thread_name"}
    tracks = {f"rank {rank}" for rank in ranks}
    assert set(names.values()) == tracks
    slices = [event for event in events if event["ph"] == "X"]
    for event in slices:
        assert {"name", "ts", "dur", "pid", "tid"} <= set(event)
        assert event["dur"] >= 0
    for name in ("put", "get", "all_reduce", "barrier", 'exchange "quoted"'):
        found = {names[event["tid"]] for event in slices if event["name"] == name}
        assert found == tracks, name
    [own] = {event["args"]["at"] for event in slices if event["name"] == "barrier"}
    assert own == site("surroundings.cpp", "recorded barrier")
    counters = {names[event["tid"]]: event["args"]["total"] for event in events
                if event["ph"] == "C"}
    assert counters == dict.fromkeys(tracks, 1)


@pytest.mark.parametrize("machine", machines)
def test_meters_are_json_lines(machine: str, tmp_path: Path):
    path = tmp_path / "meters.jsonl"
    assert run("surroundings", "exchange", machine=machine, SELION_METERS=str(path)).status == 0
    head, *readings = [json.loads(line) for line in path.read_text().split("\n") if line]
    assert (head["file"], head["format"], head["ranks"]) == ("meters", 1, machines[machine])
    assert head["machine"].startswith(machine) and head["time"] == "real"
    ranks = set(range(machines[machine]))
    for name in ("put", "get", "barrier", "exchanges", 'exchange "quoted"'):
        own = [reading for reading in readings if reading.get("name") == name]
        assert {reading["rank"] for reading in own} == ranks, name
    assert {reading["bytes"] for reading in readings if reading.get("name") == "put"} == {8}


@pytest.mark.parametrize("machine", [*machines, "sim:niagara2,ranks=4"])
def test_futures_of_mapped_memory_are_ready_though_recorded(machine: str, tmp_path: Path):
    path = tmp_path / "meters.jsonl"
    outcome = run("surroundings", "futures", machine=machine, SELION_METERS=str(path))
    ranks = {**machines, "sim:niagara2,ranks=4": 4}[machine]
    assert (outcome.status, outcome.err, outcome.out) == (0, "", "ready\n" * ranks)
    recorded = {json.loads(line).get("name") for line in path.read_text().splitlines()}
    assert {"put", "get", "atomic"} <= recorded and "rpc" not in recorded


@pytest.mark.parametrize("machine", machines)
def test_a_second_job_replaces_the_files(machine: str, tmp_path: Path):
    path = tmp_path / "trace.json"
    for _ in range(2):
        assert run("surroundings", "exchange", machine=machine, SELION_TRACE=str(path)).status == 0
    barriers = [event for event in json.loads(path.read_text()) if event["name"] == "barrier"]
    assert len(barriers) == machines[machine]


@pytest.mark.parametrize("machine", ["threads:2", "processes:2", "sim:crossbar,ranks=2"])
@pytest.mark.parametrize("knob", ["SELION_METERS", "SELION_TRACE"])
def test_a_file_is_one_job_s_at_a_time(machine: str, knob: str, tmp_path: Path):
    asked = {knob: str(tmp_path / "file")}
    with Job("tracing", "10", "stay", machine=machine, **asked) as first:
        first.processes(2)
        second = run("surroundings", "exchange", machine=machine, **asked)
        assert second.status == 2
        assert second.err == (f"selion: {knob}={asked[knob]}: another job writes this file now; "
                              "legal is a file for each job\n")
        os.killpg(first.process.pid, signal.SIGKILL)
        first.end(within=soon)
    assert run("surroundings", "exchange", machine=machine, **asked).status == 0


@pytest.mark.parametrize("machine", machines)
def test_nothing_is_written_unasked(machine: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("surroundings", "exchange", machine=machine).status == 0
    assert list(tmp_path.iterdir()) == []
    assert programs.is_absolute()


@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_a_trace_of_a_job_that_dies_is_valid(machine: str, tmp_path: Path):
    path = tmp_path / "trace.json"
    assert run("dying", "throw", "1", machine=machine, SELION_TRACE=str(path)).status == 1
    assert json.loads(path.read_text())


def little_room(at_limit: signal.Handlers) -> Callable[[], None]:
    """Of a file a few lines, and what the signal does that tells of more."""
    def prepare() -> None:
        import resource
        signal.signal(signal.SIGXFSZ, at_limit)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    return prepare


@pytest.mark.parametrize("at_limit", [signal.SIG_IGN, signal.SIG_DFL])
@pytest.mark.parametrize("machine", ["threads:3", "sim:crossbar,ranks=3"])
def test_a_full_disk_leaves_whole_lines_of_meters(machine: str, at_limit, tmp_path: Path):
    path = tmp_path / "meters.jsonl"
    outcome = run("surroundings", "exchange", machine=machine, SELION_METERS=str(path),
                  prepare=little_room(at_limit))
    assert outcome.status == 0 and "meters of ranks are lost" in outcome.err
    text = path.read_text()
    assert text.endswith("\n")
    assert {json.loads(line).get("name") for line in text.splitlines()} >= {"put", "barrier"}


@pytest.mark.parametrize("machine", ["threads:3", "sim:crossbar,ranks=3"])
def test_a_trace_stops_at_the_limit_of_a_file_s_size(machine: str, tmp_path: Path):
    path = tmp_path / "trace.json"
    outcome = run("surroundings", "exchange", machine=machine, SELION_TRACE=str(path),
                  prepare=little_room(signal.SIG_DFL))
    assert outcome.status == 0 and f"the trace stops: cannot write {path}" in outcome.err
    assert json.loads(path.read_text())


@pytest.mark.parametrize("machine", [*machines, "sim:crossbar,ranks=4"])
def test_a_program_that_changes_its_folder(machine: str, tmp_path: Path, monkeypatch):
    """Ranks that are processes run the change again, from where the first process has gone."""
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "below"
    (own / "below").mkdir(parents=True)
    outcome = run("surroundings", "elsewhere", machine=machine, SELION_METERS="m.jsonl",
                  SELION_TRACE="t.json", SELION_TIME="time.jsonl")
    assert (outcome.status, outcome.err) == (0, "")
    assert sorted(path.name for path in own.iterdir()) == ["below", "m.jsonl", "t.json",
                                                           "time.jsonl"]
    assert not list((own / "below").iterdir())
    ranks = {**machines, "sim:crossbar,ranks=4": 4}[machine]
    for name, phase in (("m.jsonl", None), ("t.json", "X")):
        lines = [json.loads(line.strip("[],")) for line in (own / name).read_text().splitlines()
                 if line != "["]
        barriers = [line for line in lines if line.get("name") == "barrier"]
        assert len(barriers) == ranks and {line.get("ph") for line in barriers} == {phase}
    assert json.loads((own / "time.jsonl").read_text())["ranks"] == ranks


@pytest.mark.parametrize("machine", [*machines, "sim:crossbar,ranks=4"])
def test_each_job_adds_a_line_with_its_time(machine: str, tmp_path: Path):
    path = tmp_path / "time.jsonl"
    path.write_text('{"of": "another"}\n')
    for _ in range(2):
        outcome = run("surroundings", "exchange", machine=machine, SELION_TIME=str(path))
        assert (outcome.status, outcome.err, outcome.out) == (0, "", "")
    _, first, second = map(json.loads, path.read_text().splitlines())
    is_virtual = machine.startswith("sim")
    for line in (first, second):
        assert set(line) == {"machine", "ranks", "seconds", "clock"}
        assert line["machine"].startswith(machine)  # which may have been given carriers
        assert line["clock"] == ("virtual" if is_virtual else "real")
        assert line["ranks"] == {**machines, machine: line["ranks"]}[machine]
        assert 0 < line["seconds"] < 60
    assert not is_virtual or first == second


def test_virtual_time_is_that_of_the_last_rank(tmp_path: Path):
    """Each prints what it sees before a last barrier."""
    path = tmp_path / "time.jsonl"
    outcome = run("tracing", "3", "return", machine="sim:crossbar,ranks=3", SELION_TIME=str(path))
    assert outcome.status == 0
    last = max(int(line.split()[-1]) for line in outcome.out.splitlines())
    assert 0 < json.loads(path.read_text())["seconds"] * 1e12 - last < 100e6


@pytest.mark.parametrize("machine", machines)
def test_a_job_that_does_not_end_has_no_time(machine: str, tmp_path: Path):
    path = tmp_path / "time.jsonl"
    assert run("failing", "throw", machine=machine, SELION_TIME=str(path)).status != 0
    assert path.read_text() == ""
