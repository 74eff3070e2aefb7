# SPDX-License-Identifier: Apache-2.0
"""selion meters: files of meters and results of studies, read and added up."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import clean_environment
from selion import meter_file
from selion.meter_file import Link, Reading, Recorded
from selion.mistake import Mistake
from studying import where_is

_columns = "name unit ranks mean min min_rank max max_rank count bytes site".split()
_keys = [*_columns, "kind"]


def reading(rank: int, name: str, total: int, **more) -> dict:
    return {"rank": rank, "name": name, "unit": "ns", "count": 1, "total": total, "bytes": 0,
            "site": "", "kind": "operation", **more}


def link(name: str, busy_ps: int = 0, wait_ps: int = 0, **more) -> dict:
    return {"link": name, "messages": 3, "bytes": 12, "busy_ps": busy_ps, "wait_ps": wait_ps,
            "run_ps": 1_000_000, **more}


def figure(metric: str, value: float, repetition: int = 0, **params) -> dict:
    return {"study": "mesh-broadcast", "experiment": "links", "machine": "sim:epiphany-iii",
            "params": params, "metric": metric, "value": value, "unit": "ticks",
            "repetition": repetition, "seed": 1}


def write(folder: Path, *rows: dict, name: str = "meters.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# Two ranks come as they end: the last one first.
some = [
    reading(2, "barrier", 70, count=4, site="/a/b/ring.cpp:17"),
    reading(2, "put", 900, count=3, bytes=24, site="/a/b/ring.cpp:14"),
    reading(0, "barrier", 100, count=4, site="/a/b/ring.cpp:17"),
    reading(0, "put", 100, count=5, bytes=40, site="/a/b/more/start.cpp:3"),
    reading(1, "put", 200, count=2, bytes=16, site="/a/b/ring.cpp:14"),
    reading(1, "sent", -7, unit="events"),
    reading(1, "wait: signal", 5),
]


# --- reading --------------------------------------------------------------------------------------


def test_lines_become_readings_and_links(tmp_path):
    found = meter_file.read(write(tmp_path, some[1], link("rank 0 out", 5000, 250)))
    assert found == Recorded(
        [Reading(2, "put", "ns", 3, 900, 24, "/a/b/ring.cpp:14", "operation")],
        [Link("rank 0 out", 3, 12, 5000, 250)], 1_000_000, "ps")
    assert found.percent(5000) == 0.5


head = {"file": "meters", "format": 1, "selion": "0.1.0", "machine": "threads:3", "ranks": 3,
        "time": "real"}


def test_the_first_line_tells_of_the_job(tmp_path, selion):
    path = write(tmp_path, head, *some)
    assert meter_file.read(path).job == meter_file.Job("threads:3", 3, is_virtual=False)
    assert selion("meters", "meters.jsonl").stdout.startswith(
        "threads:3: 3 ranks, real time\n\nname ")
    write(tmp_path, {**head, "time": "virtual"}, link("rank 0 out", 5000), name="links.jsonl")
    assert selion("meters", "links.jsonl", "--links").stdout.startswith(
        "threads:3: 3 ranks, virtual time\n\nrun: 1 µs\n")
    assert json.loads(selion("meters", "meters.jsonl", "--json").stdout.split("\n")[0])["name"]
    assert meter_file.read(write(tmp_path, *some)).job is None


@pytest.mark.parametrize("rows, sentence", [
    ([head, *some, head], "meters.jsonl:9 begins the meters of a second job; legal are those of "
                          "one in a file."),
    ([*some[:2], head], "meters.jsonl:3 begins the meters of a second job; legal are those of one "
                        "in a file."),
    ([{**head, "format": 2}], "meters.jsonl:1: meters of format 2 are not known."),
    ([{**head, "ranks": 2}, some[0]], "meters.jsonl:2: 'rank' is 2; there are 2 ranks."),
    ([head], "meters.jsonl holds no meters: with SELION_METERS=meters.jsonl the ranks of a job "
             "write them when they end; those of one that fails may not."),
])  # fmt: skip
def test_first_lines_that_do_not_fit(tmp_path, selion, rows, sentence):
    write(tmp_path, *rows)
    assert refusal(selion, "meters.jsonl") == f"selion meters: {sentence}\n"


def test_older_files_do_not_say_how_long_the_run_was(tmp_path):
    row = link("rank 0 out", 5000)
    del row["run_ps"]
    found = meter_file.read(write(tmp_path, row))
    assert found.run is None and found.percent(5000) is None


def test_meters_are_added_up_over_the_ranks_that_have_them():
    rows = meter_file.aggregate(Reading(**each) for each in some)
    assert [(each.name, each.unit) for each in rows] == [
        ("put", "ns"), ("barrier", "ns"), ("wait: signal", "ns"), ("sent", "events")]
    put, barrier, _, sent = rows
    assert (put.ranks, put.mean) == (3, 400)
    assert (put.min, put.min_rank, put.max, put.max_rank) == (100, 0, 900, 2)
    assert (put.count, put.bytes, put.site) == (10, 80, "/a/b/more/start.cpp:3")
    assert (barrier.ranks, barrier.mean, barrier.min_rank, barrier.max_rank) == (2, 85, 2, 0)
    assert (sent.mean, sent.min, sent.max) == (-7, -7, -7)


def test_what_a_rank_has_twice_is_added_before_ranks_are_compared():
    rows = [reading(0, "put", 10), reading(0, "put", 15), reading(1, "put", 20)]
    (put,) = meter_file.aggregate(Reading(**each) for each in rows)
    assert (put.ranks, put.min, put.min_rank, put.max, put.mean) == (2, 20, 1, 25, 22.5)


def test_of_equal_ranks_the_first_is_named():
    rows = [reading(rank, "put", 10) for rank in (3, 1, 2)]
    (put,) = meter_file.aggregate(Reading(**each) for each in rows)
    assert (put.min_rank, put.max_rank) == (1, 1)


def test_a_timer_and_a_counter_of_one_name_stay_apart():
    rows = [reading(0, "x", 10), reading(0, "x", 4, unit="events")]
    found = meter_file.aggregate(Reading(**each) for each in rows)
    assert [(each.unit, each.mean) for each in found] == [("ns", 10), ("events", 4)]


def test_which_links_are_of_a_mesh():
    names = ["(0,0) east", "(1,2) into core", "(0,1) up in dimension 0", "node 3 out",
             "(0,0,0) east", "(0,5) sideways"]
    links = [Link(name, 1, 1, 1, 1) for name in names]
    mesh = meter_file.mesh_of(links)
    assert (mesh.rows, mesh.columns) == (2, 3)
    assert mesh.links == {(0, 0, "east"): links[0], (1, 2, "into core"): links[1]}
    assert meter_file.mesh_of(links[2:]) is None


# --- a study's results ----------------------------------------------------------------------------


def mesh_pairs(rows: int, columns: int) -> list[tuple[int, int]]:
    """Neighbours of an open mesh, and each core with itself."""
    found = []
    for core in range(rows * columns):
        row, column = divmod(core, columns)
        found += [(core, core)]
        found += [(core, core + 1), (core + 1, core)] if column + 1 < columns else []
        found += [(core, core + columns), (core + columns, core)] if row + 1 < rows else []
    return found


def study_rows(rows: int, columns: int, run: float = 400, **params) -> list[dict]:
    """Busy 1 tick for each 10 of `from`, and for each of `to`; waited twice as long."""
    found = [{"selion": "0.1"}, figure("ticks", run, **params)]
    for source, target in mesh_pairs(rows, columns):
        ends = {**params, "from": source, "to": target}
        busy = 10 * source + target
        found += [figure("link_busy_ticks", busy, **ends),
                  figure("link_wait_ticks", 2 * busy, **ends),
                  figure("link_bytes", 4 * busy, **ends)]
    return found


def test_links_of_a_study_get_names_of_the_mesh(tmp_path):
    found = meter_file.read(write(tmp_path, *study_rows(4, 4, ints=32)))
    assert (found.run, found.unit, found.readings) == (400, "ticks", [])
    assert len(found.links) == 16 + 2 * 24
    links = {each.name: each for each in found.links}
    assert links["(1,1) east"] == Link("(1,1) east", None, 4 * 56, 56, 112)
    assert links["(1,2) west"].busy == 65
    assert links["(1,1) south"].busy == 59
    assert links["(2,1) north"].busy == 95
    assert links["(3,3) from core"].busy == 165
    assert links["(0,0) from core"].is_idle and not links["(0,0) east"].is_idle


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 8), (8, 2), (3, 5), (4, 4)])
def test_the_shape_follows_from_the_links(tmp_path, shape):
    mesh = meter_file.mesh_of(meter_file.read(write(tmp_path, *study_rows(*shape))).links)
    assert (mesh.rows, mesh.columns) == shape


@pytest.mark.parametrize("shape", [(1, 5), (3, 3), (5, 3), (4, 4)])
def test_the_shape_of_a_mesh_that_closes(tmp_path, shape):
    rows, columns = shape
    pairs = [(row * columns + column, (row + down) % rows * columns + (column + across) % columns)
             for row in range(rows) for column in range(columns)
             for down, across in ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))]
    path = write(tmp_path, *(figure("link_busy_ticks", 1, **{"from": a, "to": b})
                             for a, b in pairs))  # fmt: skip
    mesh = meter_file.mesh_of(meter_file.read(path).links)
    assert (mesh.rows, mesh.columns) == shape
    assert len(mesh.links) == len(set(pairs))
    assert ((0, 0, "west") in mesh.links, (0, 0, "north") in mesh.links) == (True, rows > 1)


def test_the_most_square_shape_where_links_leave_it_open(tmp_path):
    ends = [{"from": core, "to": core} for core in range(12)]
    path = write(tmp_path, *(figure("link_busy_ticks", 1, **each) for each in ends))
    mesh = meter_file.mesh_of(meter_file.read(path).links)
    assert (mesh.rows, mesh.columns) == (3, 4)


def test_a_mesh_that_closes(tmp_path):
    ends = [(0, 3), (3, 0), (0, 4), (8, 0), (0, 8), (8, 11), (5, 6)]
    path = write(tmp_path, *(figure("link_busy_ticks", 1, rows=3, columns=4, **{"from": a, "to": b})
                             for a, b in ends))  # fmt: skip
    names = [each.name for each in meter_file.read(path).links]
    assert names == ["(0,0) west", "(0,3) east", "(0,0) south", "(2,0) south", "(0,0) north",
                     "(2,0) west", "(1,1) east"]


def test_given_rows_and_columns_are_believed(tmp_path):
    rows = [figure("link_busy_ticks", 1, rows=5, columns=6, **{"from": 0, "to": 6})]
    found = meter_file.read(write(tmp_path, *rows))
    assert [each.name for each in found.links] == ["(0,0) south"]
    rows[0]["params"]["columns"] = 8
    with pytest.raises(Mistake, match="do not join neighbours of a mesh of 5 x 8 cores"):
        meter_file.read(write(tmp_path, *rows))


def test_one_of_several_runs_is_selected(tmp_path):
    path = write(tmp_path, *study_rows(2, 2, order="mapped", ints=8),
                 *study_rows(2, 2, order="mapped", ints=32, run=900),
                 *study_rows(2, 2, order="ring", ints=8, run=500))  # fmt: skip
    assert meter_file.read(path, ["order=ring"]).run == 500
    assert meter_file.read(path, ["order=mapped", "ints=32"]).run == 900
    for select, sentence in {
        (): "holds 3 runs with links; choose one with --select KEY=VALUE: order=mapped, ring; "
            "ints=8, 32.",
        ("order=mapped",): "holds 2 runs with links; choose one with --select KEY=VALUE: "
                           "ints=8, 32.",
        ("order=odd",): "has no run with order=odd; legal for order are mapped, ring.",
        ("order=ring", "ints=32"): "has no run with ints=32; legal for ints are 8.",
        ("colour=red",): "has no 'colour' to select by; legal are experiment, machine, seed, "
                         "order, ints.",
        ("ring",): "--select is 'ring'; legal is KEY=VALUE.",
    }.items():
        with pytest.raises(Mistake) as mistake:
            meter_file.read(path, select)
        assert str(mistake.value).endswith(sentence)


def test_means_of_several_rounds_are_no_whole_numbers(tmp_path):
    ends = {"from": 0, "to": 1}
    path = write(tmp_path, figure("ticks", 40.5), figure("link_bytes", 1920.0, **ends),
                 figure("link_wait_ticks", 8.1, **ends))  # fmt: skip
    found = meter_file.read(path)
    assert found.links == [Link("(0,0) east", None, 1920, 0, 8.1)]
    assert repr(found.links[0].bytes) == "1920"
    assert found.percent(8.1) == pytest.approx(20)


def test_of_several_repetitions_the_first_is_read(tmp_path):
    again = [{**row, "repetition": 1, "value": 7} for row in study_rows(2, 2)[1:]]
    found = meter_file.read(write(tmp_path, *study_rows(2, 2), *again))
    assert found.run == 400 and found.links[1].busy == 1


# --- tables ---------------------------------------------------------------------------------------


def test_the_table_of_meters(selion, tmp_path):
    done = selion("meters", str(write(tmp_path, *some)))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == _columns
    assert lines[1].split() == ["put", "ns", "3", "400.0", "100", "0", "900", "2", "10", "80",
                                "more/start.cpp:3"]
    assert lines[2].split()[-1] == "ring.cpp:17"
    assert len(lines) == 5


def test_a_meter_of_the_program_is_not_mixed_up_with_an_operation(selion, tmp_path):
    rows = [reading(rank, "broadcast", total, kind=kind)
            for rank in (0, 1) for total, kind in ((100, "timer"), (40, "collective"))]
    path = str(write(tmp_path, *rows, reading(0, "put", 7)))
    table = selion("meters", path).stdout.splitlines()[1:]
    assert [line.split("  ")[0] for line in table] == [
        "broadcast (timer)", "broadcast (collective)", "put"]
    found = [json.loads(line) for line in selion("meters", path, "--json").stdout.splitlines()]
    assert [(row["name"], row["kind"], row["mean"], row["count"]) for row in found] == [
        ("broadcast", "timer", 100, 2), ("broadcast", "collective", 40, 2),
        ("put", "operation", 7, 1)]


def test_older_files_do_not_say_of_what_kind_meters_are(tmp_path):
    row = reading(0, "put", 1)
    del row["kind"]
    assert meter_file.read(write(tmp_path, row)).readings == [
        Reading(0, "put", "ns", 1, 1, 0, "")]


def test_meters_as_json_lines(selion, tmp_path):
    path = str(write(tmp_path, *some))
    done = selion("meters", path, "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [list(row) for row in rows] == [_keys] * 4
    assert rows[0] == dict(zip(_keys, ["put", "ns", 3, 400.0, 100, 0, 900, 2, 10, 80,
                                       "/a/b/more/start.cpp:3", "operation"], strict=True))
    done = selion("meters", path, "--json", "--per-rank")
    assert [json.loads(line) for line in done.stdout.splitlines()] == some


def test_a_line_for_each_rank_and_meter(selion, tmp_path):
    done = selion("meters", str(write(tmp_path, *some)), "--per-rank")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == "rank name unit count total bytes site".split()
    assert [line[:2] for line in lines[1:]] == [
        ["0", "barrier"], ["0", "put"], ["1", "put"], ["1", "sent"], ["1", "wait:"],
        ["2", "barrier"], ["2", "put"]]  # fmt: skip
    assert lines[2] == ["0", "put", "ns", "5", "100", "40", "more/start.cpp:3"]


def links_of(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    assert done.returncode == 0, done.stderr
    return [line.rsplit(maxsplit=6) for line in done.stdout.splitlines() if " in " in line]


def test_links_go_by_load_or_by_wait(selion, tmp_path):
    path = str(write(tmp_path, link("(0) in a", 10_000, 2_000_000), link("(0) in b", 250_000, 0),
                     link("(0) in c", 40_000, 500)))  # fmt: skip
    assert links_of(selion("meters", path, "--links")) == [
        ["(0) in b", "3", "12", "25.00", "250.0", "0.00", "0.0"],
        ["(0) in c", "3", "12", "4.00", "40.0", "0.05", "0.5"],
        ["(0) in a", "3", "12", "1.00", "10.0", "200.00", "2000.0"]]
    by_wait = links_of(selion("meters", path, "--links", "--by", "wait"))
    assert [line[0][-1] for line in by_wait] == ["a", "c", "b"]
    rows = selion("meters", path, "--links", "--json", "--most", "1").stdout.splitlines()
    assert [json.loads(row) for row in rows] == [
        {"link": "(0) in b", "messages": 3, "bytes": 12, "busy_ps": 250_000, "wait_ps": 0,
         "run_ps": 1_000_000, "busy_percent": 25.0, "wait_percent": 0.0}]


def test_so_many_links_are_shown(selion, tmp_path):
    path = str(write(tmp_path, *(link(f"no {number} in", number) for number in range(30))))
    assert len(links_of(selion("meters", path, "--links"))) == 20
    done = selion("meters", path, "--links", "--most", "4")
    assert [line[0] for line in links_of(done)] == [f"no {which} in" for which in (29, 28, 27, 26)]
    assert done.stdout.endswith("\n4 of 30 links; --most 0 shows all of them.\n")
    done = selion("meters", path, "--links", "--most", "0")
    assert len(links_of(done)) == 30 and "of them" not in done.stdout


def test_links_of_a_study_are_in_ticks(selion, tmp_path):
    path = str(write(tmp_path, *study_rows(2, 2)))
    lines = selion("meters", path, "--links").stdout.splitlines()
    assert lines[0] == "run: 400 ticks"
    assert lines[2].split()[-1] == "wait_ticks"
    assert lines[3].split() == "(1,1) from core 132 8.25 33 16.50 66".split()


def test_what_a_job_has_written(selion, tmp_path):
    program = str(Path(where_is("test_advised")["SELION_BIN"]) / "test_advised")
    path = tmp_path / "meters.jsonl"
    subprocess.run([program, "4"], check=True, capture_output=True, timeout=60,
                   env=clean_environment(SELION_MACHINE="sim:epiphany-iii",
                                         SELION_METERS=str(path)))  # fmt: skip
    written = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    readings = [row for row in written if "rank" in row]
    assert [json.loads(line) for line in
            selion("meters", str(path), "--json", "--per-rank").stdout.splitlines()] == readings
    rows = [json.loads(line) for line in selion("meters", str(path), "--json").stdout.splitlines()]
    for row in rows:
        own = [each for each in readings
               if all(each[key] == row[key] for key in ("name", "unit", "kind"))]
        assert row["count"] == sum(each["count"] for each in own)
        assert row["mean"] * row["ranks"] == pytest.approx(sum(each["total"] for each in own))
        assert row["max"] == max(each["total"] for each in own)
    mesh = meter_file.mesh_of(meter_file.read(path).links)
    # Four ways from each core but over the edge, three out of it and one into it.
    assert (mesh.rows, mesh.columns, len(mesh.links)) == (4, 4, 48 + 4 * 16)


# --- what is refused ------------------------------------------------------------------------------


def refusal(selion, *arguments: str) -> str:
    done = selion("meters", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_files_that_are_no_meters(selion, tmp_path):
    def refused(content: str) -> str:
        (tmp_path / "x").write_text(content, encoding="utf-8")
        return refusal(selion, "x")

    good = json.dumps(some[0]) + "\n"
    assert refusal(selion, "none.jsonl") == (
        "selion meters: 'none.jsonl' cannot be read: No such file or directory.\n")
    assert refused("\n") == (
        "selion meters: x holds no meters: with SELION_METERS=x the ranks of a job write them when "
        "they end; those of one that fails may not.\n")
    for content, sentence in {
        good + "rank 0\n": "x:2 is not JSON; legal is one JSON object a line.",
        good[:40]: "x:1 is not JSON; legal is one JSON object a line.",
        good + "\n" + good[:40] + "\n": "x:3 is not JSON; legal is one JSON object a line.",
        "[" * 100_000: "x:1 is not JSON; legal is one JSON object a line.",
        "[]": "x:1 is no JSON object; legal is one JSON object a line.",
        '{"ph":"X"}': "x:1 is no line of meters: it has neither 'name' nor 'link'.",
        '{"rank":0,"name":"put"}': "x:1 has no 'unit'.",
        good.replace("70", "7.5"): "x:1: 'total' is 7.5; legal is a whole number of 64 bits.",
        good.replace("70", "true"): "x:1: 'total' is true; legal is a whole number of 64 bits.",
        good.replace("70", "9" * 400): f"x:1: 'total' is {'9' * 400}; legal is a whole number of "
                                       "64 bits.",
        good.replace('"rank": 2', '"rank": -2'): "x:1: 'rank' is -2; legal is 0 or more.",
        json.dumps(link("a", -1)): "x:1: 'busy_ps' is -1; legal is 0 or more.",
        json.dumps(link("(" + "9" * 5000 + ",1) east")):
            "x:1: 'link' has a row or column of 5,000 digits; legal are at most 19.",
        json.dumps(link("(0," + "9" * 20 + ") into core")):
            "x:1: 'link' has a row or column of 20 digits; legal are at most 19.",
        json.dumps(link("\ud800")): "x:1 holds half a surrogate pair; legal are whole characters.",
        json.dumps(reading(0, "put", 1, site="\udc00")):
            "x:1 holds half a surrogate pair; legal are whole characters.",
        json.dumps(figure("latency", 1)):
            "x holds results of a study, but none of them is of links (link_messages, link_bytes, "
            "link_busy_ticks, link_wait_ticks).",
        json.dumps(figure("link_bytes", 1, to=3)): "x:1 has no 'from'.",
        json.dumps(figure("link_bytes", 1, rows=0, **{"from": 0, "to": 0})):
            "x: 'rows' is 0; legal is a whole number from 1.",
        json.dumps(figure("link_bytes", 1, columns="4", **{"from": 0, "to": 0})):
            "x: 'columns' is 4; legal is a whole number from 1.",
        json.dumps(figure("link_bytes", 1, **{"from": 0, "to": 10**9})):
            "x has links of a mesh of 1,000,000,001 cores; legal are at most 16,384.",
    }.items():
        assert refused(content) == f"selion meters: {sentence}\n", content[:60]


def test_a_last_line_that_was_cut_off(selion, tmp_path):
    good = json.dumps(some[0])
    (tmp_path / "x").write_text(f"{good}\n{good[:40]}")
    done = selion("meters", "x")
    assert done.returncode == 0 and some[0]["name"] in done.stdout
    assert done.stderr == "selion meters: x:2 is cut off; left out, and more may be missing.\n"
    (tmp_path / "x").write_text(good)  # without a line's end, and whole
    assert selion("meters", "x").stderr == ""


def test_a_core_of_the_largest_row_is_listed(selion, tmp_path):
    name = f"({'9' * 19},1) east"
    write(tmp_path, link(name))
    assert name in selion("meters", "meters.jsonl", "--links").stdout


def test_bytes_that_are_no_text(selion, tmp_path):
    (tmp_path / "x").write_bytes(b'{"link": "\xff"}\n')
    assert "x:1 is not JSON" in refusal(selion, "x")


def test_options_that_do_not_fit(selion, tmp_path):
    write(tmp_path, *some)
    write(tmp_path, link("node 3 out"), name="links.jsonl")
    for arguments, sentence in {
        ("--links",): "meters.jsonl holds no links; a job on a simulated machine writes them.",
        ("--links", "--per-rank"): "--links and --per-rank show different tables; leave one of "
                                   "them out.",
        ("--most", "3"): "--most is for --links, which is not there.",
        ("--links", "--most", "-1"): "--most is -1; legal is 0 or more.",
        ("--select", "a=b"): "meters.jsonl holds the meters of one job; --select chooses among "
                             "the runs of a study's results.jsonl.",
    }.items():
        assert refusal(selion, "meters.jsonl", *arguments) == f"selion meters: {sentence}\n"
    for arguments in ((), ("--per-rank",), ("--json",)):
        assert "no meters of ranks; --links shows them." in refusal(selion, "links.jsonl",
                                                                    *arguments)  # fmt: skip


def test_nothing_is_written_when_something_is_refused(selion, tmp_path):
    write(tmp_path, *some)
    write(tmp_path, link("node 3 out"), name="links.jsonl")
    write(tmp_path, link("(0,0) east", 5), name="mesh.jsonl")
    before = sorted(os.listdir(tmp_path))
    for name in ("meters.jsonl", "links.jsonl"):
        assert f"{name} holds no links of a mesh, so there is no heat map; a job on a simulated " \
               "mesh such as sim:epiphany-iii writes them." in refusal(
                   selion, name, "--heat-map", "map.svg")  # fmt: skip
    assert "--by is 'heat'; legal are load, wait." in refusal(
        selion, "mesh.jsonl", "--by", "heat", "--heat-map", "map.svg")  # fmt: skip
    assert "no meters of ranks" in refusal(selion, "mesh.jsonl", "--per-rank", "--heat-map",
                                           "map.svg")  # fmt: skip
    assert "the file that is read; choose another name." in refusal(
        selion, "mesh.jsonl", "--heat-map", "mesh.jsonl")  # fmt: skip
    assert sorted(os.listdir(tmp_path)) == before
