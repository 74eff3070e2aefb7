# SPDX-License-Identifier: Apache-2.0
"""selion report: every plan of every study finds its rows; damaged results are told and skipped."""

from __future__ import annotations

import json
import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from conftest import Selion, clean_environment, command, needs_module, seconds
from reporting import five, header, make, rows_of, studies, write
from selion import schedules
from selion.drawing import schedule_picture
from selion.report.collect import collect
from selion.report.contents import read_contents
from selion.report.curves import charts_of, usual_plans
from selion.report.page import html, style, table_of
from selion.report.sections import section_of
from selion.report.select import answer, find_value
from selion.study.compare import compare
from selion.study.plan import Request


def row(**changes):
    return {"study": "mesh-broadcast", "experiment": "gain", "machine": "sim:epiphany-iii",
            "ranks": 16, "params": {"ints": 1}, "metric": "gain_percent", "value": 25.0,
            "unit": "%", "repetition": 0, "seed": 1, **changes}  # fmt: skip


@pytest.fixture
def section(tmp_path):
    """The section of some rows of one study."""

    def make_section(*rows):
        write(tmp_path, "s", [header, *rows])
        found = collect([tmp_path]).studies
        [results] = found.values()
        return section_of(results, studies())

    return make_section


# --- what studies want to show --------------------------------------------------------------------


@pytest.mark.parametrize("name", five)
def test_every_plan_of_a_study_names_what_the_study_has(name):
    study = studies()[name]
    contents = read_contents(study.folder)
    for plan in contents.plots:
        experiment = study.experiments[plan.experiment]
        assert set(plan.metrics) <= set(experiment.metrics), plan.title
        extra = {key for metric in plan.metrics for key in experiment.metrics[metric].extra}
        legal = {*experiment.axes, *extra, "machine", "metric"}
        assert {plan.x, *plan.series, *plan.panels, *plan.where} <= legal, plan.title
    for picture in contents.pictures:
        assert picture.kind == "tree" or picture.experiment in study.experiments


@pytest.mark.parametrize("name", five)
def test_every_plan_of_a_study_makes_a_plot(name):
    study = studies()[name]
    rows = rows_of(study)
    for plan in read_contents(study.folder).plots:
        charts = charts_of(name, study.experiments[plan.experiment], plan, rows)
        assert charts, plan.title
        assert all(chart.curves and chart.curves[0].dots for chart in charts), plan.title


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", five)
def test_the_source_is_answered_from_usual_and_from_quick_runs(name, quick):
    study = studies()[name]
    conclusion = read_contents(study.folder).conclusion
    text, missing = answer(rows_of(study, quick=quick), conclusion, study.experiments)
    assert missing == []
    assert re.search(r"\d", text)


# --- rows to curves -------------------------------------------------------------------------------


def test_what_differs_at_one_x_makes_curves_and_what_goes_along_with_x_does_not():
    study = studies()["multicore-collectives"]
    rows = [row(study=study.name, experiment="threads-and-processes", machine="sim:niagara2,a=1",
                metric="latency_us", unit="us", value=processes * (1 + (collective == "barrier")),
                params={"processes": processes, "threads": 64 // processes,
                        "collective": collective, "bytes": 8})
            for processes in (1, 2, 4) for collective in ("broadcast", "all_reduce")]
    [plan] = usual_plans(study, rows, {})
    [chart] = charts_of(study.name, study.experiments["threads-and-processes"], plan, rows)
    assert [curve.name for curve in chart.curves] == ["broadcast", "all_reduce"]
    assert table_of(chart)[0][0] in ("1", "16")


def test_repetitions_are_one_dot_with_a_spread(section):
    made = section(row(value=20.0), row(value=22.0, repetition=1), row(value=30.0, repetition=2),
                   row(params={"ints": 2}, value=20.0))
    [chart] = [each for each in made.charts if "quicker" in each.title]
    dot = chart.curves[0].dots[0]
    assert (dot.y, dot.low, dot.high) == (22.0, 20.0, 30.0)


