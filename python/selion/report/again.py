# SPDX-License-Identifier: Apache-2.0
"""The line that measures rows again."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selion.mistake import Mistake
from selion.report.asked_for import machine_asked_for, params_of
from selion.report.select import seed_of
from selion.study import plan
from selion.study.axes import Axis, nothing
from selion.study.catalog import Experiment
from selion.study.plan import usual_seed
from selion.study.rows import Row

_Points = set[tuple[Any, ...]]


# --- machines -------------------------------------------------------------------------------------


def _machines(experiment: Experiment, rows: Sequence[Row]) -> list[str]:
    """Those to be named; none if they are the experiment's own."""
    asked = list(dict.fromkeys(machine_asked_for(experiment, row) or str(row["machine"])
                               for row in rows))
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
    points = [params_of(experiment, row) for row in rows]
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


def _by_seed(rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(seed_of(row), []).append(row)
    return dict(sorted(found.items()))


def _times(seed: int, rows: Sequence[Row]) -> list[str]:
    """How often and by which seed, where it is not the usual one."""
    most = max((row["repetition"] for row in rows if type(row.get("repetition")) is int), default=0)
    words = ["--repetitions", str(most + 1)] if most > 0 else []
    return words + (["--seed", str(seed)] if seed != usual_seed else [])


def command_of(study: str, name: str, experiment: Experiment | None, rows: Sequence[Row]) -> str:
    """The line that measures these rows again: their machines, the values of their axes, how often
    and by which seed, as far as all that is not what the study does unasked. Where rows have
    several seeds, it has a command for each, which add to the first one's rows.

    @param name the experiment's, which is None where the study is not installed.
    """
    commands: list[str] = []
    for seed, own in _by_seed(rows).items():
        words = ["selion", "study", study, "--experiment", name]
        if experiment is None:
            machines = list(dict.fromkeys(str(row["machine"]) for row in own))
        else:
            machines = _machines(experiment, own)
            words += _axis_words(experiment, own)
        for machine in machines:
            words += ["--machine", machine]
        words += _times(seed, own) + ["--resume"] * bool(commands)
        commands.append(shlex.join(words))
    return " && ".join(commands)
