# SPDX-License-Identifier: Apache-2.0
"""Which machine was asked for where a row's spec is such: params may have a part in specs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from selion import spec
from selion.mistake import Mistake
from selion.study import plan
from selion.study.catalog import Experiment
from selion.study.rows import Row


def params_of(experiment: Experiment, row: Row) -> dict[str, Any]:
    """The axes' values of a row's point."""
    metric = experiment.metrics.get(row["metric"])
    params = {**row["params"], **(metric.without if metric else {})}
    return {name: params[name] for name in experiment.axes if name in params}


def is_measured_on(experiment: Experiment, machines: Iterable[str], row: Row) -> bool:
    """Whether one of the machines, asked for at the row's point, is the row's."""
    params = params_of(experiment, row)
    return any(_becomes(experiment, machine, params, row["machine"]) for machine in machines)


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
    yield machine


def machine_asked_for(experiment: Experiment, row: Row) -> str | None:
    """The shortest spec that comes to the row's own at its point; None if none does, as of a row
    that another study.toml has had measured."""
    params, machine = params_of(experiment, row), str(row["machine"])
    return next((each for each in _candidates(experiment, machine)
                 if _becomes(experiment, each, params, machine)), None)
