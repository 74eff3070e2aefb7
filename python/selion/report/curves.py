# SPDX-License-Identifier: Apache-2.0
"""Makes charts of rows: which are one curve, which are one chart."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from selion.report.again import command_of
from selion.report.chart import Chart, Curve, Dot
from selion.report.contents import PlotPlan
from selion.report.runs import told
from selion.report.select import is_number, key_of, matches, measured_by
from selion.study.catalog import Experiment, Study
from selion.study.conditions import is_measured
from selion.study.plan import canonical
from selion.study.rows import Row

most_curves = 8
_words = {True: "yes", False: "no"}
_unit_in_name = re.compile(r"_(us|ns|ms|ps|percent|mb_per_s|mib_per_s|ticks|per_s)$")


def metric_words(metric: str) -> str:
    """A metric's name without its unit, which stands beside it."""
    return _unit_in_name.sub("", metric).replace("_", " ")


def _in_order(values: Iterable[Any], declared: Sequence[Any] = ()) -> list[Any]:
    """Values once each: as the axis lists them, then numbers by size, then the rest as found."""
    found = list(dict.fromkeys(values))
    listed = [value for value in declared if value in found]
    rest = [value for value in found if value not in listed]
    if all(is_number(value) for value in found):
        return sorted(found)
    return listed + rest


def _declared(experiment: Experiment | None, key: str) -> Sequence[Any]:
    axis = experiment.axes.get(key) if experiment else None
    return axis.default if axis else ()


def _varying(rows: Sequence[Row], keys: Iterable[str]) -> list[str]:
    return [key for key in keys if len({canonical({"": key_of(row, key)}) for row in rows}) > 1]


def _beside(rows: Sequence[Row], x: str, keys: Iterable[str]) -> list[str]:
    """Keys that differ between rows of one x; others only go along with it."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        place = canonical({"": key_of(row, x)})
        for key in keys:
            found.setdefault((key, place), set()).add(canonical({"": key_of(row, key)}))
    return list(dict.fromkeys(key for (key, _), values in found.items() if len(values) > 1))


def _all_keys(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(["machine", *(key for row in rows for key in row["params"])]))


def _word_of(key: str, value: Any) -> str:
    """With all digits of a number, as others may differ in the last one."""
    if isinstance(value, str):
        return metric_words(value) if key == "metric" else value
    digits = f"{value!r}".removesuffix(".0") if is_number(value) else "-"
    return f"{key} {_words[value] if isinstance(value, bool) else digits}"


def _identity(keys: Sequence[str], row: Row) -> str:
    """Equal for rows whose keys have equal values."""
    return canonical({key: key_of(row, key) for key in keys})


def _grouped(keys: Sequence[str], rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """Rows whose keys have equal values, under a name that says which: in words, unless these say
    the same of others, as of metrics that only differ in their unit."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_identity(keys, row), []).append(row)
    names = {identity: ", ".join(_word_of(key, key_of(group[0], key)) for key in keys)
             for identity, group in groups.items()}
    taken = Counter(names.values())
    return [(name if taken[name] == 1 else identity, groups[identity])
            for identity, name in names.items()]


def _dot(x: Any, rows: Sequence[Row]) -> Dot:
    same = [row for row in rows if measured_by(row) == measured_by(rows[0])]
    values = [row["value"] for row in same]
    if len(same) == 1:
        low, high = same[0].get("p5"), same[0].get("p95")
    else:
        low, high = min(values), max(values)
    published = next((row["published"] for row in rows if is_number(row.get("published"))), None)
    return Dot(x, statistics.median(values), low, high, published)


def _curve(name: str, rows: Sequence[Row], plan: PlotPlan, places: Sequence[Any]) -> Curve:
    by_x: dict[Any, list[Row]] = {}
    for row in rows:
        by_x.setdefault(key_of(row, plan.x), []).append(row)
    return Curve(name, tuple(_dot(x, by_x[x]) for x in places if x in by_x))


