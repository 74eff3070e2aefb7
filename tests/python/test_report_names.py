# SPDX-License-Identifier: Apache-2.0
"""report.toml: a name or value that its study has not ends the report, with the legal ones."""

from __future__ import annotations

import textwrap

import pytest

from reporting import studies
from selion.report.names import contents_of

_sound = """
    [conclusion]
    source = "s"
    answer = "{gain:.1f}"
    [conclusion.values.gain]
    experiment = 'speed'
    metric = 'count'
    where = { op = "put" }
    over = { where = { op = "get", bytes = 8 } }

    [[plot]]
    title = "T"
    experiment = "speed"
    metric = ["latency_ns", "count"]
    x = "bytes"
    series = ["op", "metric"]
    panels = ["machine"]
    where = { op = ["put", "get"], machine = "threads" }

    [[picture]]
    title = "P"
    kind = "links"
    experiment = "links"
    where = { bytes = 8, from = 0 }
"""


def show(fake, text: str) -> None:
    path = fake.published.parent / "report.toml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")


@pytest.mark.parametrize(
    ("sound", "misspelt", "said"),
    [
        ('experiment = "speed"\n', 'experiment = "sped"\n',
         "plot 'T', experiment: 'sped' is not an experiment (did you mean 'speed'?); "
         "legal: speed, links."),
        ('["latency_ns", "count"]', '["latency_us", "count"]',
         "plot 'T', metric: 'latency_us' is not a metric of the experiment 'speed' (did you mean "
         "'latency_ns'?); legal: latency_ns, count."),
        ('x = "bytes"', 'x = "byts"',
         "plot 'T', x: 'byts' is not a param of the experiment 'speed' (did you mean 'bytes'?); "
         "legal: op, bytes, machine, metric."),
        ('series = ["op", "metric"]', 'series = ["opp", "metric"]',
         "plot 'T', series: 'opp' is not a param of the experiment 'speed' (did you mean 'op'?); "
         "legal: op, bytes, machine, metric."),
        ('panels = ["machine"]', 'panels = "machin"',
         "plot 'T', panels: 'machin' is not a param of the experiment 'speed' (did you mean "
         "'machine'?); legal: op, bytes, machine, metric."),
        ('where = { op = ["put", "get"],', 'where = { opp = ["put", "get"],',
         "plot 'T', where: 'opp' is not a param of"),
        ('where = { op = ["put", "get"],', 'where = { op = ["put", "gett"],',
         "plot 'T', where: 'gett' is not a legal value of 'op' (did you mean 'get'?); "
         "legal: put, get, barrier."),
        ('where = { op = ["put", "get"], machine = "threads" }', "where = 3",
         "plot 'T': where must be a table."),
        ('where = { bytes = 8, from = 0 }', 'where = { bytes = 8, form = 0 }',
         "picture 'P', where: 'form' is not a param of the experiment 'links' (did you mean "
         "'from'?); legal: bytes, from, to, machine, metric."),
        ('experiment = "links"', 'experiment = "link"',
         "picture 'P', experiment: 'link' is not an experiment (did you mean 'links'?)"),
        ("experiment = 'speed'", "experiment = 'spee'",
         "conclusion, gain, experiment: 'spee' is not an experiment"),
        ("metric = 'count'", "metric = 'cout'",
         "conclusion, gain, metric: 'cout' is not a metric"),
        ('where = { op = "put" }', 'where = { pp = "put" }',
         "conclusion, gain, where: 'pp' is not a param"),
        ("bytes = 8 } }", 'bytes = "8" } }',
         "conclusion, gain, over, where: '8' is not a legal value of 'bytes'"),
    ],
)  # fmt: skip
def test_a_name_that_the_study_has_not_ends_the_report(fake, selion, sound, misspelt, said):
    fake.run("--experiment", "speed")
    assert _sound.count(sound) == 1
    show(fake, _sound.replace(sound, misspelt))
    done = selion("report", **fake.environment())
    assert (done.returncode, done.stdout) == (1, "")
    path = fake.published.parent / "report.toml"
    assert done.stderr.startswith(f"selion report: {path}: {said}")
    assert not (fake.folder / "report.html").exists()


def test_sound_names_make_their_plot(fake, selion):
    fake.run("--experiment", "speed")
    show(fake, _sound)
    done = selion("report", **fake.environment())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("report.html: 1 study, 1 plot,")


@pytest.mark.parametrize("name", sorted(studies()))
def test_all_names_of_a_study_are_its_own(name):
    contents_of(studies()[name])


def test_an_axis_over_which_a_metric_holds_is_none_of_its_rows(fake, selion):
    with (fake.published.parent / "study.toml").open("a") as study:
        study.write('[experiment.speed.metric.best]\nunit = "1"\nwithout = ["bytes"]\n'
                    'when = { bytes = 8 }\noptional = true\n')
    fake.run("--experiment", "speed")
    show(fake, '[[plot]]\ntitle = "T"\nexperiment = "speed"\nmetric = "best"\nx = "bytes"\n')
    done = selion("report", **fake.environment())
    assert done.returncode == 1 and "'bytes' is not a param" in done.stderr, done.stderr