def test_figures_are_compared_with_the_rows_that_the_study_compares(section):
    """Another seed is a repetition in plots; `selion study --compare` goes by the usual one."""
    rows = [row(value=25.0), row(value=60.0, seed=2), row(value=80.0, seed=9),
            row(params={"ints": 5}, value=1.0), row(params={"ints": 5}, value=9.0, seed=2)]
    made = section(*rows)
    study = studies()["mesh-broadcast"]
    command = compare(study, Request(), [each for each in rows if each["seed"] == 1])
    assert made.verdict == command.sentence() + (
        " These are the rows of seed 1; those of the seeds 2, 9 count in plots alone.")
    assert [(cell.measured, cell.is_within) for cell in made.cells] == [(25.0, True), (1.0, None)]
    assert "furthest off" not in made.worst
    [chart] = [each for each in made.charts if "quicker" in each.title]
    dot = chart.curves[0].dots[0]
    assert (dot.y, dot.low, dot.high, dot.published) == (60.0, 25.0, 80.0, 25)
    made = section(*(each for each in rows if each["seed"] != 1))
    assert [cell.measured for cell in made.cells] == [60.0, 9.0], "--compare --seed 2 says so"
    assert made.verdict.endswith(" rows of seed 2; those of seed 9 count in plots alone.")


def test_a_value_over_another_one():
    contents = read_contents(studies()["software-cache"].folder)
    gain = contents.conclusion.values["gain"]
    def at(block, value):
        return row(experiment="figure-11", metric="time_per_iteration_ms", unit="ms", value=value,
                   params={"block_bytes": block, "remote": 16})
    assert find_value([at(0, 300.0), at(8, 150.0)], gain, {}) == 2.0
    assert find_value([at(0, 300.0)], gain, {}) is None


def test_the_answer_is_that_of_the_machines_that_the_study_is_about():
    """Whatever else has been measured, and in whichever order."""
    study = studies()["software-cache"]
    conclusion = read_contents(study.folder).conclusion
    usual = rows_of(study, quick=True)
    others = [{**each, "machine": "processes:2", "value": 0.01 * each["value"]} for each in usual]
    text, _ = answer(usual, conclusion, study.experiments)
    assert answer([*others, *usual], conclusion, study.experiments) == (text, [])
    assert answer(others, conclusion, study.experiments)[0] is None


def test_what_a_value_is_divided_by_is_of_the_same_machine():
    contents = read_contents(studies()["software-cache"].folder)
    gain = contents.conclusion.values["gain"]
    def at(block, value, machine):
        return row(experiment="figure-11", metric="time_per_iteration_ms", unit="ms", value=value,
                   params={"block_bytes": block, "remote": 16}, machine=machine)
    rows = [at(8, 1.0, "threads:2"), at(0, 300.0, "sim:a"), at(8, 150.0, "sim:a")]
    assert find_value(rows, gain, {}) == 2.0


def test_cells_that_the_source_leaves_open_stay_open(section):
    made = section(row(published=25.0), row(params={"ints": 5}, value=12.0))
    states = {(cell.params, cell.published) for cell in made.cells}
    assert states == {("ints 1", 25), ("ints 5", None)}
    assert made.open_cells == 1


def test_a_missing_experiment_is_named_with_the_command_that_runs_it(section):
    made = section(row())
    assert "selion study mesh-broadcast --experiment orders" in made.answer


def test_a_study_that_is_not_installed_is_shown(section):
    made = section(row(study="my-own", params={"n": 1}), row(study="my-own", params={"n": 2}))
    assert [chart.x_title for chart in made.charts] == ["n"]