class _Maker:
    """One plan's charts."""

    def __init__(self, study: str, experiment: Experiment | None, plan: PlotPlan) -> None:
        self._study = study
        self._experiment = experiment
        self._plan = plan

    def charts(self, rows: Sequence[Row]) -> list[Chart]:
        plan = self._plan
        wanted = [
            row for row in rows
            if row["experiment"] == plan.experiment and row["metric"] in plan.metrics
            and is_number(row["value"]) and matches(row, plan.where)
            and key_of(row, plan.x) is not None
        ]
        panels = _grouped(plan.panels, self._sorted(wanted, plan.panels))
        made = [self._chart(name, group) for name, group in panels]
        return [chart for chart in made if chart is not None]

    def _sorted(self, rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
        """By the values of keys, the first one first."""
        orders = {key: _in_order((key_of(row, key) for row in rows),
                                 _declared(self._experiment, key)) for key in keys}
        return sorted(rows, key=lambda row: [orders[key].index(key_of(row, key)) for key in keys])

    def _series_keys(self, rows: Sequence[Row]) -> list[str]:
        plan = self._plan
        free = [key for key in (*_all_keys(rows), "metric")
                if key not in (plan.x, *plan.panels, *plan.series)]
        beside = _beside(rows, plan.x, free)
        # No curve leads from one machine to another, not even where each has its own x.
        return _varying(rows, [*plan.series, *(key for key in free
                                               if key == "machine" or key in beside)])

    def _chart(self, panel: str, rows: Sequence[Row]) -> Chart | None:
        plan = self._plan
        keys = self._series_keys(rows)
        groups = _grouped(keys, self._sorted(rows, keys))
        places = _in_order((key_of(row, plan.x) for row in rows),
                           _declared(self._experiment, plan.x))
        curves = tuple(_curve(name, group, plan, places)
                       for name, group in groups[:most_curves])
        if not curves:
            return None
        notes = [plan.text]
        if len(groups) > most_curves:
            notes.append(f"{len(groups) - most_curves} more curves are left out.")
        if any(row["machine"].startswith("sim:") and is_measured(row["machine"]) for row in rows):
            notes.append("Simulated with compute=measured: a clock of the host is in these times.")
        frame = replace(self._frame(panel, rows), text=" ".join(filter(None, notes)))
        if len(places) == 1 and len(curves) > 1:  # nothing to see along x: curves stand there
            return self._as_bars(frame, curves, places[0], keys)
        return replace(frame, curves=curves)

    def _as_bars(self, frame: Chart, curves: Sequence[Curve], x: Any,
                 keys: Sequence[str]) -> Chart:
        """A bar for each curve, which has one dot. @param keys by which curves differ."""
        bars = tuple(replace(curve.dots[0], x=curve.name) for curve in curves)
        where = f"at {_word_of(self._plan.x.replace('_', ' '), x)}"
        return replace(frame, title=f"{frame.title}, {where}",
                       x_title=", ".join(key.replace("_", " ") for key in keys), x_unit="",
                       kind="bars", curves=(Curve("", bars),))

    def _frame(self, panel: str, rows: Sequence[Row]) -> Chart:
        """The chart without curves."""
        plan = self._plan
        axis = self._experiment.axes.get(plan.x) if self._experiment else None
        return Chart(
            title=f"{plan.title}: {panel}" if panel else plan.title,
            x_title=plan.x.replace("_", " "),
            x_unit=axis.unit if axis else "",
            y_title=plan.y_title or metric_words(plan.metrics[0]),
            y_unit=rows[0]["unit"],
            x_scale=plan.x_scale,
            y_scale=plan.y_scale,
            kind=plan.kind,
            from_zero=plan.from_zero,
            curves=(),
            text=plan.text,
            command=command_of(self._study, plan.experiment, self._experiment, rows),
            is_virtual=not any(is_measured(row["machine"]) for row in rows),
            runs=told(rows),
        )


def charts_of(study: str, experiment: Experiment | None, plan: PlotPlan,
              rows: Sequence[Row]) -> list[Chart]:
    """The charts of a plan, none where nothing was measured for it."""
    return _Maker(study, experiment, plan).charts(rows)


def _spread(values: Sequence[Any], zeros: bool = False) -> bool:
    """Whether values are so far apart that a logarithmic axis shows more. @param zeros may be
    among them."""
    above = [value for value in values if is_number(value) and value > 0]
    rest = [value for value in values if not (is_number(value) and value > 0)]
    only_zeros = zeros and all(is_number(value) and value == 0 for value in rest)
    return (not rest or only_zeros) and len(above) > 2 and max(above) >= 50 * min(above)


def usual_plans(study: Study | None, rows: Sequence[Row],
                without: Mapping[str, Any]) -> list[PlotPlan]:
    """A plan for each metric of the experiments that nobody has planned for.

    The axis with most values is x; the rest are curves.
    """
    plans = []
    names = dict.fromkeys(row["experiment"] for row in rows if row["experiment"] not in without)
    for name in names:
        own = [row for row in rows if row["experiment"] == name and is_number(row["value"])]
        experiment = study.experiments.get(name) if study else None
        for metric in dict.fromkeys(row["metric"] for row in own):
            plan = _usual_plan(name, experiment, metric,
                               [row for row in own if row["metric"] == metric])
            if plan:
                plans.append(plan)
    return plans


def _usual_plan(name: str, experiment: Experiment | None, metric: str,
                rows: Sequence[Row]) -> PlotPlan | None:
    keys = _varying(rows, _all_keys(rows))
    if not keys:
        return None
    values = {key: _in_order(key_of(row, key) for row in rows) for key in keys}
    numbers = [key for key in keys if all(is_number(each) for each in values[key])]
    x = max(numbers or keys, key=lambda key: len(values[key]))
    if len(values[x]) < 2:
        return None
    summary = experiment.summary if experiment else ""
    return PlotPlan(
        title=f"{name}: {metric_words(metric)}",
        experiment=name,
        metrics=(metric,),
        x=x,
        panels=("machine",) if "machine" in keys and x != "machine" else (),
        x_scale=("log2" if x == "bytes" or x.endswith("_bytes") else "log10")
        if x in numbers and _spread(values[x], zeros=True) else "linear",
        y_scale="log10" if _spread([row["value"] for row in rows]) else "linear",
        kind="curves" if x in numbers else "bars",
        text=summary,
    )
