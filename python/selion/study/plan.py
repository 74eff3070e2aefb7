# SPDX-License-Identifier: Apache-2.0
"""Which points a run has: the product of the axes, cut down by the rules, on each machine."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from selion import known_machines, spec
from selion.mistake import Failure, Mistake, listing, unknown
from selion.study.axes import Axis, Value, nothing
from selion.study.catalog import Experiment, Study


usual_seed = 1


@dataclass(frozen=True)
class Request:
    """What the user asked for; empty fields mean the study's own choice."""

    experiment: str | None = None
    settings: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    repetitions: int = 1
    seed: int = usual_seed
    quick: bool = False


@dataclass(frozen=True)
class Point:
    """One run of a study's program."""

    study: str
    experiment: Experiment
    machine: str
    params: Mapping[str, Value]
    #: Why the machine asked for cannot have this point; empty where it can.
    obstacle: str = ""
    #: Whether that is because no such machine can be had.
    is_refused: bool = False

    @property
    def label(self) -> str:
        params = " ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.study} {self.experiment.name} {params}"

    @property
    def identity(self) -> tuple[str, str, str]:
        return (self.experiment.name, self.machine, canonical(self.params))


def canonical(params: Mapping[str, object]) -> str:
    """Equal text for equal params: sorted keys, and 8.0 written as 8."""
    plain = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in params.items()
    }
    return json.dumps(plain, sort_keys=True)


def split_settings(settings: Sequence[str]) -> dict[str, str]:
    """@error Mistake for anything but key=value[,value…], and for a key given twice."""
    split: dict[str, str] = {}
    for setting in settings:
        key, equals, values = setting.partition("=")
        if not key or not equals or not values:
            raise Mistake(f"'{setting}' is not a legal --set; legal: key=value[,value...].")
        if key in split:
            raise Mistake(f"--set names '{key}' twice; give its values in one list: {key}=a,b.")
        split[key] = values
    return split


def check_keys(studies: Sequence[Study], request: Request) -> None:
    """@error Mistake if a key of --set is an axis of none of the experiments asked for."""
    experiments = [each for study in studies for each in chosen_experiments(study, request)]
    legal = dict.fromkeys(name for experiment in experiments for name in experiment.axes)
    for key in split_settings(request.settings):
        if key not in legal:
            where = "experiments" if request.experiment is None \
                else f"experiment '{request.experiment}'"
            raise unknown(key, f"an axis of the {where}", legal)


def chosen_experiments(study: Study, request: Request) -> list[Experiment]:
    if request.experiment is not None:
        return [study.experiment(request.experiment)]
    return list(study.experiments.values())


def _values(axis: Axis, settings: Mapping[str, str], quick: bool) -> tuple[Value, ...]:
    if axis.name in settings:
        return axis.parse_list(settings[axis.name])
    return axis.quick if quick else axis.default


def grid(
    experiment: Experiment, settings: Mapping[str, str], quick: bool
) -> list[dict[str, Value]]:
    """The legal points of an experiment. @param settings values of axes in place of their own.

    @error Mistake if a value is not legal, or if there is no such point.
    """
    values = [_values(axis, settings, quick) for axis in experiment.axes.values()]
    product = [
        dict(zip(experiment.axes, combination, strict=True))
        for combination in itertools.product(*values)
    ]
    legal = [params for params in product if all(rule.allows(params) for rule in experiment.rules)]
    if not legal:
        broken = [
            str(rule)
            for rule in experiment.rules
            if not any(rule.allows(params) for params in product)
        ] or [str(rule) for rule in experiment.rules]
        raise Mistake(
            f"The experiment '{experiment.name}' has no point with these values; "
            f"legal: {'; '.join(broken)}."
        )
    return legal


def template_for(experiment: Experiment, kind: str) -> str | None:
    """How the experiment's machines of a kind follow from params, if they do."""
    return experiment.machine_templates.get(kind, experiment.machine_templates.get("*"))


def _uses(experiment: Experiment, machine: str) -> bool:
    """Whether a machine that the user names has a part in the experiment's machines: all of it, or
    its kind where that is all that it says."""
    kind = spec.parse(machine).kind
    template = template_for(experiment, kind)
    is_kind_alone = machine == kind and kind in experiment.machine_templates
    return template is None or "{machine}" in template or is_kind_alone


def _check_machines(experiment: Experiment, request: Request) -> None:
    """@error Mistake if a machine has no part in the one experiment that is asked for."""
    for machine in request.machines:
        if not _uses(experiment, machine):
            kind = spec.parse(machine).kind
            legal = f", or write '{kind}'" if kind in experiment.machine_templates else ""
            raise Mistake(
                f"The axes of the experiment '{experiment.name}' say what its machines are, and "
                f"'{machine}' has no part in that; leave it out{legal}."
            )


