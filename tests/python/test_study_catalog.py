# SPDX-License-Identifier: Apache-2.0
"""study.toml and published.csv: what is wrong with a file is said with its name and place."""

from __future__ import annotations

import pytest

from selion.mistake import Failure, Mistake
from selion.study import catalog, plan
from selion.study.published import Published

_metric = "[experiment.e.metric.m]\nunit = 'ns'\n"
_axis = "[experiment.e.axis.n]\ntype = 'int'\ndefault = 1\nlegal = 'any'\n"
_head = "program = 'p'\nmachine = 'threads'\n"


def read(tmp_path, text: str) -> catalog.Study:
    (tmp_path / "study.toml").write_text(text)
    return catalog.read_study(tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no experiment is declared"),
        ("a = [", "Invalid value"),
        ("colour = 1\n", "the file has the unknown key colour"),
        (_head + "[experiment.e]\n", "experiment 'e': metric is missing"),
        (_metric, "experiment 'e': program is missing"),
        (_head + _metric + _axis.replace("int", "real"), "axis 'n': type is 'real'"),
        (_head + _metric + _axis.replace("default = 1", ""), "axis 'n': default is missing"),
        (
            _head + _metric + _axis.replace("= 1", "= 'one'"),
            "axis 'n': default has the value 'one'",
        ),
        (_head + _metric + _axis.replace("= 1", "= []"), "need at least one value"),
        (_head + _metric + _axis.replace("'any'", "[2, 3]"), "1 is not among its own legal values"),
        (_head + _metric + _axis.replace("'any'", "{ least = 2 }"), "legal values must be"),
        (_head + _metric + "when = { k = 1 }\n", "metric 'm': when has the unknown key k"),
        (_head + _axis + _metric + "without = ['n']\n", "so when must give it one value"),
        (
            _head + _axis + _metric + "without = ['n']\nwhen = { n = [1, 2] }\n",
            "without names 'n', so when must give it one value",
        ),
        (_head + _metric + "[experiment.e]\naxes = ['n']\n", "axes names 'n'; the study's own"),
        (
            _head + _axis + _metric + "[experiment.e]\naxes = ['n']\n",
            "axes names 'n', which is the experiment's own; legal are the study's, none",
        ),
        (_head + "[experiment.e.metric.m]\n", "metric 'm': unit is missing"),
    ],
)
def test_a_malformed_study(tmp_path, text, complaint):
    with pytest.raises(Failure) as raised:
        read(tmp_path, text)
    assert complaint in str(raised.value)
    assert str(tmp_path / "study.toml") in str(raised.value)


def one_experiment(tmp_path, text: str) -> catalog.Study:
    return read(tmp_path, _head + _metric + text)


def values_of(study: catalog.Study, *settings: str) -> list[dict]:
    found = plan.points(study, plan.Request(settings=settings))
    return [dict(point.params) for point in found]


@pytest.mark.parametrize(
    ("kind", "legal", "text", "value"),
    [
        ("int", "'any'", "-7", -7),
        ("float", "{ min = 0 }", "0.25", 0.25),
        ("float", "{ min = 0 }", "2", 2.0),
        ("bool", "'any'", "true", True),
        ("bool", "'any'", "no", False),
        ("string", "'any'", "free text", "free text"),
        ("int", "{ multiple_of = 8 }", "24", 24),
    ],
)
def test_values_have_their_type(tmp_path, kind, legal, text, value):
    default = {"int": "8", "float": "1.0", "bool": "true", "string": "'s'"}[kind]
    axis = f"[experiment.e.axis.n]\ntype = '{kind}'\ndefault = {default}\nlegal = {legal}\n"
    found = values_of(one_experiment(tmp_path, axis), f"n={text}")
    assert found == [{"n": value}]
    assert type(found[0]["n"]) is type(value)


@pytest.mark.parametrize(
    ("kind", "legal", "text"),
    [
        ("int", "{ multiple_of = 8 }", "12"),
        ("float", "'any'", "inf"),
        ("float", "'any'", "nan"),
        ("bool", "'any'", "maybe"),
        ("int", "'any'", "true"),
        ("int", "'any'", "4K"),
    ],
)
def test_values_that_are_not_legal(tmp_path, kind, legal, text):
    default = {"int": "8", "float": "1.0", "bool": "true"}[kind]
    axis = f"[experiment.e.axis.n]\ntype = '{kind}'\ndefault = {default}\nlegal = {legal}\n"
    with pytest.raises(Mistake, match="is not a legal value of 'n'; legal: "):
        values_of(one_experiment(tmp_path, axis), f"n={text}")


def test_bytes_take_binary_units(tmp_path):
    study = one_experiment(tmp_path, _axis + "unit = 'bytes'\n")
    assert values_of(study, "n=1,4K,2M") == [{"n": 1}, {"n": 4096}, {"n": 2 << 20}]


def test_a_value_given_twice_is_one_point(tmp_path):
    assert values_of(one_experiment(tmp_path, _axis), "n=3,3,2") == [{"n": 3}, {"n": 2}]


_two_axes = """
[experiment.e.axis.processes]
type = "int"
default = [1, 4]
legal = "any"
[experiment.e.axis.threads]
type = "int"
default = [1, 4]
legal = "any"
"""


