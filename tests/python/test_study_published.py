# SPDX-License-Identifier: Apache-2.0
"""published.csv: rows that are there are held against the figures of today, and a figure that no
row can stand beside is named by file and line."""

from __future__ import annotations

import json

import pytest

from conftest import needs_module, root
from selion.study import catalog
from selion.study.published import Published

_put = '"{""op"": ""put"", ""bytes"": 8}"'


def publish(fake, *lines: str) -> None:
    with fake.published.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))


def last_line(done) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


# --- figures that come, change and go after rows were measured ------------------------------------


def test_a_figure_that_came_later_is_compared_with_the_rows_that_are_there(fake):
    fake.run("--quick")
    fake.runs()
    publish(fake, f"fake,speed,{_put},latency_ns,8.5,ns")
    done = fake.run("--quick", "--compare")
    assert fake.runs() == []
    assert last_line(done) == "fake: 1 of 1 cells within tolerance."


def test_a_figure_that_is_gone_or_has_another_value_is_as_it_is_today(fake):
    publish(fake, f"fake,speed,{_put},latency_ns,8.5,ns", f"fake,speed,{_put},count,3,calls")
    fake.run("--quick")
    text = fake.published.read_text().splitlines()[0] + "\n"
    fake.published.write_text(f"{text}fake,speed,{_put},latency_ns,17,ns\n")
    before = fake.results.read_text()
    done = fake.run("--quick", "--compare")
    assert last_line(done) == "fake: 0 of 1 cells within tolerance."
    shown = fake.run("--quick", "--experiment", "speed", "--resume").stdout
    assert [line.split()[-1] for line in shown.splitlines()[2:4]] == ["17", "calls"]
    assert fake.results.read_text() == before


def test_rows_of_another_number_of_ranks_than_the_sources_are_not_compared(fake):
    publish(fake, f"fake,speed,{_put},latency_ns,8.5,ns")
    done = fake.run("--quick", "--compare", "--machine", "threads:4")
    assert last_line(done).endswith(" 1 of 1 published figures not measured.")


@needs_module
def test_a_report_shows_the_figures_of_today(fake, selion):
    fake.run("--experiment", "speed")
    publish(fake, f"fake,speed,{_put},latency_ns,8.5,ns",
            'fake,speed,"{""op"": ""get"", ""bytes"": 64}",latency_ns,64.5,ns',
            f"fake,speed,{_put},latency_us,8.5,us")
    done = selion("report", "-o", "r.md", **fake.environment())
    assert done.returncode == 0, done.stderr
    assert "published.csv, line 4: 'latency_us' is not a metric" in done.stderr
    text = (fake.folder / "r.md").read_text(encoding="utf-8")
    assert "2 of 2 cells within tolerance, one figure of published.csv left out." in text
    assert "8.5 (published 8.5)" in text


# --- figures that no row can stand beside ---------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (f"speed,{_put},latency_ns,8.5,us", "the unit is 'us'; legal: 'ns', that of 'latency_ns'"),
        (f"sped,{_put},latency_ns,8.5,ns",
         "'sped' is not an experiment of the study 'fake' (did you mean 'speed'?); "
         "legal: speed, links"),
        (f"speed,{_put},latncy_ns,8.5,ns",
         "'latncy_ns' is not a metric of the experiment 'speed' (did you mean 'latency_ns'?); "
         "legal: latency_ns, count"),
        ('speed,"{""op"": ""put"", ""byts"": 8}",count,3,calls',
         "'byts' is not a param of the metric 'count' (did you mean 'bytes'?); legal: op, bytes"),
        ('speed,"{""op"": ""putt"", ""bytes"": 8}",count,3,calls',
         "'putt' is not a legal value of 'op' (did you mean 'put'?); legal: put, get, barrier"),
        ('speed,"{""op"": ""put"", ""bytes"": ""8""}",count,3,calls',
         "'8' is not a legal value of 'bytes'; legal: 0 to 1048576"),
        ('speed,"{""op"": ""put""}",count,3,calls',
         "the param 'bytes' is missing; only one whose axis has one default can be left out"),
    ],
)  # fmt: skip
def test_a_figure_that_is_none_of_the_studys_is_named_and_left_out(fake, line, complaint):
    publish(fake, f"fake,{line}", f"fake,speed,{_put},count,3,calls")
    place = f"selion study: {fake.published}, line 2: {complaint}; left out."
    assert place in fake.run("--quick").stderr.splitlines()
    done = fake.run("--quick", "--compare")
    assert place in done.stderr.splitlines()
    assert last_line(done).endswith("one figure of published.csv left out.")
    assert "not measured" not in done.stdout
    assert [row["metric"] for row in fake.rows() if "published" in row] == ["count"]


@pytest.mark.parametrize("value", ["abc", "NaN", "[1]"])
def test_a_figure_that_is_no_number_is_not_compared_with_one(fake, value):
    publish(fake, f"fake,speed,{_put},latency_ns,{value},ns")
    done = fake.run("--quick", "--compare")
    assert "line 2: 'latency_ns' is published as " in done.stderr
    assert ("(speed op=put bytes=8 on 'threads:2', repetition 0); only one of them is a number, "
            "so they are left out.") in done.stderr
    assert last_line(done) == ("fake: 0 of 0 cells within tolerance, one figure of published.csv "
                               "left out.")


def test_what_is_measured_as_a_text_is_not_compared_with_a_number(fake):
    """The figure may be right: nobody is blamed."""
    publish(fake, f"fake,speed,{_put},latency_ns,41.5,ns")
    assert fake.run("--quick").returncode == 0
    rows = [{**row, "value": "fast"} if row.get("metric") == "latency_ns" else row
            for row in map(json.loads, fake.results.read_text().splitlines())]
    fake.results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = fake.run("--quick", "--compare")
    told = "'latency_ns' is published as 41.5 and measured as \"fast\" (speed"
    assert told in done.stderr


def test_a_figure_that_stands_twice_is_named(fake):
    publish(fake, f"fake,speed,{_put},count,3,calls", f"fake,speed,{_put},count,4,calls")
    done = fake.run("--quick", "--compare")
    assert f"line 3: the figure stands already in {fake.published}, line 2; left out" in done.stderr


def test_figures_of_other_studies_are_theirs_and_a_misspelt_study_is_named(fake):
    other = fake.folder / "studies" / "other"
    other.mkdir()
    (other / "study.toml").write_text((fake.published.parent / "study.toml").read_text())
    publish(fake, f"other,speed,{_put},colour,3,calls", f"fakk,speed,{_put},count,3,calls")
    done = fake.run("--quick")
    assert "line 3: 'fakk' is not a study (did you mean 'fake'?)" in done.stderr
    assert "line 2" not in done.stderr


@pytest.mark.parametrize("name", catalog.names(root / "studies"))
def test_all_figures_of_a_study_can_be_measured(name):
    assert Published(catalog.read_study(root / "studies" / name)).faults == []


def test_json_stays_json_where_figures_are_left_out(fake):
    publish(fake, f"fake,speed,{_put},latency_ns,8.5,us", f"fake,speed,{_put},count,3,calls")
    done = fake.run("--quick", "--compare", "--json")
    assert [json.loads(line)["metric"] for line in done.stdout.splitlines()] == ["count"]
