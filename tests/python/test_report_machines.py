# SPDX-License-Identifier: Apache-2.0
"""Reports tell machines apart: only what one machine has measured again is a repetition."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import Selion, needs_module
from reporting import header, studies, write
from selion.report.collect import collect
from selion.report.contents import read_contents
from selion.report.curves import charts_of
from selion.report.sections import Section, section_of
from selion.report.select import find_value

elsewhere = {**header, "host": "far", "cpu": "Another processor"}


def latency(value: float, machine: str = "threads:2", ranks: int = 2, size: int = 8,
            **changes: Any) -> dict[str, Any]:
    """A row of the study host, whose params do not say how many ranks there are."""
    return {"study": "host", "experiment": "latency", "machine": machine, "ranks": ranks,
            "params": {"op": "put", "bytes": size}, "metric": "latency_ns", "value": value,
            "unit": "ns", "p5": value - 1, "p95": value + 1, "repetition": 0, "seed": 1,
            **changes}  # fmt: skip


def two_sizes(value: float, *place: Any) -> list[dict[str, Any]]:
    return [latency(value, *place), latency(2 * value, *place, size=64)]


def gain(value: float, machine: str = "sim:epiphany-iii", ints: int = 1,
         **changes: Any) -> dict[str, Any]:
    return {"study": "mesh-broadcast", "experiment": "gain", "machine": machine, "ranks": 16,
            "params": {"ints": ints}, "metric": "gain_percent", "value": value, "unit": "%",
            "repetition": 0, "seed": 1, **changes}  # fmt: skip


def larger_mesh(value: float, option: str, side: int, ints: int) -> dict[str, Any]:
    """A row whose spec has options that params have set."""
    return {"study": "mesh-broadcast", "experiment": "larger-meshes",
            "machine": f"sim:epiphany-iii{option},rows={side},columns={side}",
            "ranks": side * side, "params": {"order": "mapped", "ints": ints, "side": side},
            "metric": "ticks", "value": value, "unit": "ticks", "repetition": 0,
            "seed": 1}  # fmt: skip


@pytest.fixture
def section(tmp_path):
    """The section of the one study of some files, each given by its lines."""

    def make_section(*files) -> Section:
        for number, lines in enumerate(files):
            write(tmp_path, f"file-{number}", lines)
        [results] = collect([tmp_path]).studies.values()
        return section_of(results, studies())

    return make_section


def values(made: Section) -> dict[str, list[float]]:
    """What a section's charts show, by the end of their titles and the name of the curve."""
    return {(chart.title.split(": ")[-1] + " " + curve.name).strip(): [dot.y for dot in curve.dots]
            for chart in made.charts for curve in chart.curves}


# --- shapes and options ---------------------------------------------------------------------------


def test_other_numbers_of_ranks_are_no_repetitions(section):
    made = section([header, *two_sizes(158, "threads:2", 2), *two_sizes(336, "threads:4", 4)])
    assert values(made) == {"threads:2": [158, 316], "threads:4": [336, 672]}
    assert [dot.low for dot in made.charts[0].curves[0].dots] == [157, 315]  # the row's own p5
    assert made.charts[1].command == (
        "selion study host --experiment latency --set op=put --set bytes=8,64 --machine threads:4")


def test_a_machine_for_each_place_of_the_x_axis_is_no_curve(section):
    made = section([header, latency(1, "threads:2", 2), latency(2, "threads:4", 4, size=64)])
    assert values(made) == {"threads:2": [1], "threads:4": [2]}


def test_where_nothing_else_differs_machines_are_bars(section):
    made = section([header, latency(10), latency(20, "threads:4", 4)])
    [chart] = made.charts
    assert chart.kind == "bars"
    assert [(dot.x, dot.y) for dot in chart.curves[0].dots] == [("threads:2", 10),
                                                                ("threads:4", 20)]


def test_one_spec_may_have_other_numbers_of_ranks(section):
    made = section([header, *two_sizes(10, "threads", 2)], [header, *two_sizes(90, "threads", 8)])
    assert values(made) == {"threads of 2 ranks": [10, 20], "threads of 8 ranks": [90, 180]}