def test_rules_leave_points_out(tmp_path):
    rule = "[[experiment.e.rule]]\nwhen = { processes = 4 }\nthen = { threads = { max = 1 } }\n"
    study = one_experiment(tmp_path, _two_axes + rule)
    assert {"processes": 4, "threads": 4} not in values_of(study)
    assert len(values_of(study)) == 3


@pytest.mark.parametrize(
    ("experiment", "machine", "params", "spec"),
    [
        ("ranks = 8", "threads", {}, "threads:8"),
        ("ranks = 8", "threads:2", {}, "threads:2"),
        ("ranks = 8", "threads,direct=off", {}, "threads:8,direct=off"),
        ("ranks = 8", "sim:mesh", {}, "sim:mesh"),
        ("ranks = 8\nmachine_template = { '*' = '{machine},p={p}' }", "threads", {"p": 1},
         "threads:8,p=1"),
        ("ranks = 8\nmachine_template = { '*' = '{machine},p={p}' }", "threads:2", {"p": 1},
         "threads:2,p=1"),
        ("ranks = 8\nmachine_template = { '*' = '{machine},p={p}' }", "sim:mesh", {"p": 1},
         "sim:mesh,p=1"),
        ("", "threads", {}, "threads"),
        ("", "processes", {"ranks": 4}, "processes:4"),
        (
            "machine_template = { sim = '{machine},p={processes}', '*' = 'processes:{processes}' }",
            "processes",
            {"processes": 2},
            "processes:2",
        ),
        (
            "machine_template = { sim = '{machine},p={processes}', '*' = 'processes:{processes}' }",
            "sim:mesh",
            {"processes": 2},
            "sim:mesh,p=2",
        ),
    ],
)
def test_the_machine_of_a_point(tmp_path, experiment, machine, params, spec):
    study = read(tmp_path, f"{_head}[experiment.e]\n{experiment}\n{_metric}")
    assert plan.machine_for(study.experiments["e"], machine, params) == spec


def test_a_rank_count_that_contradicts_the_machine(tmp_path):
    study = one_experiment(tmp_path, "")
    with pytest.raises(Mistake, match="has 2 ranks"):
        plan.machine_for(study.experiments["e"], "threads:2", {"ranks": 4})


# --- published figures ----------------------------------------------------------------------------

_csv_head = "study,experiment,params,metric,value,unit\n"


def published(tmp_path, *lines: str) -> Published:
    study = one_experiment(tmp_path, _two_axes)
    text = _csv_head + "".join(f"{tmp_path.name},e,{line}\n" for line in lines)
    (tmp_path / "published.csv").write_text(text)
    return Published(study)


def test_figures_keep_their_type(tmp_path):
    figures = published(
        tmp_path,
        '"{""processes"": 1, ""threads"": 1}",m,66048,ns',
        '"{""processes"": 1, ""threads"": 2}",m,97.28,ns',
        '"{""processes"": 1, ""threads"": 3}",m,"[-1, 0]",ns',
        '"{""processes"": 1, ""threads"": 4}",m,text,ns',
        '"{""processes"": 1, ""threads"": 5}",m,NaN,ns',
        '"{""processes"": 1, ""threads"": 6}",m,1e999,ns',
    )
    values = [66048, 97.28, [-1, 0], "text", "NaN", "1e999"]
    assert [cell.value for cell in figures.cells] == values


def test_a_figure_is_found_by_its_params(tmp_path):
    figures = published(tmp_path, '"{""processes"": 8, ""threads"": 2.0}",m,5,ns')
    experiment = read(tmp_path, _head + _metric + _two_axes).experiments["e"]
    assert figures.find(experiment, "m", {"threads": 2, "processes": 8}).value == 5
    assert figures.find(experiment, "m", {"threads": 2, "processes": 4}) is None
    assert figures.find(experiment, "other", {"threads": 2, "processes": 8}) is None


def test_a_figure_holds_for_the_one_default_of_an_axis_that_it_lacks(tmp_path):
    fixed = "[experiment.e.axis.base]\ntype = 'int'\ndefault = 112\nlegal = 'any'\n"
    figures = published(tmp_path, '"{""processes"": 8, ""threads"": 2}",m,5,ns')
    experiment = read(tmp_path, _head + _metric + _two_axes + fixed).experiments["e"]
    params = {"threads": 2, "processes": 8}
    assert figures.find(experiment, "m", {**params, "base": 112}).value == 5
    assert figures.find(experiment, "m", {**params, "base": 0}) is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{not json},m,5,ns", "line 2: params is not JSON"),
        ("7,m,5,ns", "line 2: params is 7; legal is a JSON object"),
        ('"{}",m,5', "line 2: the columns must be"),
        ('"{}",m,5,ns,more', "line 2: the columns must be"),
    ],
)
def test_a_malformed_figure(tmp_path, line, complaint):
    with pytest.raises(Failure, match=complaint):
        published(tmp_path, line)


def test_a_malformed_head(tmp_path):
    study = one_experiment(tmp_path, "")
    (tmp_path / "published.csv").write_text("study,params\n")
    with pytest.raises(Failure, match="the first line must be study,experiment"):
        Published(study)
