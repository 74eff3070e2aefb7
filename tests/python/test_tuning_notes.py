# SPDX-License-Identifier: Apache-2.0
"""What `selion tune` notes: who may, what counts, and what is kept for another search."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import clean_environment, command, seconds
from selion.cli import tune
from selion.mistake import Mistake
from selion.tuning import cells, program, session, table
from selion.tuning.notes import Asked, Notes
from studying import needs_tuner

_host = "0" * 16
_scan = cells.Cell("threads:2", "scan", 8)
_on_network = cells.Cell("fabric:8", "gather", 8)


def _of(cell: cells.Cell, **changes: object) -> dict:
    """What was measured of a cell."""
    rows = [{"way": way, "ns": ns, "is_out": False} for way, ns in (("slots", 100), ("board", 90))]
    return {"collective": cell.collective, "machine": "threads", "members": 2, "bytes": cell.size,
            "rows": rows, **changes}


_now = {"selion": "0.1.0", "commit": "new", "program": "abc", "kernel": "6", "knobs": {},
        "any_order": False}


def _asked(*few: cells.Cell, networks: dict[str, str] | None = None, **changes: object) -> Asked:
    return Asked(few, networks or {}, _now | changes)


def _note(path: Path, *noted: cells.Cell, networks: dict[str, str] | None = None) -> None:
    with Notes(path, _host) as notes:
        notes.begin(_asked(networks=networks), is_resumed=False)
        for cell in noted:
            notes.add(cell, _of(cell))


def _noted(path: Path, host: str = _host, networks: dict[str, str] | None = None) -> set:
    """What a search goes on with."""
    with Notes(path, host) as notes:
        notes.begin(_asked(networks=networks), is_resumed=True)
        return set(notes.done)


def test_notes_of_another_network_do_not_count(tmp_path: Path):
    path = tmp_path / "table.json.part"
    network = {"fabric:8": "fabric/net/2x4"}
    _note(path, _on_network, _scan, networks=network)
    text = path.read_text()
    for networks, known in ((network, {_on_network, _scan}),
                            ({"fabric:8": "fabric/net/4x2"}, {_scan})):
        assert _noted(path, networks=networks) == known
        path.write_text(text)


@pytest.mark.parametrize("is_resumed", [False, True])
def test_notes_of_another_host_are_left_as_they_are(tmp_path: Path, is_resumed: bool):
    path = tmp_path / "table.json.part"
    _note(path, _scan)
    text = path.read_text()
    with pytest.raises(Mistake, match="'.*part' holds notes of another host; it is left as it is, "
                                      "so move it away or choose another --output."):
        with Notes(path, "1" * 16) as notes:
            notes.begin(_asked(), is_resumed)
    assert path.read_text() == text


def test_notes_of_other_searches_are_kept(tmp_path: Path):
    path = tmp_path / "table.json.part"
    _note(path, _on_network, networks={"fabric:8": "fabric/net/2x4"})
    with Notes(path, _host) as notes:
        notes.begin(_asked(), is_resumed=False)
        assert notes.done == {}
        notes.add(_scan, _of(_scan))
        notes.drop([_scan])
    assert _noted(path) == {_on_network}
    with Notes(path, _host) as notes:
        notes.begin(_asked(), is_resumed=True)
        notes.drop([_on_network])
    assert not path.exists(), "there is nothing to go on with"


def test_what_is_measured_anew_counts(tmp_path: Path):
    path = tmp_path / "table.json.part"
    _note(path, _scan)
    newer = _of(_scan, members=3)
    with Notes(path, _host) as notes:
        notes.begin(_asked(), is_resumed=False)
        notes.add(_scan, newer)
    with Notes(path, _host) as notes:
        notes.begin(_asked(), is_resumed=True)
        assert notes.done == {_scan: newer}


_gather = cells.Cell("threads:2", "gather", 8)


def test_a_search_that_begins_anew_drops_what_was_noted_of_its_cells(tmp_path: Path):
    path = tmp_path / "table.json.part"
    _note(path, _scan, _gather)
    with Notes(path, _host) as notes:
        notes.begin(_asked(_scan), is_resumed=False)
    assert _noted(path) == {_gather}, "who goes on with it would take what is older than it"


@pytest.mark.parametrize(("changes", "why"), [
    ({"any_order": True}, "--any-order was not given, and is"),
    ({"knobs": {"SELION_SPIN": "20"}}, "SELION_SPIN was not set, is 20"),
    ({"kernel": "7"}, "the kernel was 6, is 7"),
    ({"program": "xyz"}, "the measuring program was of another build"),
    ({"program": "xyz", "commit": "newer"}, "the commit was new, is newer"),
])
def test_cells_of_other_circumstances_are_not_gone_on_with(tmp_path: Path, changes, why: str):
    path = tmp_path / "table.json.part"
    _note(path, _scan, _gather)
    text = path.read_text()
    with Notes(path, _host) as notes, pytest.raises(Mistake) as caught:
        notes.begin(_asked(_scan, **changes), is_resumed=True)
    assert str(caught.value) == (
        f"'{path}' has cells that were measured otherwise: {why}. They would stand beside others "
        "in one table. Without --resume they are dropped and all is measured anew; --output FILE "
        "leaves them, and makes another table.")
    assert path.read_text() == text
    with Notes(path, _host) as notes:
        notes.begin(_asked(_on_network, **changes), is_resumed=True)
        assert notes.done == {}, "of other cells they are in nobody's way, and stay"
        notes.add(_on_network, _of(_on_network))
    assert _noted(path) == {_scan, _gather}
    assert json.loads(path.read_text().splitlines()[0])["searches"] == [_now, _now | changes]


def test_files_that_the_program_is_not_made_of_may_change(tmp_path: Path):
    path = tmp_path / "table.json.part"
    _note(path, _scan)
    with Notes(path, _host) as notes:
        notes.begin(_asked(_scan, commit="newer"), is_resumed=True)
        assert set(notes.done) == {_scan}


def test_notes_that_do_not_say_whose_they_are_are_not_gone_on_with(tmp_path: Path):
    path = tmp_path / "table.json.part"
    _note(path, _scan)
    head, line, _ = path.read_text().split("\n")
    path.write_text(json.dumps({"host": _host, "networks": {}}) + f"\n{line}\n")
    with Notes(path, _host) as notes, pytest.raises(Mistake, match="settings they are was not no"):
        notes.begin(_asked(_scan), is_resumed=True)


def test_one_search_at_a_time_has_the_notes(tmp_path: Path):
    path = tmp_path / "table.json.part"
    with Notes(path, _host) as notes:
        notes.begin(_asked(), is_resumed=False)
        with pytest.raises(Mistake, match="Another 'selion tune' is under way and has '.*part'; "):
            Notes(path, _host)
        notes.add(_scan, _of(_scan))
    assert _noted(path) == {_scan}


def _line(**changes: object) -> bytes:
    return json.dumps({"cell": ["threads:2", "scan", 8], "measured": _of(_scan)} | changes).encode()


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b"7",
        b'{"cell": ["thr',
        b"[" * 100_000,
        _line(measured=5),
        _line(cell=5),
        _line(cell=["threads:2", "scan", [8]]),
        _line(cell=["threads:2", "scan", 9]),
        _line(measured=_of(_scan, rows=[])),
        _line(measured=_of(_scan, rows=[{"way": "slots", "ns": "5", "is_out": False}])),
        _line(measured=_of(_scan, rows=[{"way": "slots", "ns": -5, "is_out": False}])),
        _line(measured=_of(_scan, rows={"slots": 5})),
        _line(measured=_of(_scan, members="two")),
        _line(measured=_of(_scan, finalists=["direct"])),
        _line(measured=_of(_scan, finalists=["slots"], jobs=[{"slots": 5}])),
        _line(measured=_of(_scan, finalists=["slots"], jobs=[5])),
        _line(measured=_of(_scan, jobs=[{"slots": 5, "board": 5}])),
    ],
)
def test_what_is_no_note_does_not_count(tmp_path: Path, line: bytes):
    path = tmp_path / "table.json.part"
    _note(path, _scan)
    head, scan, _ = path.read_bytes().split(b"\n")
    barrier = scan.replace(b"scan", b"gather")
    path.write_bytes(b"\n".join([head, line, barrier, b""]))
    assert _noted(path) == {cells.Cell("threads:2", "gather", 8)}


@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize("text", [b"\xff\n", b"[]\n", b"\n", b"5\n7\n", b'{"host": 5}\n{}\n',
                                  b"[" * 100_000, b'{"host": "' + b"0" * 16 + b'"}'])
def test_a_file_of_other_things_is_left_as_it_is(tmp_path: Path, text: bytes, is_resumed: bool):
    path = tmp_path / "table.json.part"
    path.write_bytes(text)
    with pytest.raises(Mistake, match="'.*part' holds no notes of 'selion tune'; it is left as"):
        with Notes(path, _host) as notes:
            notes.begin(_asked(), is_resumed)
    assert path.read_bytes() == text


def test_an_empty_file_has_no_notes(tmp_path: Path):
    path = tmp_path / "table.json.part"
    path.touch()
    assert _noted(path) == set()


def test_jobs_in_which_ways_have_met_are_notes(tmp_path: Path):
    path = tmp_path / "table.json.part"
    measured = session.settled(_of(_scan), _of(_scan)) | {"finalists": ["slots", "board"]}
    with Notes(path, _host) as notes:
        notes.begin(_asked(), is_resumed=False)
        notes.add(_scan, measured)
    assert _noted(path) == {_scan}


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def at_work(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A search that is under way for the table of this folder, and has a note."""
    arguments = ("tune", "--time", "50s", "-m", "threads:2", "-c", "gather", "-o", "table.json")
    running = subprocess.Popen([*command, *arguments], cwd=tmp_path, env=clean_environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    notes = tmp_path / "table.json.part"
    while not notes.exists() or notes.stat().st_size == 0:
        assert running.poll() is None
        time.sleep(0.01)
    yield running
    running.terminate()
    running.communicate(timeout=seconds)


_barrier = ("-m", "threads:2", "-c", "barrier", "-o", "table.json")


@needs_tuner
def test_two_at_a_time_for_a_table_are_one_too_many(tmp_path: Path, selion, at_work):
    done = selion("tune", "--time", "1s", *_barrier)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("selion tune: Another 'selion tune' is under way and has "
                           "'table.json.part'; wait for its end, or choose another --output.\n")
    at_work.terminate()
    _, errors = at_work.communicate(timeout=seconds)
    assert at_work.returncode == 128 + signal.SIGTERM
    assert "'selion tune --resume' goes on with it" in errors


@needs_tuner
def test_a_search_keeps_the_notes_of_another(tmp_path: Path, selion, at_work):
    at_work.terminate()
    at_work.communicate(timeout=seconds)
    noted = (tmp_path / "table.json.part").read_text().splitlines()[1]
    for limit in ("2s", "8s", "30s"):  # as long as a slow host needs to measure one cell
        done = selion("tune", "--time", limit, *_barrier)
        if "1 row is in table.json" in done.stdout:
            break
    assert "1 row is in table.json" in done.stdout, done.stderr
    assert noted in (tmp_path / "table.json.part").read_text().splitlines()
    assert "barrier" not in (tmp_path / "table.json.part").read_text()


def _wanted(output: Path | None) -> tune._Wanted:
    return tune._Wanted(machines=["threads:2"], collectives=["scan"], seconds=60, any_order=False,
                        end=time.monotonic() + 60, is_resumed=False, output=output)


def test_the_table_behind_a_link_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(program, "team_of", lambda machine: program.Team("threads", 2))
    monkeypatch.setattr(tune, "misunderstood", lambda *_: {})
    monkeypatch.setattr(program, "measure", lambda *_: _of(_scan))
    (tmp_path / "real").mkdir()
    path, link = tmp_path / "real" / "table.json", tmp_path / "link.json"
    link.symlink_to(path)
    place = program.Place(_host, tmp_path / "unused.json")
    for _ in range(2):  # there is none behind it, then there is one
        tune._tune(_wanted(link), place)
        assert link.is_symlink() and len(table.read(path, _host)) == 1
    with Notes(path.with_name("table.json.part"), _host) as notes:
        notes.begin(_asked(), is_resumed=False)
        with pytest.raises(Mistake, match="Another 'selion tune' is under way"):
            tune._tune(_wanted(link), place)


def test_links_in_a_circle_are_no_table(tmp_path: Path):
    link = tmp_path / "link.json"
    link.symlink_to(link)
    with pytest.raises(Mistake, match="link.json' cannot be read: Too many levels of symbolic"):
        tune._tune(_wanted(link), program.Place(_host, tmp_path / "unused.json"))


def test_each_row_of_a_table_has_its_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    place = program.Place(_host, tmp_path / "table.json")
    monkeypatch.setattr(program, "team_of", lambda machine: program.Team("threads", 2))
    monkeypatch.setattr(tune, "misunderstood", lambda *_: {})
    monkeypatch.setattr(program, "measure",
                        lambda *of_cell: _of(cells.Cell(*of_cell[:3])))

    def tune_some(*collectives: str) -> list[tuple[float, set[str]]]:
        """By search, how it was asked and the collectives whose rows it has measured."""
        seconds = 60 + len(collectives)
        tune._tune(replace(_wanted(None), collectives=list(collectives), seconds=seconds), place)
        rows = sorted(map(str, table.read(place.path, _host)))
        searches = json.loads(place.path.read_text())["about"]["searches"]
        assert sorted(row for each in searches for row in each["measured"]) == rows
        return [(each["seconds"], {row.split()[0] for row in each["measured"]})
                for each in searches]

    assert tune_some("scan") == [(61, {"scan"})]
    assert tune_some("gather", "exscan") == [(61, {"scan"}), (62, {"gather", "exscan"})]
    assert tune_some("exscan") == [(61, {"scan"}), (62, {"gather"}), (61, {"exscan"})]
    assert tune_some("scan", "gather") == [(61, {"exscan"}), (62, {"scan", "gather"})]


def test_a_table_that_tells_of_one_search_has_that_of_all_its_rows(tmp_path: Path):
    row = table.Place("scan", "threads", 2, 8)
    table.write(tmp_path / "table.json", _host, {row: {"slots": 1}},
                {"commit": "old", "violations": []})
    assert table.searches(tmp_path / "table.json", [row]) == [
        {"commit": "old", "measured": [str(row)]}]
    assert table.searches(tmp_path / "absent.json", []) == []


@needs_tuner
@pytest.mark.parametrize("options", [(), ("--check",)])
def test_without_a_folder_for_the_table_a_file_is_asked_for(tmp_path: Path, options):
    environment = {key: value for key, value in clean_environment().items()
                   if key not in ("HOME", "XDG_CACHE_HOME")}
    done = subprocess.run([*command, "tune", "-m", "threads:2", "-c", "barrier", *options],
                          cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=seconds)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("selion tune: Neither XDG_CACHE_HOME nor HOME is set, so there is no "
                           "folder for the table; name a file with -o FILE.\n")


def test_rows_that_have_come_meanwhile_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    place = program.Place(_host, tmp_path / "table.json")
    other = table.Place("all_reduce", "threads", 2, 64)
    table.write(place.path, _host, {}, {})

    def measure(*_: object) -> dict:
        table.write(place.path, _host, {other: {"slots": 287.0}}, {})
        return _of(_scan)

    monkeypatch.setattr(program, "team_of", lambda machine: program.Team("threads", 2))
    monkeypatch.setattr(tune, "misunderstood", lambda *_: {})
    monkeypatch.setattr(program, "measure", measure)
    tune._tune(_wanted(None), place)
    assert table.read(place.path, _host).keys() > {other}
