# SPDX-License-Identifier: Apache-2.0
"""Which ways of a collective meet in further jobs, and what comes of it."""

from __future__ import annotations

import time

import pytest
from selion.tuning import cells, meetings, program, session, table
from selion.tuning.notes import Asked, Notes
from test_tuning import cell_of


def test_who_is_close_to_the_quickest_meets_it_again():
    found = cell_of(slots=100, board=149, direct=151, lines__flat=90)
    found["rows"][3]["is_out"] = True
    assert session.finalists(found) == ("slots", "board")
    assert session.finalists(cell_of(slots=100, board=200)) == ()
    again = cell_of(slots=140, board=70)
    _, row = table.row_of(session.settled(found, again))
    # Slots took 1 and 2 times the best of its job, the board 1.49 and 1; the best 100 and 70.
    assert list(row) == ["board", "slots", "direct", "lines:flat"]
    assert row["slots"] == pytest.approx(85 * 2**0.5)
    assert row["board"] == pytest.approx(85 * 1.49**0.5)
    assert row["direct"] == pytest.approx(85 * 1.51)
    assert found["rows"][0]["ns"] == 100, "what was measured first is not changed"


def test_who_would_be_taken_without_a_table_has_to_lose_twice():
    found = cell_of(slots=100, board=200, direct=400)
    found["rows"][2]["is_out"] = True
    found["usual"] = "direct"
    assert session.finalists(found) == ("slots", "direct")
    found["usual"] = "lines:ring"
    assert session.finalists(found) == (), "a way that was not measured cannot meet anybody"
    settled = found
    for slots, direct in ((130, 70), (130, 72)):
        settled = session.settled(settled, cell_of(slots=slots, direct=direct))
    _, row = table.row_of(settled)
    assert list(row)[0] == "direct", "of three jobs the middle one counts"


def test_who_wins_beside_is_not_given_up_for_a_disturbed_job():
    found = cell_of(lines__flat=9400, board=21000, slots=38000)
    assert session.finalists(found, ["board", "board"]) == ("lines:flat", "board")
    assert session.finalists(found, ["board", "slots"]) == ("lines:flat", "board", "slots")
    assert session.finalists(found, ["lines:flat", "board"]) == (), "one beside it agrees"
    assert session.finalists(found, ["direct"]) == (), "it is none of this size"
    settled = found
    for board in (1200, 1300):
        settled = session.settled(settled, cell_of(lines__flat=3400, board=board))
    assert session.contenders(settled)[0]["way"] == "board"


def test_ways_that_have_all_been_left_out_meet_again():
    found = cell_of(slots=134, direct=97, lines__flat=79)
    for each in found["rows"]:
        each["is_out"] = True
    assert session.finalists(found) == ("lines:flat", "direct")


def test_neighbours_are_the_next_sizes_of_the_same():
    sizes = [cells.Cell("threads:2", "scan", size) for size in (8, 32, 512)]
    others = [cells.Cell("threads:3", "scan", 32), cells.Cell("threads:2", "reduce", 8)]
    found = session.neighbours([sizes[2], *others, sizes[0], sizes[1]])
    assert found[sizes[0]] == [sizes[1]]
    assert found[sizes[1]] == [sizes[0], sizes[2]]
    assert found[others[0]] == found[others[1]] == []


def test_a_cell_that_is_surely_wrong_is_measured_alone(monkeypatch: pytest.MonkeyPatch, tmp_path):
    short, long = (cells.Cell("threads:2", "scan", size) for size in (8, 32))
    measured = []

    def measure(machine: str, collective: str, size: int, how: program.Effort) -> dict:
        measured.append(size)
        return {**cell_of(slots=100), "collective": "scan", "bytes": size}

    def repeats_of(slots: int) -> list[int]:
        notes = Notes(tmp_path / f"notes-{slots}", "here")
        notes.begin(Asked([short, long], {}, {}), is_resumed=False)
        notes.add(short, {**cell_of(slots=slots), "collective": "scan", "bytes": 8})
        notes.add(long, {**cell_of(slots=100), "collective": "scan", "bytes": 32})
        measured.clear()
        search = session.Search([short, long], notes, time.monotonic() + 60, False, lambda _: None)
        assert search._repeat_worst()
        assert not search._repeat_worst()
        return list(measured)

    monkeypatch.setattr(program, "measure", measure)
    assert repeats_of(900) == [8]
    assert repeats_of(140) == [8, 32]


def test_jobs_are_compared_within_themselves():
    # A host that is slower by four in every other job, and disturbed in one.
    jobs = [{"slots": 100, "board": 130}, {"slots": 400, "board": 480},
            {"slots": 100, "board": 125}, {"slots": 400, "board": 40}]
    taken = meetings.taken(jobs)
    assert taken["board"] / taken["slots"] == pytest.approx((1.2 * 1.25) ** 0.5)
    assert meetings.middle([2, 8]) == pytest.approx(4)
    assert meetings.middle([1, 1000, 3]) == pytest.approx(3)


def test_ways_meet_as_often_as_there_is_time(monkeypatch: pytest.MonkeyPatch, tmp_path):
    cell = cells.Cell("threads:2", "gather", 8)
    seeds = []

    def measure(machine: str, collective: str, size: int, how: program.Effort) -> dict:
        assert (how.ways, how.is_exhaustive) == (("slots", "board"), True)
        seeds.append(how.seed)
        return cell_of(slots=130, board=100)

    monkeypatch.setattr(program, "measure", measure)
    notes = Notes(tmp_path / "notes", "here")
    notes.begin(Asked([cell], {}, {}), is_resumed=False)
    search = session.Search([cell], notes, 0, False, lambda _: None)
    notes.add(cell, cell_of(slots=100, board=110))
    search._meet_all(time.monotonic() - 1)
    assert seeds == [], "there was no time"
    search._meet_all(time.monotonic() + 60)
    assert len(set(seeds)) == len(seeds) == 12
    _, row = table.row_of(notes.done[cell])
    assert list(row) == ["board", "slots"]
    search._meet_all(time.monotonic() + 60)
    assert len(seeds) == 12, "and not more often than is of use"