def test_options_tell_machines_apart_and_those_that_params_set_do_not(section):
    rows = [larger_mesh(factor * side * ints, option, side, ints)
            for option, factor in ((",unroll=true", 1), (",unroll=false", 10))
            for side in (4, 8) for ints in (1, 8)]
    made = section([header, *rows])
    assert values(made) == {
        f"side {side} sim:epiphany-iii,unroll={word}": [factor * side, 8 * factor * side]
        for side in (4, 8) for word, factor in (("true", 1), ("false", 10))}
    one = section([header, *(row for row in rows if "unroll=true" in row["machine"])])
    assert values(one) == {"side 4": [4, 32], "side 8": [8, 64]}


def put_latency(value: float, option: str, size: int, ranks: int = 2) -> dict[str, Any]:
    """A row whose spec has an option that a param has set, at the end."""
    params = {"op": "put", "progress": "polling", "wait": "wait_counter", "bytes": size}
    return {"study": "one-sided", "experiment": "latency",
            "machine": f"sim:sp-lapi{option},progress=polling", "ranks": ranks, "params": params,
            "metric": "latency_us", "value": value, "unit": "us", "repetition": 0,
            "seed": 1}  # fmt: skip


def test_machines_that_were_measured_at_different_points_are_no_curve(section):
    slow = ",network.latency_us=500"
    made = section([
        header, *(put_latency(value, "", size) for size, value in ((8, 40), (1168, 53))),
        *(put_latency(value, slow, size) for size, value in ((100, 1030), (1000, 1040)))])
    assert values(made) == {
        "polling sim:sp-lapi": [40, 53],
        f"polling sim:sp-lapi{slow}": [1030, 1040]}


def test_numbers_of_ranks_that_params_set_are_no_differences(section):
    def row(machine: str, ranks: int, value: float) -> dict[str, Any]:
        return {"study": "multicore-collectives", "experiment": "applications", "machine": machine,
                "ranks": ranks, "params": {"kernel": "fft_exchange", "ranks": ranks},
                "metric": "time_in_collectives_percent", "value": value, "unit": "%",
                "repetition": 0, "seed": 1}  # fmt: skip

    made = section([header, *(row(f"sim:bluegene-p,ranks={ranks}", ranks, ranks)
                              for ranks in (4, 16)),
                    *(row(f"sim:bluegene-p,network.latency_us=9,ranks={ranks}", ranks, 3 * ranks)
                      for ranks in (8, 64))])
    assert sorted(values(made).values()) == [[4, 16], [24, 192]]


def test_specs_that_the_study_makes_no_more_are_compared_point_by_point(section):
    rows = [{**put_latency(size, "", size), "machine": f"sim:sp-lapi,once={size}"}
            for size in (8, 64)]
    assert values(section([header, *rows])) == {"polling": [8, 64]}


def test_a_study_that_is_not_installed_is_told_apart_by_its_params(section):
    made = section([header, *(latency(value, f"threads:{ranks}", ranks, size, study="my-own")
                              for ranks, size, value in ((2, 8, 10), (4, 8, 20), (2, 64, 30)))])
    assert values(made) == {"threads:2": [10, 30], "threads:4": [20]}
    made = section([header, *(latency(ranks, f"threads:{ranks}", ranks, study="my-own",
                                      params={"n": ranks}) for ranks in (2, 4))])
    assert values(made) == {"latency": [2, 4]}


# --- hosts ----------------------------------------------------------------------------------------


def test_other_hosts_are_no_repetitions(section):
    made = section([header, *two_sizes(10)], [elsewhere, *two_sizes(1000)])
    assert values(made) == {"threads on h": [10, 20], "threads on far": [1000, 2000]}


def test_hosts_of_one_name_are_told_apart_by_their_processors(section):
    made = section([header, *two_sizes(10)], [{**header, "cores": 64}, *two_sizes(1000)])
    assert list(values(made)) == ["threads on h (A processor, 2 processors)",
                                  "threads on h (A processor, 64 processors)"]


