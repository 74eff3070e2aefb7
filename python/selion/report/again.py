# SPDX-License-Identifier: Apache-2.0
"""The line that measures rows again."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selion import spec
from selion.mistake import Mistake
from selion.study import plan
from selion.study.axes import Axis, nothing
from selion.study.catalog import Experiment
from selion.study.rows import Row

_Points = set[tuple[Any, ...]]


def _params_of(experiment: Experiment, row: Row) -> dict[str, Any]:
    """The axes' values of a row's point."""
    metric = experiment.metrics.get(row["metric"])
    params = {**row["params"], **(metric.without if metric else {})}
    return {name: params[name] for name in experiment.axes if name in params}


# --- machines -------------------------------------------------------------------------------------


def _becomes(experiment: Experiment, machine: str, params: Mapping[str, Any], wanted: str) -> bool:
    """Whether a machine that is asked for is `wanted` at a point."""
    with contextlib.suppress(Mistake, KeyError, ValueError, IndexError):  # of another study.toml
        return plan.machine_for(experiment, machine, params) == wanted
    return False


def _candidates(experiment: Experiment, machine: str) -> Iterable[str]:
    """What may have been asked for where a row's machine is such."""
    yield from experiment.machines
    found = spec.parse(machine)
    yield found.kind
    if "ranks" in experiment.axes and found.kind != "sim":
        carriers = found.shape.partition("@")[2]
        shape = f"@{carriers}" if carriers else ""
        yield str(spec.Spec(found.kind, shape, found.options))
    template = plan.template_for(experiment, found.kind) or ""
    before, _, after = template.partition("{machine}")
    if not before and after.startswith(","):  # what the params add, at the end
        yield ",".join(machine.split(",")[:-after.count(",")])


def _asked(experiment: Experiment, row: Row) -> str:
    """The shortest spec that comes to the row's own at its point."""
    params, machine = _params_of(experiment, row), str(row["machine"])
    return next((each for each in _candidates(experiment, machine)
                 if _becomes(experiment, each, params, machine)), machine)


def _machines(experiment: Experiment, rows: Sequence[Row]) -> list[str]:
    """Those to be named; none if they are the experiment's own."""
    asked = list(dict.fromkeys(_asked(experiment, row) for row in rows))
    return [] if set(asked) == set(experiment.machines) else asked


# --- values of axes -------------------------------------------------------------------------------


def _values(axis: Axis, points: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Those that the points have, as the axis lists them, then the rest as found."""
    found = dict.fromkeys(each[axis.name] for each in points if axis.name in each)
    if axis.of_simulation:
        found.pop(nothing, None)
    usual = [value for value in axis.default if value in found]
    return usual + [value for value in found if value not in usual]


def _points(experiment: Experiment, settings: Mapping[str, str], metrics: set[str],
            quick: bool = False) -> _Points:
    """Those with such settings at which one of the metrics is measured.

    @error Mistake if a value is not legal, or if there is no such point.
    """
    conditions = [experiment.metrics[name].when for name in metrics if name in experiment.metrics]
    found = {tuple(params.values()) for params in plan.grid(experiment, settings, quick)
             if any(condition.holds(params) for condition in conditions)}
    if not found:
        raise Mistake("nothing is measured there")
    return found


def _axis_words(experiment: Experiment, rows: Sequence[Row]) -> list[str]:
    """--set for each axis whose values are not the usual ones, or --quick where it says the same;
    nothing for those that the others and the rules settle."""
    points = [_params_of(experiment, row) for row in rows]
    values = {name: _values(axis, points) for name, axis in experiment.axes.items()}
    settings = {name: ",".join(map(experiment.axes[name].text_of, found))
                for name, found in values.items()
                if found and set(found) != set(experiment.axes[name].default)}
    metrics = {row["metric"] for row in rows}

    def say_the_same(others: Mapping[str, str], quick: bool = False) -> bool:
        with contextlib.suppress(Mistake):  # of values that are legal no more each is told
            wanted = _points(experiment, settings, metrics)
            return _points(experiment, others, metrics, quick) == wanted
        return False

    if settings and say_the_same({}, quick=True) and not say_the_same({}):
        return ["--quick"]
    for name in reversed(list(settings)):
        rest = {key: text for key, text in settings.items() if key != name}
        if say_the_same(rest):
            settings = rest
    return [word for name, text in settings.items() for word in ("--set", f"{name}={text}")]


# --- the line -------------------------------------------------------------------------------------


def _times(rows: Sequence[Row]) -> list[str]:
    """How often and by which seed, where it is not the usual one."""
    def numbers(key: str) -> set[int]:
        return {row[key] for row in rows if type(row.get(key)) is int}

    most = max(numbers("repetition"), default=0)
    seeds = numbers("seed") - {1}
    words = ["--repetitions", str(most + 1)] if most > 0 else []
    return words + (["--seed", str(*seeds)] if len(seeds) == 1 else [])


def command_of(study: str, name: str, experiment: Experiment | None, rows: Sequence[Row]) -> str:
    """The line that measures these rows again: their machines, the values of their axes, how often
    and by which seed, as far as all that is not what the study does unasked.

    @param name the experiment's, which is None where the study is not installed.
    """
    words = ["selion", "study", study, "--experiment", name]
    if experiment is None:
        machines = list(dict.fromkeys(str(row["machine"]) for row in rows))
    else:
        machines = _machines(experiment, rows)
        words += _axis_words(experiment, rows)
    for machine in machines:
        words += ["--machine", machine]
    return shlex.join(words + _times(rows))
