# SPDX-License-Identifier: Apache-2.0
"""selion trace: traces read and added up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, needs_module
from selion import trace_file
from selion.mistake import Mistake

_head = {"ph": "M", "pid": 1, "name": "selion_trace",
         "args": {"format": 1, "machine": "threads:2", "ranks": 2, "time": "real",
                  "event_cost_ns": 500}}
_tail = {"ph": "M", "pid": 1, "name": "end_of_trace", "args": {}}


def piece(rank: int, category: str, name: str, begin: float, end: float) -> dict:
    return {"ph": "X", "pid": 1, "tid": 2 * rank + 1, "cat": category, "name": name, "ts": begin,
            "dur": end - begin, "args": {}}


def end_of(rank: int, events: int, dropped: int = 0) -> dict:
    return {"ph": "M", "pid": 1, "tid": 2 * rank + 1, "name": "end_of_rank",
            "args": {"events": events, "dropped": dropped}}


# Rank 0: a timer around a put and a barrier that waits; 1000 to 1100. What lies within comes first.
_whole = [
    _head,
    piece(0, "operation", "put", 1010, 1020),
    piece(0, "wait", "wait: collective", 1035, 1060),
    piece(0, "collective", "barrier", 1030, 1070),
    piece(0, "timer", "round", 1000, 1100),
    end_of(0, 4),
    piece(1, "wait", "wait: signal", 5, 25),
    {"ph": "X", "pid": 1, "tid": 4, "cat": "arrival", "name": "put", "ts": 1, "dur": 1, "args": {}},
    end_of(1, 1),
    _tail,
]  # fmt: skip


def write(folder: Path, events: list[dict], name: str = "trace.json") -> Path:
    path = folder / name
    path.write_text("[\n" + ",\n".join(json.dumps(event) for event in events) + "]\n",
                    encoding="utf-8")
    return path


def test_time_is_dealt_among_its_parts(tmp_path):
    found = trace_file.read(write(tmp_path, _whole))
    assert (found.machine, found.is_virtual, found.is_whole) == ("threads:2", False, True)
    first, second = found.ranks
    assert (first.time, first.operations, first.collectives, first.waiting, first.program) == (
        100, 10, 15, 25, 48)  # fmt: skip
    assert (first.recording, second.recording) == (2, 0)  # of which all is waiting
    assert (second.time, second.waiting, second.program) == (20, 20, 0)
    assert found.cost_of(first) == pytest.approx(2)
    totals = {(each.name, each.category): each for each in found.names}
    assert ("put", "arrival") not in totals
    assert totals["barrier", "collective"].total == 40
    assert found.names[0].name == "round"


def test_steps_of_a_collective_are_its_time(tmp_path):
    events = [_head, piece(0, "message", "send", 0, 4), piece(0, "collective", "barrier", 0, 10),
              _tail]
    first = trace_file.read(write(tmp_path, events)).ranks[0]
    assert (first.collectives, first.operations, first.program) == (10, 0, 0)


def test_the_table(tmp_path, selion):
    write(tmp_path, _whole)
    done = selion("trace", "trace.json")
    lines = done.stdout.splitlines()
    assert lines[0] == "threads:2: 2 ranks, 5 events, real time"
    assert lines[1] == ("Recording an event takes about 500 ns here, writing it included: of rank "
                        "0, which has the most (4), about 2 µs beside 100 µs.")
    assert lines[3].split()[-2:] == ["waiting_%", "recording_%"]
    assert lines[4].split() == "0 4 100 µs 48.0 10.0 15.0 25.0 2.0".split()
    rows = [json.loads(line) for line in selion("trace", "trace.json", "--json").stdout.split("\n")
            if line]
    assert rows[0]["recording_us"] == 2
    parts = ("program_us", "operations_us", "collectives_us", "waiting_us", "recording_us")
    assert all(row["time_us"] == sum(row[part] for part in parts) for row in rows)


def test_recording_takes_no_more_than_there_is(tmp_path):
    """What it takes within calls is theirs."""
    events = [_head, piece(0, "timer", "round", 0, 10), piece(0, "operation", "put", 1, 10),
              end_of(0, 2), end_of(1, 0), _tail]
    first = trace_file.read(write(tmp_path, events)).ranks[0]
    assert (first.operations, first.recording, first.program) == (9, 1, 0)


def test_nothing_is_recorded_in_virtual_time(tmp_path, selion):
    head = {**_head, "args": {**_head["args"], "time": "virtual", "event_cost_ns": 0}}
    write(tmp_path, [head, *_whole[1:]])
    lines = selion("trace", "trace.json").stdout.splitlines()
    assert lines[3].split()[-1] == "waiting_%"
    assert lines[4].split() == "0 4 100 µs 50.0 10.0 15.0 25.0".split()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_two_traces_in_a_file(tmp_path, selion, ranks):
    second = {**_head, "args": {**_head["args"], "ranks": ranks}}
    write(tmp_path, [*_whole, second, piece(0, "timer", "round", 0, 1), _tail])
    done = selion("trace", "trace.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("selion trace: trace.json:12 begins a second trace; legal is one in a "
                           "file.\n")


def test_few_of_many(tmp_path, selion):
    write(tmp_path, _whole)
    out = selion("trace", "trace.json", "--most", "1").stdout
    assert "1 of 2 ranks; --most 0 shows all of them." in out
    assert "1 of 5 names; --most 0 shows all of them." in out


def test_a_job_that_was_interrupted(tmp_path, selion):
    path = write(tmp_path, _whole[:-3])
    path.write_text(path.read_text() + '{"ph":"X","pid":1,"ti')  # in the middle of a line
    assert "The job did not come to its end" in selion("trace", "trace.json").stdout


def test_the_last_line_alone_is_no_end(tmp_path, selion):
    """It stands behind each part."""
    write(tmp_path, [each for each in _whole if each["name"] != "end_of_rank"])
    lines = selion("trace", "trace.json").stdout.splitlines()
    assert lines[0] == "threads:2: 2 ranks, 6 events, real time"
    assert lines[2] == ("The job did not come to its end, or the file took no more: the last "
                        "events may be missing.")
    write(tmp_path, [each for each in _whole if each != end_of(1, 1)])
    lines = selion("trace", "trace.json").stdout.splitlines()
    assert lines[2].endswith("the last events of 1 of 2 ranks may be missing.")


def test_slices_that_adjoin(tmp_path):
    """Not exactly, as sums of fractions of microseconds."""
    step = 1.008
    slices = [piece(0, "wait", "wait: collective", 0, 0) | {"ts": round(n * step, 6), "dur": step}
              for n in range(3000)]
    around = piece(0, "collective", "barrier", 0, round(3000 * step, 6))
    first = trace_file.read(write(tmp_path, [_head, *slices, around, _tail])).ranks[0]
    assert (first.time, first.waiting, first.collectives) == (3024, 3024, 0)


def test_names_that_would_move_the_cursor(tmp_path, selion):
    write(tmp_path, [_head, piece(0, "timer", "\x1b]0;title\x07\n\x7f\u009b", 0, 1), _tail])
    out = selion("trace", "trace.json").stdout
    assert "\n\\u001b]0;title\\u0007\\n\\u007f\\u009b  timer" in out


def test_events_that_were_not_kept(tmp_path, selion):
    write(tmp_path, [_head, end_of(0, 1_000_000, 77), _tail])
    assert ("77 events were beyond what a trace keeps: times and shares are of what came before "
            "them.") in selion("trace", "trace.json").stdout


@pytest.mark.parametrize("text, sentence", [
    ("", " is no trace of Selion; a job writes one if SELION_TRACE names it."),
    ("[]", " is no trace of Selion; a job writes one if SELION_TRACE names it."),
    ("[\n7,\n", ":2 is no event of a trace."),
    ('[\n{"ph":"X"},\n', ":2 is no event of a trace of Selion: it has no 'tid'."),
    (json.dumps({**_head, "args": {"format": 9}}), ":1 is no event of a trace of Selion: traces of "
                                                   "format 9 are not known."),
])  # fmt: skip
def test_what_is_none(tmp_path, text, sentence):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(Mistake) as raised:
        trace_file.read(path)
    assert str(raised.value) == f"{path}{sentence}"


@pytest.mark.parametrize("damage, told", [
    ('"dur":NaN', ""),
    ('"ts":1e999', " of Selion: 'ts' is 1E+999; legal are 0 to 9223372036854"),
    ('"ts":1e9999999999999999999999', ""),
    ('"dur":-0.5', " of Selion: 'dur' is -0.5; legal are 0 to 9223372036854"),
    ('"ts":null', " of Selion: 'ts' is null; legal are 0 to 9223372036854"),
    ('"ts":9e12,"dur":9e12', " of Selion: it ends beyond 9223372036854775808 picoseconds"),
    ('"tid":"1"', " of Selion: 'tid' is \"1\"; legal are 1 to 4194308"),
    ('"tid":5', " of Selion: 'tid' is 5, the track of rank 2; there are 2 ranks"),
    ('"name":7', " of Selion: 'name' is 7; legal is a text"),
])  # fmt: skip
def test_a_slice_that_no_job_writes(tmp_path, damage, told):
    path = tmp_path / "x.json"
    line = json.dumps(piece(0, "wait", "wait", 0, 1))[:-1]
    path.write_text(f"[\n{json.dumps(_head)},\n{line}, {damage}}},\n")
    with pytest.raises(Mistake) as raised:
        trace_file.read(path)
    assert str(raised.value) == f"{path}:3 is no event of a trace{told}."


def test_half_a_character(tmp_path, selion):
    (tmp_path / "x.json").write_text(f"[\n{json.dumps(_head)},\n"
                                     + json.dumps(piece(0, "wait", "\ud800", 0, 1)) + ",\n")
    done = selion("trace", "x.json")
    assert (done.returncode, done.stderr) == (2, "selion trace: x.json:3 holds half a surrogate "
                                                 "pair; legal are whole characters.\n")


@pytest.mark.parametrize("ranks", [0, 2**20, 100_000_000])
def test_a_head_with_ranks_that_no_job_has(tmp_path, ranks):
    path = write(tmp_path, [{**_head, "args": {**_head["args"], "ranks": ranks}}])
    with pytest.raises(Mistake, match=f"'ranks' is {ranks}; legal are 1 to 1048575"):
        trace_file.read(path)


def test_a_file_that_is_not_there(selion):
    done = selion("trace", "none.json")
    assert done.returncode == 2
    assert done.stderr == ("selion trace: 'none.json' cannot be read: No such file or directory.\n")


_program = """
import selion


def main(world):
    part = world.allocate(8)
    for i in range(20):
        part.put(float(i), (world.rank + 1) % world.size)
        world.barrier()
    world.all_reduce(1.0)


selion.run(main)
"""


@needs_module
@pytest.mark.parametrize("machine", ["processes:2", "sim:niagara2,ranks=4", "sim:crossbar,ranks=3"])
def test_traces_of_jobs(tmp_path, machine):
    path = tmp_path / "trace.json"
    subprocess.run([sys.executable, "-c", _program], capture_output=True, check=True,
                   env=clean_environment(SELION_MACHINE=machine, SELION_TRACE=os.fspath(path)))
    found = trace_file.read(path)
    assert found.is_whole
    assert found.is_virtual == machine.startswith("sim")
    for rank in found.ranks:
        parts = (rank.program, rank.operations, rank.collectives, rank.waiting, rank.recording)
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(rank.time)
        assert rank.operations > 0
        assert rank.collectives + rank.waiting > 0