def test_rows_behind_a_second_header_are_those_of_its_host(section):
    made = section([header, *two_sizes(9), *two_sizes(10), elsewhere, *two_sizes(1000)])
    assert values(made) == {"threads on h": [9.5, 19], "threads on far": [1000, 2000]}


def test_a_header_of_a_resumed_run_is_no_fault(tmp_path):
    write(tmp_path, "s", [header, *two_sizes(10), {**elsewhere, "resumed": True}, *two_sizes(9)])
    found = collect([tmp_path])
    assert found.notes == []
    assert [row["origin"].host for row in found.studies["host"].rows] == ["h", "h", "far", "far"]


def test_files_without_a_header_are_of_hosts_that_nobody_knows(section):
    made = section(two_sizes(10), two_sizes(1000))
    assert sorted(values(made).values()) == [[10, 20], [1000, 2000]]


def test_other_settings_are_no_repetitions(section):
    bound = {**header, "knobs": {"SELION_BIND": "off", "SELION_VERBOSE": "1"}}
    made = section([header, *two_sizes(10)], [bound, *two_sizes(1000)])
    assert values(made) == {"threads on h": [10, 20],
                            "threads on h with SELION_BIND=off": [1000, 2000]}


def test_settings_that_say_nothing_of_the_values_are_no_settings(section):
    other = {**header, "knobs": {"SELION_BIN": "/there", "SELION_VERBOSE": "1"}}
    made = section([header, *two_sizes(10)], [other, *two_sizes(30)])
    [chart] = made.charts
    assert [dot.y for dot in chart.curves[0].dots] == [20, 40]


def test_programs_of_another_build_are_no_repetitions(section):
    headers = [{**header, "programs": {"study_host": f"/build/{build}/bin"}}
               for build in ("release", "debug")]
    made = section([headers[0], *two_sizes(10)], [headers[1], *two_sizes(1000)])
    assert values(made) == {"threads on h with programs of /build/release/bin": [10, 20],
                            "threads on h with programs of /build/debug/bin": [1000, 2000]}


def test_other_constants_are_another_machine(section):
    headers = [{**header, "constants": {"sim:this-host": digest}} for digest in ("abc", "def")]
    made = section([headers[0], *two_sizes(10, "sim:this-host,ranks=2")],
                   [headers[1], *two_sizes(30, "sim:this-host,ranks=2")])
    assert values(made) == {"sim:this-host on h with constants abc": [10, 20],
                            "sim:this-host on h with constants def": [30, 60]}


def test_what_one_host_measures_again_is_a_repetition(section):
    made = section([header, *two_sizes(10)], [header, *two_sizes(30)])
    [chart] = made.charts
    assert chart.title == "latency: latency"
    dot = chart.curves[0].dots[0]
    assert (dot.y, dot.low, dot.high) == (20, 10, 30)


def test_virtual_times_are_those_of_no_host_as_long_as_hosts_agree(section):
    def rows(value: float) -> list[dict[str, Any]]:
        return [gain(value, published=25), gain(20.0, ints=5)]

    made = section([header, *rows(25.0)], [elsewhere, *rows(25.0)])
    assert values(made) == {"How much quicker mapped is than pass_up": [25, 20]}
    made = section([header, *rows(25.0)], [elsewhere, *rows(26.0)])
    curves = {name.split("pass_up ")[1]: dots for name, dots in values(made).items()}
    assert curves == {"sim:epiphany-iii on h": [25, 20], "sim:epiphany-iii on far": [26, 20]}
    assert {(cell.params, cell.measured) for cell in made.cells} == {
        ("sim:epiphany-iii on h, ints 1", 25), ("sim:epiphany-iii on far, ints 1", 26),
        ("sim:epiphany-iii on h, ints 5", 20), ("sim:epiphany-iii on far, ints 5", 20)}


# --- what else takes rows together ----------------------------------------------------------------


@pytest.mark.parametrize("change", [{"machine": "sim:epiphany-iii,a=2"}, {"ranks": 64},
                                    {"origin": "elsewhere"}])
