# SPDX-License-Identifier: Apache-2.0
"""Reports of results that no study has written: they are told, left out, and end in no traceback,
and no file is written but where the report is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import Selion, needs_module
from reporting import header, make, write
from selion.mistake import Failure
from selion.report import markdown, pictures_of_plots
from selion.report.collect import collect
from selion.report.field_picture import draw_fields
from selion.report.page import html


def line(**changes: str) -> str:
    """A row as JSON; changes are JSON as well."""
    row = {"study": '"my-own"', "experiment": '"speed"', "machine": '"threads:2"', "ranks": "2",
           "params": '{"n": 1}', "metric": '"time"', "value": "25.0", "unit": '"us"',
           "repetition": "0", "seed": "1", **changes}  # fmt: skip
    return "{" + ", ".join(f'"{key}": {value}' for key, value in row.items()) + "}\n"


good = [line(), line(params='{"n": 2}', value="30")]
huge = "1" + "0" * 400
numbers = "numbers between -1e300 and 1e300"
of_values = f"is not legal; legal are text, {numbers}, and lists of them"
of_measures = f"is not legal; legal are {numbers}"
of_params = "is no row: its 'params', 'ranks', 'repetition', 'seed' are not all legal; legal are " \
    f"text and {numbers}"
of_studies = "is no row: its 'study' is no name of one; legal are letters, digits, '_', '-' and, " \
    "but for the beginning, '.'"
of_text = "is no text: it holds control characters or half a surrogate pair"


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        (line(value="1e999"), f"is no row: its 'value' {of_values}"),
        (line(value="-1e308"), f"is no row: its 'value' {of_values}"),
        (line(value=huge), f"is no row: its 'value' {of_values}"),
        (line(value="[1, 1e999]"), f"is no row: its 'value' {of_values}"),
        (line(value='{"a": 1}'), f"is no row: its 'value' {of_values}"),
        (line(published="1e308"), f"is no row: its 'published' {of_values}"),
        (line(p5='"x"'), f"is no row: its 'p5' {of_measures}"),
        (line(p95="true"), f"is no row: its 'p95' {of_measures}"),
        (line(p95="-1e999"), f"is no row: its 'p95' {of_measures}"),
        (line(params=f'{{"n": {huge}}}'), of_params),
        (line(params='{"n": 1e999}'), of_params),
        (line(params='{"n": [1]}'), of_params),
        (line(params='{"n": {"m": 1}}'), of_params),
        (line(ranks="[2]"), of_params),
        (line(repetition="{}"), of_params),
        (line(study='"../../escaped"'), of_studies),
        (line(study='"a/b"'), of_studies),
        (line(study='".hidden"'), of_studies),
        (line(study='""'), of_studies),
        (line(study='"a\\n"'), of_studies),
        (line(unit='"\\ud800"'), of_text),
        (line(params='{"\\u0001": 1}'), of_text),
        ("[" * 100_000 + "\n", "is not a JSON object"),
        (line(value="1" + "0" * 5000), "is not a JSON object"),
    ],
    ids=lambda text: text.strip()[-60:],
)
def test_what_no_study_writes_is_told_and_left_out(tmp_path, damaged, said):
    path = write(tmp_path, "s", [header, damaged, *good])
    report = make(tmp_path)
    assert report.notes == [f"{path}, line 2 {said}; left out."]
    assert [section.row_count for section in report.sections] == [2]
    html(report)


@pytest.mark.parametrize("number", ["1e299", "-1e299", "1e-299", "5e-324", "0", "-0.0",
                                    "100000000000000001", "1" + "0" * 299])
@pytest.mark.parametrize("others", [["1"], ["-1e299"], ["1e299", "9.9e298"]])
@pytest.mark.parametrize("is_value", [True, False])
def test_numbers_of_every_size_are_drawn(tmp_path, number, others, is_value):
    rows = [line(value=each, params=f'{{"n": {place}}}') if is_value else
            line(params=f'{{"n": {each}}}')
            for place, each in enumerate([number, *others], start=1)]
    write(tmp_path, "s", [header, *rows])
    report = make(tmp_path)
    assert report.notes == []
    html(report)
    markdown.text(report, Path("plots"))
    pictures_of_plots.write_svg(report, tmp_path / "plots")
    for picture in (tmp_path / "plots").iterdir():
        assert "nan" not in picture.read_text(encoding="utf-8")


def test_a_row_that_is_whole_but_damaged_is_not_called_cut_off(tmp_path):
    path = write(tmp_path, "s", [header, *good, line(value="1e999").rstrip()])
    assert collect([tmp_path]).notes == [f"{path}, line 4 is no row: its 'value' {of_values}; "
                                         "left out."]


@pytest.mark.parametrize(("before", "said"), [
    (good[:1], "line 1 comes before the header in line 2"),
    ([*good, "{}\n", line(params='{"n": 3}')], "lines 1 to 4 come before the header in line 5"),
])  # fmt: skip
def test_rows_before_a_header_are_not_taken_for_its_own(tmp_path, before, said):
    path = write(tmp_path, "s", [*before, header, line(params='{"n": 4}'), header])
    found = collect([tmp_path])
    assert f"{path}, {said}: nobody knows where such rows were measured." in found.notes
    origins = [row["origin"].host for row in found.studies["my-own"].rows]
    assert origins == [*[f"the host of {path}"] * (len(origins) - 1), "h"]
    html(make(tmp_path))
    path = write(tmp_path, "s", [*before, header])
    [section] = make(tmp_path).sections
    assert section.headers == [] and section.runs


def test_what_a_header_says_besides_text_is_not_shown(tmp_path):
    for number, odd in enumerate(([1, [2]], "\ud800", {"a": 1})):
        write(tmp_path, str(number), [{**header, "cpu": odd, "host": odd, "cores": odd}, *good])
    text = html(make(tmp_path))
    assert "a processor that nobody noted" in text and "surrogate" not in text


# --- where a report is written --------------------------------------------------------------------


@needs_module
@pytest.mark.parametrize("name", ["../../escaped", "a/b", "TMP/escaped"])
def test_no_file_is_written_outside_of_the_report(selion: Selion, tmp_path: Path, name: str):
    name = name.replace("TMP", str(tmp_path))
    write(tmp_path / "in" / "out", "s", [header, line(study=json.dumps(name)), *good])
    before = set(tmp_path.rglob("*"))
    done = selion("report", "in/out", "-o", "in/r.md")
    assert done.returncode == 0 and "line 2 is no row: its 'study' is no name" in done.stderr
    made = {path.relative_to(tmp_path) for path in set(tmp_path.rglob("*")) - before}
    assert {str(path) for path in made} == {"in/r.md", "in/r-plots", "in/r-plots/my-own-01.svg"}


@needs_module
@pytest.mark.parametrize(("form", "place"), [("md", "r-plots/my-own-01.svg"), ("md", "r.md"),
                                             ("html", "r.html"), ("png", "r/my-own-01.png")])
def test_a_file_that_cannot_be_written_is_told_in_a_sentence(selion: Selion, tmp_path: Path, form,
                                                            place):
    if form == "png":
        pytest.importorskip("resvg_py")
    write(tmp_path / "out", "s", [header, *good])
    (tmp_path / place).mkdir(parents=True)
    out = "r" if form == "png" else f"r.{form}"
    done = selion("report", "out", "--format", form, "-o", out)
    assert done.returncode == 1
    assert done.stderr == f"selion report: {place} cannot be written: Is a directory.\n"


def test_a_name_that_is_too_long_for_a_file_is_told(tmp_path):
    write(tmp_path, "s", [header, *(line(study=json.dumps("a" * 300)) for _ in range(2)),
                          line(study=json.dumps("a" * 300), params='{"n": 2}')])
    with pytest.raises(Failure, match="a-01.svg cannot be written: File name too long[.]"):
        pictures_of_plots.write_svg(make(tmp_path), tmp_path / "plots")


# --- the object -----------------------------------------------------------------------------------


field: dict[str, Any] = {
    "program": "em3d", "format": 1, "mesh": "a.mesh", "iterations": 3,
    "vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "faces": [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]], "magnetic": [1, 2, -3, 0.5],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"iterations": float("inf")}, "lacks a part, or has a malformed one"),
        ({"magnetic": [10**400, 0, 0, 0]}, "lacks a part, or has a malformed one"),
        ({"magnetic": 3}, "has vertices, faces and values that do not belong together"),
        ({"magnetic": [1e308, 0, 0, 0]}, r"has numbers that are not below 1e\+100"),
        ({"vertices": [[1e308, 0, 0], *field["vertices"][1:]]}, "has numbers that are not below"),
        ({"faces": [[0, 1], [0], [0, 1, 2], [0, 1, 2]]}, "or with less than 3 corners"),
        ("[" * 100_000, "is not JSON"),
    ],
    ids=lambda each: str(each)[:40],
)
def test_a_field_that_no_program_writes_is_not_drawn(tmp_path, change, said):
    path = tmp_path / "field.json"
    path.write_text(change if isinstance(change, str) else json.dumps({**field, **change}),
                    encoding="utf-8")
    pictures, [note] = draw_fields([path])
    assert pictures == [] and note.startswith(f"{path} ") and note.endswith("; not drawn.")
    assert re.search(said, note)


def test_a_field_is_drawn(tmp_path):
    (tmp_path / "field.json").write_text(json.dumps(field), encoding="utf-8")
    [picture], notes = draw_fields([tmp_path / "field.json"])
    assert picture.title == "a.mesh after 3 iterations" and notes == []
