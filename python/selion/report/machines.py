# SPDX-License-Identifier: Apache-2.0
"""Tells machines of one name apart, so that no row is taken for a repetition of another one's.

Mostly the name is enough, as params say which shape a point had. Where they do not, the name gets
what differs: `threads:2` and `threads:4`, `threads of 8 ranks`, `threads on HOST`, or that `with
SETTING` or `with commit COMMIT`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from selion import spec
from selion.report.asked_for import machine_asked_for
from selion.report.collect import Origin
from selion.report.select import machine_name
from selion.study.catalog import Experiment
from selion.study.conditions import is_measured
from selion.study.plan import canonical, template_for
from selion.study.rows import Row

_shape = ":"  # among the names of a spec's options


def _point(row: Row) -> tuple[Hashable, ...]:
    return (row["metric"], canonical(row["params"]))


def _parts(machine: str) -> dict[str, list[str]]:
    """A spec's shape and its options, by their names."""
    found = spec.parse(machine)
    parts = {_shape: [found.shape]}
    for option in found.options.split(",")[1:]:
        parts.setdefault(option.partition("=")[0], []).append(option)
    return parts


def _without_params(row: Row, experiment: Experiment | None) -> str | None:
    """A row's spec without what params have set in it; None where nobody knows what they have."""
    if experiment is None:
        return None
    may_set = "ranks" in experiment.axes or \
        template_for(experiment, spec.parse(row["machine"]).kind) is not None
    return machine_asked_for(experiment, row) if may_set else str(row["machine"])


def _differing(rows: Sequence[Row], experiment: Experiment | None) -> set[str]:
    """The parts of specs that differ, and not because params do."""
    first: dict[tuple[Hashable, ...], dict[str, list[str]]] = {}
    differing: set[str] = set()
    for row in rows:
        own = _without_params(row, experiment)
        parts = _parts(own or row["machine"])
        # Whole specs may differ because points do, and are compared only within a point.
        other = first.setdefault(_point(row) if own is None else (), parts)
        differing |= {key for key in {**parts, **other} if parts.get(key) != other.get(key)}
    return differing


def _have_other_ranks(rows: Sequence[Row]) -> bool:
    """Whether rows of one point and one spec have other numbers of ranks."""
    first: dict[tuple[Hashable, ...], Hashable] = {}
    return any(first.setdefault((*_point(row), row["machine"]), row.get("ranks"))
               != row.get("ranks") for row in rows)


def _differ_by_origin(rows: Sequence[Row]) -> bool:
    """Whether rows come from several hosts or commits, or were measured with other settings, and it
    matters: with virtual times it does only if a machine had other constants, or one and the same
    run has given other values."""
    if len({row.get("origin") for row in rows}) < 2:
        return False
    if any(is_measured(row["machine"]) for row in rows):
        return True
    if len({_constants_of(row) for row in rows} - {None}) > 1:
        return True
    first: dict[tuple[Hashable, ...], Row] = {}
    for row in rows:
        run = (row["machine"], row.get("ranks"), row.get("repetition"), row.get("seed"))
        other = first.setdefault((*_point(row), *run), row)
        if other["value"] != row["value"] and other.get("origin") != row.get("origin"):
            return True
    return False


def _constants_of(row: Row) -> str | None:
    settings = row["origin"].settings if row.get("origin") is not None else ()
    return next((each for each in settings if each.startswith("constants ")), None)


def _origin_words(rows: Sequence[Row]) -> dict[Origin | None, str]:
    """Hosts by name, with their processor where two have one name, and with the settings that not
    all of a host have."""
    origins = dict.fromkeys(row["origin"] for row in rows if row.get("origin") is not None)
    places = {(origin.host, origin.processor): origin.host for origin in origins}
    names = list(places.values())
    words: dict[Origin | None, str] = {None: "an unknown host"}
    for origin in origins:
        place = origin.host
        if names.count(place) > 1:
            place += f" ({origin.processor})"
        of_host = [set(each.settings) for each in origins
                   if (each.host, each.processor) == (origin.host, origin.processor)]
        own = [each for each in origin.settings if not all(each in some for some in of_host)]
        words[origin] = f"{place} with {', '.join(own)}" if own else place
    return words


class _Names:
    """Names for the rows of one experiment whose machines have one name."""

    def __init__(self, rows: Sequence[Row], experiment: Experiment | None,
                 hosts: Mapping[Origin | None, str]) -> None:
        self._experiment = experiment
        self._differing = _differing(rows, experiment)
        self._with_ranks = _have_other_ranks(rows)
        self._hosts = hosts if _differ_by_origin(rows) else None

    def named(self, row: Row) -> Row:
        shown = self._spec(row)
        origin = row.get("origin") if self._hosts is not None else None
        if self._with_ranks:
            shown += f" of {row.get('ranks') or 'unknown'} ranks"
        if self._hosts is not None:
            shown += f" on {self._hosts[origin]}"
        return {**row, "origin": origin, "machine_shown": shown}

    def _spec(self, row: Row) -> str:
        machine = _without_params(row, self._experiment) or row["machine"]
        found = spec.parse(machine)
        has_shape = bool(found.shape) and (found.kind == "sim" or _shape in self._differing)
        options = [option for key, values in _parts(machine).items()
                   if key != _shape and key in self._differing for option in values]
        return ",".join([found.kind + (f":{found.shape}" if has_shape else ""), *options])


def told_apart(rows: Sequence[Row], experiments: Mapping[str, Experiment]) -> list[Row]:
    """The rows of a study, each with `machine_shown`, the name by which its machine is known among
    them. `origin` is left out where it does not matter.

    @param experiments those of the study that are known.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["experiment"], machine_name(row)), []).append(row)
    names = {key: _Names(group, experiments.get(key[0]), _origin_words(group))
             for key, group in groups.items()}
    return [names[row["experiment"], machine_name(row)].named(row) for row in rows]
