# SPDX-License-Identifier: Apache-2.0
"""Holds the names in a study's report.toml against its study.toml, so that none is misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selion.mistake import Failure, Mistake, unknown
from selion.report.contents import (
    Conclusion,
    Contents,
    PicturePlan,
    PlotPlan,
    Value,
    everything,
    read_contents,
)
from selion.study.catalog import Experiment, Metric, Study
from selion.study.published import keys_of


def _experiment(study: Study, where: str, name: object) -> Experiment:
    found = study.experiments.get(str(name))
    if found is None:
        raise Mistake(f"{where}: {unknown(str(name), 'an experiment', study.experiments)}")
    return found


def _metrics(experiment: Experiment, where: str, names: Iterable[object]) -> list[Metric]:
    for name in names:
        if name not in experiment.metrics:
            what = f"a metric of the experiment '{experiment.name}'"
            raise Mistake(f"{where}: {unknown(str(name), what, experiment.metrics)}")
    return [experiment.metrics[str(name)] for name in names]


def _check_keys(experiment: Experiment, metrics: Sequence[Metric],
                named: Mapping[str, Iterable[object]]) -> None:
    """@param named keys of rows, by where they stand."""
    legal = dict.fromkeys(key for metric in metrics for key in keys_of(experiment, metric))
    for where, keys in named.items():
        for key in keys:
            if key not in [*legal, *everything]:
                what = f"a param of the experiment '{experiment.name}'"
                raise Mistake(f"{where}: {unknown(str(key), what, [*legal, *everything])}")


def _check_values(experiment: Experiment, where: str,
                  choices: Mapping[str, Iterable[Any]]) -> None:
    """@param choices values of keys that have been checked."""
    for key, values in choices.items():
        for value in values:
            try:
                if key == "metric":
                    _metrics(experiment, key, [value])
                elif key in experiment.axes:
                    experiment.axes[key].check(value)
            except Mistake as problem:
                raise Mistake(f"{where}: {problem}") from None


def _check_plot(study: Study, plan: PlotPlan) -> None:
    where = f"plot '{plan.title}'"
    experiment = _experiment(study, f"{where}, experiment", plan.experiment)
    metrics = _metrics(experiment, f"{where}, metric", plan.metrics)
    _check_keys(experiment, metrics, {
        f"{where}, x": [plan.x], f"{where}, series": plan.series, f"{where}, panels": plan.panels,
        f"{where}, where": plan.where})
    _check_values(experiment, f"{where}, where", plan.where)


def _check_value(study: Study, where: str, value: Value) -> None:
    experiment = _experiment(study, f"{where}, experiment", value.experiment)
    metrics = _metrics(experiment, f"{where}, metric", [value.metric])
    _check_keys(experiment, metrics, {f"{where}, where": value.where})
    _check_values(experiment, f"{where}, where",
                  {key: [each] for key, each in value.where.items()})
    if value.over is not None:
        _check_value(study, f"{where}, over", value.over)


def _check_conclusion(study: Study, conclusion: Conclusion) -> None:
    for name, value in conclusion.values.items():
        _check_value(study, f"conclusion, {name}", value)


def _check_picture(study: Study, plan: PicturePlan) -> None:
    if plan.kind != "links":
        return
    where = f"picture '{plan.title}'"
    experiment = _experiment(study, f"{where}, experiment", plan.experiment)
    metrics = list(experiment.metrics.values())
    _check_keys(experiment, metrics, {f"{where}, where": plan.where})
    _check_values(experiment, f"{where}, where", plan.where)


def contents_of(study: Study) -> Contents:
    """What a study wants to show, in names that it has.

    @error Failure if its report.toml is malformed, or names an experiment, a metric, a param or a
    value that the study has not; the sentence names file and place, and the legal names.
    """
    contents = read_contents(study.folder)
    try:
        if contents.conclusion is not None:
            _check_conclusion(study, contents.conclusion)
        for plot in contents.plots:
            _check_plot(study, plot)
        for picture in contents.pictures:
            _check_picture(study, picture)
    except Mistake as problem:
        raise Failure(f"{study.folder / 'report.toml'}: {problem}") from None
    return contents
