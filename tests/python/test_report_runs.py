# SPDX-License-Identifier: Apache-2.0
"""Reports tell commits, hosts and days apart: what several runs have measured is no repetition, and
plots and tables say whose rows they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import Selion, needs_module
from reporting import header, make, write
from selion.report import chart_svg, markdown
from selion.report.chart_style import light, rules
from selion.report.page import html
from selion.report.write import make as make_report

_later = {**header, "commit": "def", "begun": "2026-03-02T23:59:59+00:00"}
_first = {**header, "begun": "2026-03-01T00:00:00+00:00"}


def latency(value: float, size: int = 8, **changes: Any) -> dict[str, Any]:
    return {"study": "host", "experiment": "latency", "machine": "threads:2", "ranks": 2,
            "params": {"op": "put", "bytes": size}, "metric": "latency_ns", "value": value,
            "unit": "ns", "repetition": 0, "seed": 1, **changes}  # fmt: skip


def two_sizes(value: float) -> list[dict[str, Any]]:
    return [latency(value), latency(2 * value, 64)]


def gain(value: float, ints: int = 1, **changes: Any) -> dict[str, Any]:
    return {"study": "mesh-broadcast", "experiment": "gain", "machine": "sim:epiphany-iii",
            "ranks": 16, "params": {"ints": ints}, "metric": "gain_percent", "value": value,
            "unit": "%", "repetition": 0, "seed": 1, **changes}  # fmt: skip


def gains(value: float) -> list[dict[str, Any]]:
    return [gain(value, published=25.0), gain(20.0, 5)]


@pytest.fixture
def report(tmp_path):
    """The report of some files, each given by its lines."""

    def make_of(*files):
        for number, lines in enumerate(files):
            write(tmp_path, f"file-{number}", lines)
        return make(tmp_path)

    return make_of


# --- what is measured again -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"commit": "def"}, "commit def"),
        ({"commit": None}, "an unknown commit"),
        ({"commit": "0123456789abcdef-dirty", "changes": "77"}, "commit 0123456789ab with changes "
                                                               "77"),
        ({"kernel": "7"}, "kernel 7"),
        ({"compiler": "cc"}, "compiler cc"),
        ({"tuning": "77"}, "table of collectives 77"),
        ({"selion": "0.2.0"}, "version 0.2.0"),
    ],
)  # fmt: skip
def test_what_another_commit_or_build_has_measured_is_no_repetition(report, change, name):
    [section] = report([header, *two_sizes(10)], [{**header, **change}, *two_sizes(1000)]).sections
    first, second = section.charts
    assert [dot.y for dot in first.curves[0].dots] == [10, 20]
    assert second.title.endswith(f"threads on h with {name}")
    assert [dot.y for dot in second.curves[0].dots] == [1000, 2000]


def test_a_run_without_a_table_is_as_one_that_does_not_say(report):
    [section] = report([header, *two_sizes(10)],
                       [{**header, "tuning": "none"}, *two_sizes(1000)]).sections
    assert len(section.charts) == 1


def test_what_two_calibrations_have_predicted_is_no_repetition(report):
    twin = "sim:./this-host.toml"

    def rows(value: float) -> list[dict[str, Any]]:
        return [latency(value, size, params={"op": "put", "bytes": size, "predicted_on": twin})
                for size in (8, 64)]

    [section] = report([{**header, "constants": {twin: "1"}}, *rows(100.0)],
                       [{**header, "constants": {twin: "2"}}, *rows(300.0)]).sections
    dots = [dot.y for chart in section.charts for curve in chart.curves for dot in curve.dots]
    assert sorted(dots) == [100, 100, 300, 300]


def test_headers_without_rows_are_no_runs(report):
    made = report([header, *two_sizes(100.0), {**header, "host": "elsewhere", "resumed": True}])
    assert "elsewhere" not in html(made)


def test_virtual_times_of_two_commits_are_told_apart_where_they_differ(report):
    [section] = report([header, *gains(25.0)], [_later, *gains(25.0)]).sections
    [chart] = section.charts
    assert [curve.name for curve in chart.curves] == [""]
    [section] = report([header, *gains(25.0)], [_later, *gains(26.0)]).sections
    [chart] = section.charts
    assert [curve.name for curve in chart.curves] == ["sim:epiphany-iii on h with commit abc",
                                                      "sim:epiphany-iii on h with commit def"]


def test_simulations_that_spend_the_time_of_a_host_are_those_of_a_commit(report):
    def rows(value: float) -> list[dict[str, Any]]:
        return [{**row, "machine": "sim:epiphany-iii,compute=measured"} for row in gains(value)]

    [section] = report([header, *rows(25.0)[:1]], [_later, *rows(25.0)[1:]]).sections
    [chart] = section.charts
    assert len(chart.curves) == 2


# --- what is said of it ---------------------------------------------------------------------------

_both = "From several runs: commit abc on h, 2026-03-01; commit def on h, 2026-03-02."


def test_plots_and_tables_of_several_runs_say_so(report):
    made = report([_later, *gains(25.0)], [_first, *gains(25.0)])
    [section] = made.sections
    assert [chart.runs for chart in section.charts] == [_both]
    assert section.runs_of_cells == _both
    assert html(made).count(f'<p class="runs">{_both}</p>') == 2
    assert markdown.text(made, Path("plots")).count(_both) == 2
    drawn = chart_svg.alone(section.charts[0], rules(light))
    assert "2026-03-02.</text>" in drawn
    assert "4 rows, measured by selion 0.1.0 (commit abc on h, 2026-03-01; commit def on h, " \
        "2026-03-02)." in html(made)


def test_plots_of_one_run_say_which_where_the_study_has_others(report):
    made = report([_first, *gains(25.0)],
                  [_later, *(gain(value, value, experiment="other") for value in (1, 2))])
    [section] = made.sections
    assert [chart.runs for chart in section.charts] == [
        "From commit abc on h, 2026-03-01.", "From commit def on h, 2026-03-02."]
    assert section.runs_of_cells == "From commit abc on h, 2026-03-01."


def test_where_all_is_of_one_run_only_the_last_line_says_so(report):
    made = report([_first, *gains(25.0)])
    assert 'class="runs"' not in html(made)
    assert "2 rows, measured by selion 0.1.0 (commit abc on h, 2026-03-01)." in html(made)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({**_first, "host": "far"}, "commit abc on far, 2026-03-01; commit abc on h, 2026-03-01."),
        ({**_first, "begun": "2026-03-04T00:00:00+00:00"},
         "commit abc on h, 2026-03-01; commit abc on h, 2026-03-04."),
        ({**header, "begun": "yesterday"}, "commit abc on h; commit abc on h, 2026-03-01."),
        (None, "an unknown commit on the host of "),
    ],
)  # fmt: skip
def test_hosts_and_days_are_told_as_well(report, other, said):
    made = report([line for line in (other, *gains(25.0)) if line], [_first, *gains(25.0)])
    [chart] = made.sections[0].charts
    assert chart.runs.startswith(f"From several runs: {said}")


def test_many_runs_are_counted(report):
    made = report(*([{**header, "commit": str(number)}, *gains(25.0)] for number in range(7)))
    [chart] = made.sections[0].charts
    assert chart.runs.endswith("commit 4 on h; and 2 more.")


def link(value: float, source: int, target: int, metric: str = "link_busy_ticks") -> dict[str, Any]:
    return gain(value, experiment="links", metric=metric, unit="ticks",
                params={"order": "mapped", "ints": 1, "from": source, "to": target})  # fmt: skip


def test_a_picture_of_links_is_one_of_one_run(report):
    def rows(busy: float) -> list[dict[str, Any]]:
        run = gain(100.0, experiment="links", metric="ticks", params={"order": "mapped", "ints": 1})
        return [run, *(link(busy, *ends) for ends in ((0, 1), (1, 0), (2, 3), (0, 2), (1, 3)))]

    [section] = report([_first, *rows(11)], [_later, *rows(99)]).sections
    [picture] = [each for each in section.pictures if each.svg and "mapped" in each.title]
    assert picture.runs == \
        "From commit abc on h, 2026-03-01. Rows of other runs are left out."
    assert "99" not in picture.svg and "11" in picture.svg


# --- the warning ----------------------------------------------------------------------------------

_warned = "Results of several commits or hosts stand in this report: "


def test_several_commits_are_a_warning(tmp_path):
    write(tmp_path, "a", [_first, *gains(25.0)])
    write(tmp_path, "b", [_later, *gains(25.0), *two_sizes(10)])
    notes = [note for note in make_report([tmp_path], "A report").notes if note.startswith(_warned)]
    assert notes == [_warned + "commit abc on h (mesh-broadcast); commit def on h (mesh-broadcast, "
                     "host). Plots and tables of studies that have several say which are theirs."]


def test_several_days_are_no_warning(tmp_path):
    write(tmp_path, "a", [_first, *gains(25.0)])
    write(tmp_path, "b", [{**_later, "commit": "abc"}, *gains(25.0)])
    assert make_report([tmp_path], "A report").notes == []


@needs_module
def test_the_command_warns_as_well(selion: Selion, tmp_path):
    write(tmp_path / "out", "a", [_first, *gains(25.0)])
    write(tmp_path / "out", "b", [{**_first, "host": "far"}, *gains(25.0)])
    done = selion("report", "out", "-o", "r.html")
    assert done.returncode == 0
    assert done.stderr.startswith(f"selion report: {_warned}commit abc on h (mesh-broadcast); ")
    assert _warned in (tmp_path / "r.html").read_text(encoding="utf-8")
