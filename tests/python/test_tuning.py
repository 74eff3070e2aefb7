# SPDX-License-Identifier: Apache-2.0
"""selion tune and selion explain: tables, what contradicts itself, and the commands."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from conftest import needs_module
from selion.cli import tune
from selion.mistake import Mistake
from selion.tuning import cells, check, consistency, program, session, table
from selion.tuning.table import Place
from studying import needs_tuner

_place = Place("all_reduce", "threads", 2, 64)
_row = {"slots": 287.0, "board": 346.5}


# --- what is said ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("setting", "said"), [
    (None, ""),
    ("table.json", ""),
    ("other.json", "Programs started here read another table: SELION_TUNING is 'other.json'.\n"),
    ("link.json", ""),
    ("off", "Programs started here use no table: SELION_TUNING is 'off'.\n"),
    ("No", "Programs started here use no table: SELION_TUNING is 'No'.\n"),
    ("0", "Programs started here use no table: SELION_TUNING is '0'.\n"),
    ("on", ""),
    ("", ""),
])
@needs_module
def test_who_does_not_read_what_was_written_is_told(tmp_path: Path, monkeypatch, capsys,
                                                    setting: str | None, said: str):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SELION_TUNING", raising=False)
    if setting is not None:
        monkeypatch.setenv("SELION_TUNING", setting)
    path = tmp_path / "table.json"
    path.touch()
    (tmp_path / "link.json").symlink_to(path)
    tune.report(session.Found(rows={_place: _row}), path, path)
    assert capsys.readouterr().out == f"1 row is in {path}\n{said}"


# --- tables ---------------------------------------------------------------------------------------


def test_a_table_comes_back_as_it_was_written(tmp_path: Path):
    path = tmp_path / "deep" / "table.json"
    table.write(path, "0" * 16, {_place: _row}, {"date": "today", "violations": ["a, b"]})
    rows = table.read(path, "0" * 16)
    assert rows == {_place: _row}
    assert list(rows[_place]) == ["slots", "board"]
    assert json.loads(path.read_text())["about"]["date"] == "today"
    assert list(path.parent.iterdir()) == [path]


def test_no_table_has_no_rows(tmp_path: Path):
    assert table.read(tmp_path / "absent.json", "0" * 16) == {}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text[:-40], "is damaged or no tuning table"),
        (lambda text: text.replace("287", "288"), "is damaged"),
        (lambda text: text.replace("tuning 1", "tuning 9"), "is of another format"),
        (lambda text: "[]", "is damaged or no tuning table"),
        (lambda text: "", "is damaged or no tuning table"),
        (lambda text: "[" * 200_000, "is damaged or no tuning table"),
        (lambda text: '{"format": "selion tuning 1", "host": 5, "rows": [5], "check": 5}',
         "is damaged or no tuning table"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path: Path, change, why: str):
    path = tmp_path / "table.json"
    table.write(path, "0" * 16, {_place: _row}, {})
    path.write_text(change(path.read_text()))
    with pytest.raises(Mistake, match=why):
        table.read(path, "0" * 16)


def test_what_is_no_file_is_refused_and_not_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(Mistake, match=f"'{path}' is no ordinary file"):
            table.read(path, "0" * 16)


def test_the_table_of_another_host_is_refused(tmp_path: Path):
    table.write(tmp_path / "table.json", "0" * 16, {_place: _row}, {})
    with pytest.raises(Mistake, match="another host"):
        table.read(tmp_path / "table.json", "1" * 16)


def cell_of(**ns: float) -> dict:
    rows = [{"way": way.replace("__", ":"), "ns": value, "is_out": False}
            for way, value in ns.items()]
    return {"collective": "broadcast", "machine": "threads", "members": 4, "bytes": 8,
            "rows": rows}


def test_the_quickest_comes_first_and_trees_before_equally_quick_flat_ones():
    _, row = table.row_of(cell_of(slots=300, lines__flat=100, lines__k_nomial__2=102))
    assert list(row) == ["lines:k_nomial:2", "lines:flat", "slots"]
    _, row = table.row_of(cell_of(lines__k_nomial__2=110, lines__flat=100))
    assert list(row) == ["lines:flat", "lines:k_nomial:2"]


def test_who_was_left_out_comes_last():
    measured = cell_of(slots=300, board=100)
    measured["rows"][1]["is_out"] = True
    assert list(table.row_of(measured)[1]) == ["slots", "board"]


# --- cells ----------------------------------------------------------------------------------------


def test_sizes_hold_the_longest_for_the_board():
    assert cells.sizes("barrier", 4) == [0]
    assert 112 in cells.sizes("broadcast", 8)
    assert 56 in cells.sizes("exchange", 2)
    assert max(cells.sizes("exchange", 64)) * 64 <= 8 << 20


def test_coarse_sizes_come_first():
    made = cells.cells({"threads:2": 2}, ["broadcast"])
    assert len(made) == len(set(made)) == len(cells.sizes("broadcast", 2))
    first = [cell.size for cell in made[:5]]
    assert first == sorted({*cells.sizes("broadcast", 2)[::3], 112})


def test_machines_grow_with_the_cores():
    assert cells.default_machines(2)[-2:] == ["threads:8", "processes:8"]
    assert cells.default_machines(40)[-2:] == ["threads:32", "processes:32"]


@needs_module
def test_what_is_named_twice_is_measured_once():
    assert tune._checked_collectives(["scan", "barrier", "scan"]) == ["scan", "barrier"]
    assert tune._checked_machines(["threads:4", "threads:2", "threads:4"]) \
        == ["threads:4", "threads:2"]


# --- contradictions -------------------------------------------------------------------------------


def _rows(**ns: float) -> dict[Place, table.Row]:
    """Of names such as all_reduce_64."""
    made = {}
    for name, value in ns.items():
        collective, _, size = name.rpartition("_")
        made[Place(collective, "threads", 2, int(size))] = {"slots": value}
    return made


def test_an_all_reduce_slower_than_reduce_and_broadcast_is_told():
    rows = _rows(reduce_64=100, broadcast_64=100, all_reduce_64=300)
    [found] = consistency.violations(rows)
    assert str(found) == (
        "threads, 2 ranks: all_reduce of 64 B takes 300 ns, reduce of 64 B + broadcast of 64 B "
        "200 ns"
    )
    assert consistency.violations(_rows(reduce_64=100, broadcast_64=100, all_reduce_64=210)) == []


def test_a_short_block_slower_than_a_long_one_is_told():
    [found] = consistency.violations(_rows(broadcast_8=200, broadcast_64=100))
    assert "broadcast of 8 B takes 200 ns, broadcast of 64 B 100 ns" in str(found)


def test_blocks_of_all_members_are_compared_with_long_ones():
    rows = _rows(gather_8=100, broadcast_16=100, all_gather_8=500)
    assert [each.slow.collective for each in consistency.violations(rows)] == ["all_gather"]


def test_the_worst_comes_first():
    rows = _rows(broadcast_8=200, broadcast_64=100, scan_8=900, scan_64=100)
    assert [each.slow.collective for each in consistency.violations(rows)] == ["scan", "broadcast"]


def test_a_lucky_best_is_held_against_the_choice_again(monkeypatch: pytest.MonkeyPatch):
    jobs = iter([(100, 90), (130, 100), (104, 100), (210, 200), (1000, 100)])
    asked = []

    def measure(machine: str, collective: str, size: int, how: program.Effort, table: str) -> dict:
        asked.append((how.ways, how.seed))
        slots, board = next(jobs)
        return cell_of(slots=slots, board=board)

    monkeypatch.setattr(program, "measure", measure)
    seen = check.Checked(cells.Cell("threads:2", "gather", 8), "slots", 150, "board", 100)
    good = check.Checked(cells.Cell("threads:2", "gather", 32), "slots", 100, "board", 100)
    sure, other = check._confirmed([seen, good], check._Jobs(Path("table")), time.monotonic() + 1)
    assert other is good
    assert sure.best_ns == 100
    assert sure.beyond == pytest.approx((100 / 90 * 1.3 * 1.05) ** (1 / 3) - 1)
    assert [ways for ways, _ in asked] == [("slots", "board")] * 5
    assert len({seed for _, seed in asked}) == 5


def test_a_table_whose_name_is_a_switch_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    used = set()

    def measure(machine: str, collective: str, size: int, how: program.Effort, table: str) -> dict:
        used.add(table)
        return {**cell_of(slots=200, board=100), "usual": "slots"}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(program, "measure", measure)
    cell = cells.Cell("threads:2", "gather", 8)
    check.run([cell], Path("off"), time.monotonic() + 1, lambda _: None)
    assert used == {str(tmp_path / "off")}, "SELION_TUNING=off would be no table"


def test_a_check_begins_nothing_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch):
    now, begun = [0.0], []

    def measure(machine: str, collective: str, size: int, how: program.Effort, table: str) -> dict:
        begun.append(now[0])
        now[0] += how.seconds + 0.1
        return {**cell_of(slots=200, board=100), "usual": "slots"}

    monkeypatch.setattr(program, "measure", measure)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    few = [cells.Cell("threads:2", "gather", size) for size in range(8, 808, 8)]
    found = check.run(few, Path("table"), 2.0, lambda _: None)
    assert max(begun) < 2.0 < now[0] + 0.2
    assert 0 < len(found.checked) < 20
    assert found.left == 100 - len(found.checked)
    assert check.run(few, Path("table"), now[0], lambda _: None) == check.Outcome([], 100)


def test_how_far_choices_are_from_the_best():
    cell = cells.Cell("threads:2", "broadcast", 8)
    checked = [check.Checked(cell, "slots", 105, "board", 100),
               check.Checked(cell, "lines:flat", 150, "lines:k_nomial:2", 100)]
    assert check.sentence(checked) == (
        "1 of 2 choices are within 10 % of the best; the farthest is 50 % beyond it (threads:2 "
        "broadcast 8 B); flat is chosen where a tree wins 1 times."
    )


# --- the commands ---------------------------------------------------------------------------------


def _tune_all(selion, *few: str, **used: str) -> str:
    """What the last of so many searches said as left no cell: where others have the processors,
    one is not enough."""
    for _ in range(6):
        done = selion("tune", "--time", "3s", "--resume", *few, **used)
        assert (done.returncode, done.stderr) == (0, "")
        if "go on with --resume" not in done.stdout:
            break
    assert "go on with --resume" not in done.stdout
    return done.stdout


@needs_tuner
def test_tune_then_explain_and_check(tmp_path: Path, selion):
    used = {"XDG_CACHE_HOME": str(tmp_path)}
    few = ("-m", "threads:2", "-c", "all_reduce")
    before = selion("explain", "all_reduce", "--bytes", "64", "-m", "threads:2", **used)
    assert "nothing has been measured" in before.stdout
    assert re.search(r"predicted with 2 ranks.*\n  board +[\d,]+ ns +1.00 times", before.stdout)
    said = _tune_all(selion, *few, **used)
    [path] = (tmp_path / "selion").iterdir()
    assert f"11 rows are in {path}" in said
    content = json.loads(path.read_text())
    [search] = content["about"]["searches"]
    assert {"selion", "commit", "processor", "date", "command"} <= search.keys()
    assert len(search["measured"]) == 11
    after = selion("explain", "all_reduce", "--bytes", "64", "-m", "threads:2", "--json", **used)
    told = json.loads(after.stdout)
    assert (told["reason"], told["known_size"], told["is_measured"]) == ("tuned", 112, True)
    assert told["way"] == told["candidates"][0][0]
    other = selion("explain", "all_reduce", "-m", "threads", "-n", "2", **used, SELION_TUNING="off")
    assert "predicted with 2 ranks" in other.stdout
    checked = selion("tune", "--check", "--time", "0.01s", *few, **used)
    assert (checked.returncode, checked.stdout) == (1, "")
    assert "There was no time to check any of 11 cells; give it more" in checked.stderr
    checked = selion("tune", "--check", "--time", "20s", *few, **used)
    assert checked.returncode in (0, 1) and "of 11 choices are within 10 %" in checked.stdout


@needs_tuner
def test_no_time_leaves_cells_and_resume_goes_on(tmp_path: Path, selion):
    output = tmp_path / "table.json"
    few = ("-m", "threads:2", "-c", "broadcast", "-o", str(output))
    rows = 0
    for time in ("0.01s", "0.3s", "0.6s", "1.2s", "2.4s"):  # however slow the host is
        first = selion("tune", "--time", time, *few)
        assert "go on with --resume" in first.stdout
        if output.exists():
            rows = len(json.loads(output.read_text())["rows"])
            break
        assert "No cell was measured, so nothing was written to" in first.stdout
    assert 0 < rows < 11
    _tune_all(selion, *few)
    assert len(json.loads(output.read_text())["rows"]) == 11
    assert list(tmp_path.iterdir()) == [output]


@needs_tuner
def test_a_table_without_rows_is_not_checked(tmp_path: Path, selion):
    place = program.place()
    table.write(tmp_path / "table.json", place.host, {}, {})
    done = selion("tune", "--check", "-m", "threads:2", "-o", "table.json")
    assert done.returncode == 2
    assert done.stderr == "selion tune: 'table.json' has no rows; 'selion tune' writes it.\n"


@needs_tuner
def test_a_prefix_does_not_stand_before_the_answer(selion):
    done = selion("explain", "barrier", "-m", "processes:2", SELION_PREFIX="1")
    assert (done.returncode, done.stderr) == (0, "")
    few = ("-m", "processes:2", "-c", "barrier", "-o", "table.json")
    done = selion("tune", "--time", "1s", *few, SELION_PREFIX="on")
    assert (done.returncode, done.stderr) == (0, "")


@needs_tuner
def test_what_a_program_is_to_record_is_not_of_the_search(tmp_path: Path, selion):
    kept = {name: tmp_path / name for name in ("trace.json", "meters.jsonl")}
    for path in kept.values():
        path.write_text("of a program")
    accesses = tmp_path / "accesses"
    few = ("-m", "threads:2", "-c", "barrier")
    plain = selion("explain", "barrier", "-m", "threads:2")
    for meters in (str(kept["meters.jsonl"]), "/dev/stdout"):
        used = {"SELION_TRACE": str(kept["trace.json"]), "SELION_METERS": meters,
                "SELION_CACHE_TRACE": str(accesses), "SELION_SPIN": "20", "SELION_TUNING": "off"}
        done = selion("explain", "barrier", "-m", "threads:2", **used)
        assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")
        done = selion("tune", "--time", "1s", *few, "-o", "table.json", **used)
        assert (done.returncode, done.stderr) == (0, "")
    assert {path.read_text() for path in kept.values()} == {"of a program"}
    assert not accesses.exists()
    about = json.loads((tmp_path / "table.json").read_text())["about"]
    assert [each["knobs"] for each in about["searches"]] == [{"SELION_SPIN": "20"}]


@needs_tuner
def test_a_damaged_table_is_not_overwritten(tmp_path: Path, selion):
    output = tmp_path / "table.json"
    output.write_text("{}")
    done = selion("tune", "--time", "1s", "-m", "threads:2", "-c", "barrier", "-o", str(output))
    assert done.returncode == 2
    assert "is damaged or no tuning table; it is left as it is" in done.stderr
    assert output.read_text() == "{}"


@needs_tuner
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--time", "soon"), "'soon' is no time"),
        (("--time", "0s"), "'0s' is no time"),
        (("--time", "9" * 5000), "9' is no time"),
        (("-m", "sim:crossbar"), "only real machines are tuned"),
        (("-m", "threads:2,direct=off"), "has options"),
        (("-m", "fabric:2,direct=off"), "has options"),
        (("--hosts", "localhost"), "add -m fabric"),
        (("-m", "threads:2", "--hosts", "localhost"), "not for 'threads:2'"),
        (("-m", "thraeds:2"), "did you mean threads?"),
        (("-m", ""), "'' is not a machine; legal: fabric, processes, threads."),
        (("-c", "all_reduc"), "There is no collective 'all_reduc'"),
        (("--check", "-m", "threads:2", "-o", "absent.json"), "does not exist"),
    ],
)
def test_what_cannot_be_tuned_is_one_sentence(selion, arguments, why: str):
    done = selion("tune", *arguments)
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


@needs_tuner
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("all_reduc",), "There is no collective 'all_reduc'"),
        (("barrier", "--bytes", "much"), "'much' is no size"),
        (("barrier", "--bytes", "9" * 5000), "9 is more than there can be; at "),
        (("barrier", "--bytes", "9" * 20), "99999999999999999999 is more than there can be; at "),
        (("barrier", "--bytes", "9" * 12 + "G"), "999999999999G is more than there can be; at "),
        (("barrier", "-m", "threads:0"), '"0" is not a number of ranks'),
    ],
)
def test_what_cannot_be_explained_is_one_sentence(selion, arguments, why: str):
    done = selion("explain", *arguments)
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


@needs_module
def test_a_program_can_ask(job):
    out = job.expect_no_fault("""
        if world.rank == 0:
            found = world.explain("all_reduce", 64)
            print(found.way, found.reason, found.members)
            world.explain("barrier")
            try:
                world.explain("barier")
            except ValueError as problem:
                print("did you mean" in str(problem))
    """)
    assert out.split() == ["board", "model", "2", "True"]
