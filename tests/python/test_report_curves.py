# SPDX-License-Identifier: Apache-2.0
"""Plots of a report: no curve is lost in silence, and none is made of two."""

from __future__ import annotations

from typing import Any

import pytest

from reporting import header, write
from selion.report.chart import Chart
from selion.report.collect import collect
from selion.report.contents import PlotPlan
from selion.report.curves import charts_of, most_curves
from selion.report.page import table_of
from selion.report.sections import section_of


def row(value: float, machine: str = "sim:crossbar", metric: str = "time_us",
        **params: Any) -> dict[str, Any]:
    """A row of a study that is not installed."""
    return {"study": "my-own", "experiment": "speed", "machine": machine, "ranks": 2,
            "params": params, "metric": metric, "value": value, "unit": "us", "repetition": 0,
            "seed": 1}  # fmt: skip


def charts(*rows: dict[str, Any], metrics: tuple[str, ...] = ("time_us",),
           **plan: Any) -> list[Chart]:
    wanted = PlotPlan("T", "speed", metrics, "x", **plan)
    return charts_of("my-own", None, wanted, rows)


@pytest.fixture
def section(tmp_path):
    """The section of some rows."""

    def make_section(*rows):
        write(tmp_path, "s", [header, *rows])
        [results] = collect([tmp_path]).studies.values()
        return section_of(results, {})

    return make_section


@pytest.mark.parametrize("places", [1, 2])
def test_curves_that_are_left_out_are_told(places):
    more = most_curves + 3
    [chart] = charts(*(row(n, x=x, n=n) for x in range(places) for n in range(more)), text="Look.")
    assert chart.kind == ("bars" if places == 1 else "curves")
    drawn = chart.curves[0].dots if places == 1 else chart.curves
    assert len(drawn) == most_curves
    assert chart.text == "Look. 3 more curves are left out."


def test_numbers_that_differ_behind_six_digits_are_other_curves():
    sizes = (1048576, 1048577, 8)
    [chart] = charts(*(row(value, x=x, n=n, load=float(n)) for value, n in enumerate(sizes)
                       for x in (1, 2)))
    assert [(curve.name, [dot.y for dot in curve.dots]) for curve in chart.curves] == [
        ("n 8, load 8", [2, 2]),
        ("n 1048576, load 1048576", [0, 0]), ("n 1048577, load 1048577", [1, 1])]


def test_numbers_that_differ_behind_six_digits_are_other_bars_and_panels():
    rows = [row(n, x=1, n=n) for n in (1234567, 1234568)]
    [bars] = charts(*rows)
    assert table_of(bars) == [["n 1234567", "1,234,567"], ["n 1234568", "1,234,568"]]
    assert [chart.title for chart in charts(*rows, panels=("n",))] == ["T: n 1234567",
                                                                       "T: n 1234568"]


def test_metrics_of_other_units_are_other_curves():
    made = charts(*(row(value, metric=metric, x=x) for x in (1, 2)
                    for value, metric in enumerate(("time_us", "time_ms"))),
                  metrics=("time_us", "time_ms"))
    [chart] = made
    assert [curve.name for curve in chart.curves] == ['{"metric": "time_us"}',
                                                      '{"metric": "time_ms"}']


@pytest.mark.parametrize(("machine", "is_virtual", "text"), [
    ("sim:crossbar", True, ""),
    ("sim:crossbar,compute=measured", False,
     "Simulated with compute=measured: a clock of the host is in these times."),
    ("threads:2", False, ""),
])
def test_only_times_without_a_clock_of_the_host_are_virtual(section, machine, is_virtual, text):
    [chart] = section(*(row(x, machine, x=x) for x in (1, 2))).charts
    assert (chart.is_virtual, chart.text) == (is_virtual, text)