def unused_machines(study: Study, request: Request) -> list[str]:
    """A sentence for each experiment in whose machines some that the user names have no part."""
    sentences = []
    for experiment in chosen_experiments(study, request):
        unused = dict.fromkeys(each for each in request.machines if not _uses(experiment, each))
        if unused:
            sentences.append(
                f"{study.name} {experiment.name}: its axes say what its machines are; these have "
                f"no part in that: {listing(unused)}."
            )
    return sentences


def machine_for(experiment: Experiment, machine: str, params: Mapping[str, Value]) -> str:
    """The complete spec for a point: with the rank count of the study where the spec leaves it
    open, in the experiment's template for that kind of machine; without a template, with the rank
    count of the point's `ranks` if it has one."""
    found = spec.parse(machine)
    template = template_for(experiment, found.kind)
    if found.kind != "sim":
        if template is None and "ranks" in params:
            machine = spec.with_ranks(machine, int(params["ranks"]), "the axis 'ranks'")
        elif experiment.ranks is not None and not found.shape:
            machine = spec.with_ranks(machine, experiment.ranks)
    return machine if template is None else template.format(machine=machine, **params)


def _params_on(
    experiment: Experiment, machine: str, params: Mapping[str, Value]
) -> Mapping[str, Value]:
    """Without values that say what a simulated machine is, where the machine is none."""
    if spec.parse(machine).kind == "sim":
        return params
    return {name: nothing if experiment.axes[name].of_simulation else value
            for name, value in params.items()}


def _point(
    study: Study, experiment: Experiment, machine: str, params: Mapping[str, Value]
) -> Point:
    if experiment.of_simulation and spec.parse(machine).kind != "sim":
        obstacle = "the experiment is about simulated machines"
        return Point(study.name, experiment, machine, params, obstacle)
    try:
        complete = machine_for(experiment, machine, params)
    except Mistake:
        obstacle = "they are of other numbers of ranks"
        return Point(study.name, experiment, machine, params, obstacle)
    return Point(study.name, experiment, complete, _params_on(experiment, machine, params))


def _refusal(machine: str, known: dict[str, str]) -> str:
    """Why a simulated machine cannot be had; empty if it can. @param known earlier answers."""
    if machine not in known:
        known[machine] = ""
        if spec.parse(machine).kind == "sim":
            try:
                known_machines.check(machine)
            except Mistake as problem:
                known[machine] = str(problem).rstrip(".")
    return known[machine]


def _checked(planned: Iterable[tuple[str, Point]]) -> list[Point]:
    """Points whose machines can be had, and the rest with what is said of the first one of those of
    their experiment. @param planned each behind the machine that was asked for.
    """
    known: dict[str, str] = {}
    first: dict[tuple[str, str], str] = {}
    checked = []
    for machine, point in planned:
        refusal = "" if point.obstacle else _refusal(point.machine, known)
        if refusal:
            reason = first.setdefault((point.experiment.name, machine), refusal)
            point = replace(point, machine=machine, obstacle=reason, is_refused=True)
        checked.append(point)
    return checked


def points(study: Study, request: Request) -> list[Point]:
    """All points of a run, in order, each once; those that a machine cannot have say why.

    @error Mistake if a name or value is not legal, the sentence lists the legal ones; or if no
    machine can have any of the points; or if a machine has no part in the one experiment asked for.
    @error Failure if a simulated machine lacks what all the points ask of it.
    """
    settings = split_settings(request.settings)
    for machine in dict.fromkeys(request.machines):
        known_machines.check(machine)
        known_machines.expect_counts(machine)
    if request.experiment is not None:
        _check_machines(study.experiment(request.experiment), request)
    planned = _checked(
        (machine, _point(study, experiment, machine, params))
        for experiment in chosen_experiments(study, request)
        for machine in request.machines or experiment.machines
        for params in grid(experiment, settings, request.quick)
    )
    if all(point.obstacle for point in planned):
        first = next((point for point in planned if point.is_refused), planned[0])
        machine_for(first.experiment, first.machine, first.params)  # says what contradicts
        kind = Failure if first.is_refused else Mistake
        raise kind(f"The machine '{first.machine}' has no point of what was asked for: "
                   f"{first.obstacle}.")
    once: dict[tuple[str, str, str], Point] = {}
    for point in planned:
        once.setdefault(point.identity, point)
    return list(once.values())
