# SPDX-License-Identifier: Apache-2.0
"""Reads study.toml: the experiments of a study, their axes, metrics and machines."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selion.mistake import Failure, Mistake, listing, unknown
from selion.study import data
from selion.study.axes import Axis, Legal, Value, check_default_present, read_axis, read_legal


@dataclass(frozen=True)
class Condition:
    """Some values of some axes: what a metric's `when` and both halves of a rule say. A single
    value or a list names values; a table gives a range."""

    values: Mapping[str, Legal] = field(default_factory=dict)

    def holds(self, params: Mapping[str, Value]) -> bool:
        return all(legal.allows(params[name]) for name, legal in self.values.items())

    def __str__(self) -> str:
        return " and ".join(f"{name} is {legal}" for name, legal in self.values.items())


@dataclass(frozen=True)
class Rule:
    """Where `when` holds, a point is legal only if `then` holds."""

    when: Condition
    then: Condition

    def allows(self, params: Mapping[str, Value]) -> bool:
        return not self.when.holds(params) or self.then.holds(params)

    def __str__(self) -> str:
        return f"where {self.when}: {self.then}"


@dataclass(frozen=True)
class Metric:
    """A figure that an experiment yields.

    `when` says at which points it is due; `extra` names params that the program adds, so that one
    point yields several rows; `without` names axes over which it holds, so that its rows lack them:
    `when` names the value at which it is measured; `tolerance` is the relative error that counts as
    agreement; where it is `optional`, some machines cannot tell it.
    """

    name: str
    unit: str
    summary: str = ""
    when: Condition = Condition()
    extra: tuple[str, ...] = ()
    without: Mapping[str, Value] = field(default_factory=dict)
    tolerance: float | None = None
    optional: bool = False

    def is_due(self, params: Mapping[str, Value]) -> bool:
        """Whether a point's run yields it on every machine."""
        return not self.optional and self.when.holds(params)


@dataclass(frozen=True)
class Experiment:
    """One grid of points and the metrics measured at each; `data` is what its program reads;
    `point_seconds` is about what a point takes, to guess how long a run will; `of_simulation` says
    that it is about simulated machines alone."""

    name: str
    summary: str
    program: str
    data: str | None
    machines: tuple[str, ...]
    ranks: int | None
    machine_templates: Mapping[str, str]
    axes: Mapping[str, Axis]
    metrics: Mapping[str, Metric]
    rules: tuple[Rule, ...]
    point_seconds: float
    of_simulation: bool = False


@dataclass(frozen=True)
class Study:
    """A folder with a study.toml."""

    name: str
    title: str
    source: str
    folder: Path
    experiments: Mapping[str, Experiment]

    def experiment(self, name: str) -> Experiment:
        """@error Mistake if the study has none of that name; the sentence lists the legal ones."""
        if name not in self.experiments:
            raise unknown(name, f"an experiment of the study '{self.name}'", self.experiments)
        return self.experiments[name]


_study_keys = {
    "title",
    "source",
    "program",
    "machine",
    "ranks",
    "tolerance",
    "axis",
    "rule",
    "experiment",
}
_experiment_keys = {
    "summary",
    "program",
    "data",
    "machine",
    "ranks",
    "machine_template",
    "point_seconds",
    "axes",
    "axis",
    "metric",
    "rule",
    "of_simulation",
}
_metric_keys = {"unit", "summary", "when", "extra", "without", "tolerance", "optional"}


def _expect_keys(where: str, table: Any, legal: Iterable[str]) -> None:
    if not isinstance(table, dict):
        raise Mistake(f"{where} must be a table")
    unknown = sorted(set(table) - set(legal))
    if unknown:
        raise Mistake(f"{where} has the unknown key {unknown[0]}; legal: {listing(sorted(legal))}")


def _read_condition(where: str, table: Any, axes: Mapping[str, Axis]) -> Condition:
    _expect_keys(where, table, axes)
    values = {}
    for name, given in table.items():
        listed = given if isinstance(given, (list, dict)) else [given]
        values[name] = read_legal(name, axes[name].type, listed)
    return Condition(values)


def _read_without(where: str, names: Iterable[str], when: Condition) -> dict[str, Value]:
    """The axes that rows lack, and the value at which `when` has the metric measured."""
    values = {}
    for name in names:
        listed = when.values[name].listed if name in when.values else None
        if listed is None or len(listed) != 1:
            raise Mistake(f"{where}: without names '{name}', so when must give it one value")
        values[name] = listed[0]
    return values