def test_a_value_of_the_answer_is_that_of_one_machine(change):
    wanted = read_contents(studies()["mesh-broadcast"].folder).conclusion.values["one"]
    rows = [gain(25.0), gain(27.0, repetition=1), {**gain(95.0), **change}]
    assert find_value(rows, wanted, {}) == 26.0


def overlap(value: float, machine: str, metric: str, experiment: str = "overlap",
            **params: Any) -> dict[str, Any]:
    return {"study": "one-sided", "experiment": experiment, "machine": machine, "ranks": 2,
            "params": {"op": "get", "bytes": 8, **params}, "metric": metric, "value": value,
            "unit": "us", "repetition": 0, "seed": 1}  # fmt: skip


def test_the_answer_is_not_that_of_a_machine_whose_options_a_user_has_set(section):
    def rows(factor: float, option: str) -> list[dict[str, Any]]:
        [light] = studies()["one-sided"].experiments["light-overlap"].machines
        plain = f"sim:sp-lapi{option}"
        return [overlap(20 * factor, plain, "overlap_us", depth=1),
                overlap(4 * factor, plain, "overlap_us", depth=2),
                overlap(30 * factor, light + option, "overlap_us", "light-overlap", depth=1),
                overlap(40 * factor, light + option, "effective_latency_us", "light-overlap",
                        depth=1, cpu_us=0),
                overlap(13 * factor, plain, "effective_latency_us", "queue-depth", depth=10)]

    slow, usual = rows(100, ",network.latency_us=500"), rows(1, "")
    answered = section([header, *usual]).answer
    assert "20.0 us are free at depth 1 (fitted) and 4.0 us" in answered
    assert section([header, *slow, *usual]).answer == answered
    assert section([header, *slow]).answer.startswith("Not answered by these results")


def test_a_machine_that_the_answer_names_is_meant_with_no_other_options():
    study = studies()["multicore-collectives"]
    wanted = read_contents(study.folder).conclusion.values["loose"]
    assert "machine" in wanted.where

    def row(machine: str, sync: str, value: float) -> dict[str, Any]:
        return {"experiment": "strict-and-loose", "metric": "latency_us", "machine": machine,
                "params": {"bytes": 8, "sync": sync}, "value": value}

    slow = [row("sim:niagara2,network.latency_us=9", sync, value)
            for sync, value in (("strict", 90), ("loose", 1))]
    usual = [row("sim:niagara2", sync, value) for sync, value in (("strict", 6), ("loose", 2))]
    assert find_value([*slow, *usual], wanted, study.experiments) == 3
    assert find_value([*slow, usual[0]], wanted, study.experiments) is None
    assert find_value(slow, wanted, study.experiments) is None


def test_cells_are_compared_machine_by_machine(section):
    made = section([header, *(gain(value, f"sim:epiphany-iii,a={value}", published=25)
                              for value in (25, 50))])
    assert [(cell.params, cell.measured, cell.error_percent) for cell in made.cells] == [
        ("sim:epiphany-iii,a=25, ints 1", 25, 0), ("sim:epiphany-iii,a=50, ints 1", 50, 100)]


def test_charts_of_rows_that_nobody_has_told_apart_take_those_of_one_machine():
    study = studies()["mesh-broadcast"]
    [plan] = [plan for plan in read_contents(study.folder).plots if plan.experiment == "gain"]
    rows = [gain(25.0), gain(27.0, repetition=1), gain(95.0, ranks=64)]
    [chart] = charts_of(study.name, study.experiments["gain"], plan, rows)
    [dot] = chart.curves[0].dots
    assert (dot.y, dot.low, dot.high) == (26, 25, 27)


@needs_module
def test_a_report_of_one_study_on_two_shapes(selion: Selion, tmp_path):
    write(tmp_path / "out", "s", [header, *two_sizes(158, "threads:2", 2),
                                  *two_sizes(336, "threads:4", 4)])
    assert selion("report", "out", "-o", "r.md").returncode == 0
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "### latency: latency: threads:2" in text and "| 8 | 158 |" in text
    assert "### latency: latency: threads:4" in text and "| 8 | 336 |" in text
    assert "247" not in text
