# SPDX-License-Identifier: Apache-2.0
"""The line below a plot measures what the plot shows: no other points, and no other machines."""

from __future__ import annotations

import shlex

import pytest

from reporting import rows_of, studies
from selion.report.again import command_of
from selion.study import catalog
from selion.study.plan import Request, points


def asked(line: str) -> Request:
    """What such a line asks for."""
    words = shlex.split(line)
    assert words[:2] == ["selion", "study"]
    given: dict[str, list[str]] = {}
    rest = [word for word in words[3:] if word != "--quick"]
    for option, value in zip(rest[::2], rest[1::2], strict=True):
        given.setdefault(option, []).append(value)
    return Request(
        given["--experiment"][0],
        tuple(given.get("--set", ())),
        tuple(given.get("--machine", ())),
        int(given.get("--repetitions", ["1"])[0]),
        int(given.get("--seed", ["1"])[0]),
        "--quick" in words,
    )


def measured(study: catalog.Study, line: str, metric: str) -> set[tuple[str, str, str]]:
    """The points that a line measures a metric at."""
    return {point.identity for point in points(study, asked(line))
            if not point.obstacle and point.experiment.metrics[metric].when.holds(point.params)}


def line_of(study: catalog.Study, name: str, **request) -> str:
    """The line for the rows that a request of the experiment has."""
    wanted = Request(name, **request)
    rows = [{"experiment": name, "machine": point.machine, "params": dict(point.params),
             "metric": next(iter(point.experiment.metrics)), "value": 1.0, "repetition": number,
             "seed": wanted.seed}
            for point in points(study, wanted) for number in range(wanted.repetitions)]
    return command_of(study.name, name, study.experiments[name], rows)


@pytest.mark.parametrize(
    ("name", "experiment", "request_", "said"),
    [
        ("host", "latency", {}, ""),
        ("host", "latency", {"quick": True}, " --quick"),
        ("host", "latency",
         {"settings": ("op=put", "bytes=16,24"), "machines": ("processes:3",)},
         " --set op=put --set bytes=16,24 --machine processes:3"),
        ("host", "latency", {"settings": ("op=barrier",), "repetitions": 3, "seed": 7},
         " --set op=barrier --repetitions 3 --seed 7"),
        ("host", "latency", {"settings": ("op=put",), "machines": ("threads", "processes:2")},
         " --set op=put --machine threads --machine processes:2"),
        ("one-sided", "latency", {"machines": ("processes",)}, " --machine processes"),
        ("one-sided", "latency", {"machines": ("processes:2",)}, " --machine processes"),
        ("one-sided", "latency", {"machines": ("processes:4,direct=off",)},
         " --machine processes:4,direct=off"),
        ("one-sided", "latency", {"machines": ("sim:sp-lapi,loss=0.1",)},
         " --machine sim:sp-lapi,loss=0.1"),
        ("one-sided", "latency", {"machines": ("sim:sp-lapi,loss=0.1",),
                                  "settings": ("progress=interrupt",)},
         " --set progress=interrupt --machine sim:sp-lapi,loss=0.1"),
        ("mesh-broadcast", "larger-meshes", {"settings": ("side=4",)}, " --set side=4"),
        ("multicore-collectives", "threads-and-processes-host", {"machines": ("processes",)}, ""),
        ("multicore-collectives", "tree-shape", {"machines": ("threads:2@1",)},
         " --machine threads:2@1"),
    ],
)  # fmt: skip
def test_the_line_says_what_the_study_does_not_do_unasked(name, experiment, request_, said):
    line = line_of(studies()[name], experiment, **request_)
    assert line == f"selion study {name} --experiment {experiment}{said}"


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", sorted(studies()))
def test_the_line_measures_the_points_of_its_rows(name, quick):
    study = studies()[name]
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in rows_of(study, quick=quick):
        groups.setdefault((row["experiment"], row["metric"]), []).append(row)
    for (experiment, metric), rows in groups.items():
        found = study.experiments[experiment]
        wanted = {point.identity for point in points(study, Request(experiment, quick=quick))
                  if not point.obstacle and found.metrics[metric].when.holds(point.params)}
        line = command_of(name, experiment, found, rows)
        assert measured(study, line, metric) == wanted, line
        assert quick or "--" not in line.replace("--experiment", ""), line


@pytest.mark.parametrize("name", sorted(studies()))
def test_the_line_of_a_part_of_the_rows_measures_that_part(name):
    study = studies()[name]
    for found in study.experiments.values():
        metric = next(iter(found.metrics.values()))
        for axis in found.axes.values():
            own = [point for point in points(study, Request(found.name, quick=True))
                   if not point.obstacle and metric.when.holds(point.params)]
            if not own or axis.name in metric.without:
                continue
            value = own[-1].params[axis.name]
            part = [point for point in own if point.params[axis.name] == value]
            rows = [{"metric": metric.name, "machine": point.machine, "params": point.params}
                    for point in part]
            line = command_of(name, found.name, found, rows)
            assert {point.identity for point in part} <= measured(study, line, metric.name), line


def test_a_study_that_is_not_installed_has_a_line_with_whole_specs():
    rows = [{"metric": "m", "machine": "threads:4", "params": {"n": 1}}]
    assert command_of("own", "e", None, rows) == (
        "selion study own --experiment e --machine threads:4")


def test_each_seed_has_a_command_that_adds_to_the_first_one_s_rows():
    def rows(seed: int | None, repetitions: int = 1) -> list[dict]:
        return [{"metric": "latency_ns", "machine": "threads:2", "repetition": number,
                 "params": {"op": "put", "bytes": 8}, **({} if seed is None else {"seed": seed})}
                for number in range(repetitions)]

    def line(*groups: list[dict]) -> str:
        return command_of("host", "latency", None, [row for rows in groups for row in rows])

    usual = "selion study host --experiment latency --machine threads:2"
    assert line(rows(1), rows(None)) == usual
    assert line(rows(2), rows(1)) == f"{usual} && {usual} --seed 2 --resume"
    assert line(rows(3, 2), rows(2)) == (
        f"{usual} --seed 2 && {usual} --repetitions 2 --seed 3 --resume")


def test_values_that_the_study_has_no_more_are_told_all_the_same():
    rows = [{"metric": "latency_ns", "machine": "threads", "params": {"op": "swap", "bytes": 8}}]
    line = command_of("host", "latency", studies()["host"].experiments["latency"], rows)
    assert line == "selion study host --experiment latency --set op=swap --set bytes=8"