def _read_metric(
    name: str, table: Any, axes: Mapping[str, Axis], tolerance: float | None
) -> Metric:
    where = f"metric '{name}'"
    _expect_keys(where, table, _metric_keys)
    if "unit" not in table:
        raise Mistake(f"{where}: unit is missing")
    when = _read_condition(f"{where}: when", table.get("when", {}), axes)
    return Metric(
        name,
        table["unit"],
        table.get("summary", ""),
        when,
        tuple(table.get("extra", ())),
        _read_without(where, table.get("without", ()), when),
        table.get("tolerance", tolerance),
        bool(table.get("optional", False)),
    )


def _read_rule(table: Any, axes: Mapping[str, Axis]) -> Rule:
    _expect_keys("rule", table, {"when", "then"})
    return Rule(
        _read_condition("rule: when", table.get("when", {}), axes),
        _read_condition("rule: then", table.get("then", {}), axes),
    )


def _read_axes(table: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Axis]:
    """The shared axes that an experiment names, then its own."""
    named, own = table.get("axes", []), table.get("axis", {})
    for name in named:
        if name not in shared and name in own:
            raise Mistake(f"axes names '{name}', which is the experiment's own; legal are the "
                          f"study's, {listing(shared)}: own ones stand behind them unnamed")
        if name not in shared:
            raise Mistake(f"axes names '{name}'; the study's own axes are {listing(shared)}")
    tables = {**{name: shared[name] for name in named}, **own}
    axes = {name: read_axis(name, content) for name, content in tables.items()}
    check_default_present(list(axes.values()))
    return axes


def _read_rules(study: Mapping[str, Any], own: Any, axes: Mapping[str, Axis]) -> tuple[Rule, ...]:
    """The study's rules that speak of this experiment's axes alone, and the experiment's own."""
    shared = [
        rule
        for rule in study.get("rule", [])
        if {*rule.get("when", {}), *rule.get("then", {})} <= axes.keys()
    ]
    return tuple(_read_rule(rule, axes) for rule in (*shared, *own))


def _read_seconds(given: Any) -> float:
    if not isinstance(given, (int, float)) or not 0 < given < math.inf:
        raise Mistake(f"point_seconds is {given!r}; legal is a number of more than 0")
    return float(given)


def _read_experiment(name: str, table: Any, study: Mapping[str, Any]) -> Experiment:
    _expect_keys(f"experiment '{name}'", table, _experiment_keys)
    shared = {key: study[key] for key in ("program", "machine", "ranks") if key in study}
    given = {**shared, **table}
    for key in ("program", "machine", "metric"):
        if not given.get(key):
            raise Mistake(f"experiment '{name}': {key} is missing")
    if given.get("data", data.names[0]) not in data.names:
        raise Mistake(f"experiment '{name}': data is '{given['data']}'; "
                      f"legal: {listing(data.names)}")
    axes = _read_axes(table, study.get("axis", {}))
    machines = given["machine"]
    return Experiment(
        name,
        given.get("summary", ""),
        given["program"],
        given.get("data"),
        tuple(machines) if isinstance(machines, list) else (machines,),
        given.get("ranks"),
        given.get("machine_template", {}),
        axes,
        {
            metric: _read_metric(metric, content, axes, study.get("tolerance"))
            for metric, content in given["metric"].items()
        },
        _read_rules(study, table.get("rule", ()), axes),
        _read_seconds(table.get("point_seconds", 0.02)),
        bool(table.get("of_simulation", False)),
    )


def read_study(folder: Path) -> Study:
    """The study that `folder`/study.toml describes.

    @error Failure if the file is malformed; the sentence names file and place.
    """
    path = folder / "study.toml"
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
        _expect_keys("the file", table, _study_keys)
        experiments = {
            name: _read_experiment(name, content, table)
            for name, content in table.get("experiment", {}).items()
        }
        if not experiments:
            raise Mistake("no experiment is declared")
    except (tomllib.TOMLDecodeError, Mistake) as problem:
        raise Failure(f"{path}: {problem}.") from None
    except OSError as problem:
        raise Failure(f"{path} cannot be read: {problem.strerror}.") from None
    return Study(folder.name, table.get("title", ""), table.get("source", ""), folder, experiments)


def names(folder: Path) -> list[str]:
    """The studies below a folder."""
    return [file.parent.name for file in sorted(folder.glob("*/study.toml"))]


def read_all(folder: Path) -> dict[str, Study]:
    """All studies below a folder, by name."""
    return {name: read_study(folder / name) for name in names(folder)}


def find(folder: Path, name: str) -> Study:
    """@error Mistake if there is no such study; the sentence lists the legal names."""
    legal = names(folder)
    if name not in legal:
        raise unknown(name, "a study", [*legal, "all"])
    return read_study(folder / name)