# --- results that are not as they should be -------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([header, row(), '{"study": "mesh-b'], r"line 3 is cut off in the middle"),
        ([header, "nonsense\n", row()], r"line 2 is not a JSON object; left out"),
        ([header, row(), "[1]\n", "7\n", row()], r"lines 3, 4 are not a JSON object; left out"),
        ([header, {"study": "x"}, row()], r"line 2 is no row: it has no 'value'; left out"),
        ([header, {**row(), "params": 3}, row()], r"line 2 is no row: it has no 'params'"),
        ([{**header, "schema": 9}, row()], r"line 1: rows of schema 9, and .* knows 1"),
        ([header, row(), header, row()], r"line 3 is a second header"),
        ([row()], r"has no header"),
        ([header, row(), row(study="offload")], r"mixes rows of studies \(1 of 'mesh-broadcast', 1 "
                                                r"of 'offload'\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_by_line_and_the_rest_is_kept(tmp_path, lines, said):
    write(tmp_path, "s", lines)
    found = collect([tmp_path])
    assert re.search(said, " ".join(found.notes))
    assert found.studies["mesh-broadcast"].rows


def test_a_value_that_is_no_number_of_json_is_no_row(tmp_path):
    write(tmp_path, "s", [header, json.dumps(row()).replace("25.0", "NaN") + "\n", row()])
    found = collect([tmp_path])
    assert len(found.studies["mesh-broadcast"].rows) == 1
    assert "line 2" in found.notes[0]


def test_text_from_results_cannot_become_markup(tmp_path):
    script = "<script>alert(1)</script>"
    write(tmp_path, "s", [header, row(experiment=script, unit=script, params={"<b>": 1}),
                          row(experiment=script, unit=script, params={"<b>": 2})])
    text = html(make(tmp_path))
    assert "<script>alert" not in text and "<b>" not in text


# --- the command ----------------------------------------------------------------------------------


def test_without_results_it_says_how_to_get_some(selion: Selion):
    done = selion("report")
    assert done.returncode == 1
    assert done.stderr.strip() == ("selion report: There is no folder or file 'selion-out'; "
                                   "'selion study all --quick' makes selion-out with results.")


def test_a_device_is_no_place_of_results(selion: Selion):
    assert selion("report", "/dev/null").stderr == (
        "selion report: '/dev/null' is neither a folder nor a file; legal are folders of 'selion "
        "study', and results.jsonl in them.\n")


def test_an_empty_folder_has_no_results(selion: Selion, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    done = selion("report", "empty")
    assert done.returncode == 1 and "No results were found in empty" in done.stderr


def test_an_unknown_form_is_a_mistake(selion: Selion, tmp_path: Path):
    done = selion("report", "--format", "pdf")
    assert done.returncode == 2 and "legal: html, md, png" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_whose_ending_says_no_form_is_a_mistake(selion: Selion, tmp_path: Path):
    for name in ("r.txt", "report"):
        done = selion("report", "-o", name)
        assert (done.returncode, done.stderr) == (2, (
            f"selion report: '{name}' does not say which form the report has; legal are names that "
            "end in .html, .md, .png, or --format.\n"))
    assert not list(tmp_path.iterdir())


@needs_module
def test_a_file_has_the_form_that_was_asked_for_and_its_folder_is_made(selion, tmp_path: Path):
    write(tmp_path / "out", "s", [header, row(), row(params={"ints": 2})])
    for form, begin in (("html", "<!DOCTYPE html>"), ("md", "# ")):
        done = selion("report", "out", "--format", form, "-o", f"new/{form}/r.txt")
        assert done.returncode == 0, done.stderr
        text = (tmp_path / "new" / form / "r.txt").read_text(encoding="utf-8")
        assert text.lower().startswith(begin.lower())


@needs_module
def test_results_are_not_replaced_by_their_report(selion: Selion, tmp_path: Path):
    write(tmp_path / "out", "s", [header, row(), row(params={"ints": 2})])
    results = tmp_path / "out" / "s" / "results.jsonl"
    others = [results.with_name(name) for name in ("field.json", "results.previous.jsonl")]
    for other in others:
        other.write_text("{}")
    before = results.read_bytes()
    for named, held in (("out/s/results.jsonl", "results that the report is made of"),
                        ("out/../out/s/results.jsonl", "results that the report is made of"),
                        ("out/s/field.json", "results that the report is made of"),
                        ("out/s/results.previous.jsonl", "results of an earlier run")):
        done = selion("report", "out", "--format", "html", "-o", named)
        assert done.returncode == 2
        assert done.stderr.endswith(f"selion report: '{named}' holds {held}, which it would "
                                    "replace; choose another --out.\n")
    assert results.read_bytes() == before
    assert [other.read_text() for other in others] == ["{}", "{}"]


@needs_module
def test_a_pipe_takes_the_page_and_stays_and_has_no_plots_beside_it(tmp_path: Path):
    write(tmp_path / "out", "s", [header, row(), row(params={"ints": 2})])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def report(form: str) -> tuple[int, str, str]:
        with subprocess.Popen(
                [*command, "report", "out", "--format", form, "-o", "pipe"], cwd=tmp_path,
                env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True) as running:  # fmt: skip
            page = pipe.read_text(encoding="utf-8") if form == "html" else ""
            _, errors = running.communicate(timeout=seconds)
        return running.returncode, page[:15], errors

    assert report("html") == (0, "<!doctype html>", "")
    assert report("md") == (2, "", (
        "selion report: 'pipe' is no ordinary file, and the plots of a report in Markdown lie "
        "beside it; choose another --out.\n"))
    assert pipe.is_fifo() and sorted(os.listdir(tmp_path)) == ["out", "pipe"]


@needs_module
def test_a_damaged_file_is_told_on_standard_error_and_on_the_page(selion: Selion, tmp_path: Path):
    write(tmp_path / "out", "s", [header, row(), "{"])
    done = selion("report", "out", "-o", "page.html")
    assert done.returncode == 0
    assert "results.jsonl, line 3 is cut off" in done.stderr
    assert "line 3 is cut off" in (tmp_path / "page.html").read_text(encoding="utf-8")


@needs_module
def test_the_page_has_its_own_colours_for_what_is_drawn_on_white():
    played = [schedules.play(schedules.Request(*asked, ranks=4))
              for asked in (("broadcast", "k_nomial"), ("all_gather", "ring"),
                            ("reduce", "k_nomial"), ("barrier", "dissemination"),
                            ("scan", "recursive_doubling"))]
    found = {match for each in played for match in
             re.findall(r'(fill|stroke)="([^"]+)"', schedule_picture.draw(each, "command"))}
    assert len(found) > 5
    for what, colour in found - {("fill", "none")}:
        assert f'.paper [{what}="{colour}"]{{{what}:var(--' in style()


@needs_module
@pytest.mark.parametrize("name", ["my report", "a(b", "f%20g", "Größe <1>", "c#d?"])
def test_a_page_of_markdown_finds_its_pictures(selion: Selion, tmp_path: Path, name: str):
    write(tmp_path / "out", "my-own", [header, row(), row(params={"ints": 2})])
    done = selion("report", "out", "-o", f"{name}.md")
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    links = [each.attrs["src"] for token in MarkdownIt().parse(text)
             for each in token.children or () if each.type == "image"]
    assert links and all((tmp_path / unquote(link)).is_file() for link in links)


@needs_module
def test_all_forms(selion: Selion, tmp_path: Path):
    write(tmp_path / "out", "s", [header, row(published=25.0), row(params={"ints": 2}, value=20.0)])
    for out in ("r.html", "r.md"):
        done = selion("report", "out", "-o", out)
        assert done.returncode == 0
        assert done.stdout.startswith(f"{out}: 1 study, 1 plot")
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert pictures and all((tmp_path / name).is_file() for name in pictures)
    assert "| 1 | 25 (published 25) |" in text
    pytest.importorskip("resvg_py")
    assert selion("report", "out", "--format", "png", "-o", "plots").returncode == 0
    made = sorted((tmp_path / "plots").glob("*.png"))
    assert len(made) >= 1 and made[0].read_bytes().startswith(b"\x89PNG")


class _Balance(HTMLParser):
    """Finds elements that are not closed, or closed twice."""

    empty = {"meta", "br", "path", "rect", "polyline", "input", "line", "circle"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.empty:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in self.empty:
            assert self.open.pop() == tag


@needs_module
def test_the_page_of_all_studies_is_well_formed_small_and_needs_nothing_else(tmp_path):
    for name in five:
        write(tmp_path, name, [header, *rows_of(studies()[name])])
    text = html(make(tmp_path))
    balance = _Balance()
    balance.feed(text)
    assert balance.open == []
    assert len(text.encode()) < 5_000_000
    outside = re.findall(r"(?:src|href)=\"(?!#)([^\"]*)\"|url\((?!#)", text)
    assert outside == []
    for name in five:
        assert f'<section class="study" id="{name}">' in text
