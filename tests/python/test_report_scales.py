# SPDX-License-Identifier: Apache-2.0
"""Scales of plots: places, marks, words, and the room that these have."""

import math
import re

import pytest

from selion.report import chart_svg
from selion.report.chart import Chart, Curve, Dot
from selion.report.scale import plain, scale_of, scale_of_words, short

narrow_size = 14.0  # of the font on narrow screens, and a letter of it
narrow = 0.6 * narrow_size


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (3, "3"), (1234567, "1,234,567"), (12345.6, "12,346"), (0.98765, "0.9877"),
     (12.5, "12.5"), (0.00012345, "0.0001234"), (-2.25, "-2.25"), (1234.6, "1,235")],
)  # fmt: skip
def test_numbers_for_people(value, words):
    assert plain(value) == words


@pytest.mark.parametrize(
    ("value", "binary", "words"),
    [(65536, True, "64 Ki"), (1 << 20, True, "1 Mi"), (1000, True, "1,000"),
     (1500000, False, "1.5 M"), (20000, False, "20 k"), (1250, False, "1,250"),
     (0.5, False, "0.5")],
)  # fmt: skip
def test_marks_are_short(value, binary, words):
    assert short(value, binary) == words


def test_linear_marks_are_round_and_inside():
    scale = scale_of([3.0, 97.0], "linear", from_zero=True)
    values = [value for value, _ in scale.ticks(6)]
    assert values == [0, 20, 40, 60, 80, 100]
    assert scale.place(scale.low) == 0 and scale.place(scale.high) == 1


@pytest.mark.parametrize("kind", ["linear", "log2", "log10"])
@pytest.mark.parametrize("values", [[1e20], [10**17, 10**17 + 1], [5e-324, 1e-310], [5e-324, 1e299],
                                    [1e-289, 9e299], [-1e299, 1e299], [0, 5e-324]])
def test_an_axis_has_room_and_marks_for_numbers_of_every_size(kind, values):
    scale = scale_of(values, kind, zero_apart=True)
    assert all(0 <= scale.place(float(value)) <= 1 for value in values)
    assert 0 < len(scale.ticks(6)) < 20


def test_whole_numbers_have_no_marks_between_them():
    scale = scale_of([1, 4], "linear", is_whole=True)
    assert [value for value, _ in scale.ticks(7)] == [1, 2, 3, 4]


def test_logarithmic_marks():
    assert [v for v, _ in scale_of([1, 100_000], "log10").ticks(6)] == [10.0**p for p in range(6)]
    assert [v for v, _ in scale_of([8, 64], "log2").ticks(7)] == [8, 16, 32, 64]
    assert [v for v, _ in scale_of([2, 30], "log10").ticks(6)] == [2, 3, 5, 10, 20, 30]
    assert len(scale_of([130, 148], "log10").ticks(6)) > 1


def test_a_logarithmic_axis_may_have_zero_in_a_place_of_its_own():
    scale = scale_of([0, 8, 64, 4096], "log2", zero_apart=True)
    assert scale.kind == "log2"
    assert [words for _, words in scale.ticks(12)] == \
        ["0", "8", "16", "32", "64", "128", "256", "512", "1,024", "2,048", "4,096"]
    assert 0 < scale.place(0) < scale.place(8) < scale.place(4096) < 1
    assert scale.place(8) - scale.place(0) == pytest.approx(scale.place(32) - scale.place(8))
    for values, kind in ([0, 6, 9], "log10"), ([0, 300, 400], "log2"), ([0, 65, 100], "log2"):
        marks = scale_of(values, kind, zero_apart=True).ticks(8)
        assert marks[0] == (0.0, "0") and len(marks) > 2
    assert scale_of([0, 0], "log2", zero_apart=True).kind == "linear"
    assert scale_of([-1, 0, 5], "log10", zero_apart=True).kind == "linear"


def test_values_that_have_no_logarithm_make_a_linear_scale():
    assert scale_of([0, 10], "log10").kind == "linear"
    assert scale_of([-1, 10], "log2").kind == "linear"


def test_one_value_has_room_around_it():
    for kind in ("linear", "log2", "log10"):
        scale = scale_of([7.0], kind)
        assert scale.low < 7 < scale.high and 0.3 < scale.place(7.0) < 0.7


def test_words_stand_side_by_side():
    scale = scale_of_words(["a", "b", "c"])
    assert [scale.place(value) for value, _ in scale.ticks(3)] == pytest.approx([1 / 6, 0.5, 5 / 6])


# --- room ----------------------------------------------------------------------------------------


def _chart(kind, *dots):
    return Chart("A title", "size", "bytes", "time", "us", "linear", "linear", kind, False,
                 (Curve("a", dots), Curve("b", dots)), "", "", False)


def _words(drawn, kind):
    """Texts of a class, with their attributes."""
    return [(match[1], match[2])
            for match in re.finditer(rf'<text class="{kind}" ([^>]*)>([^<]*)</text>', drawn)]


def _place(attributes):
    return float(re.search(r'(?:x="|translate\()([-\d.]+)', attributes)[1])


@pytest.mark.parametrize("most", [1, 25, 12345, 9.99e9, 0.00025, 1e-7])
def test_the_name_of_an_axis_has_room_beside_its_words_on_narrow_screens(most):
    drawn = chart_svg.body(_chart("curves", Dot(1, 0), Dot(2, most)), "key")
    baseline = 13.0
    for attributes, words in _words(drawn, "tick ty"):
        assert _place(attributes) - len(words) * narrow > baseline + narrow_size * 0.3


@pytest.mark.parametrize("names", [["a word that is long indeed", "b", "c"],
                                   ["short"] * 9 + ["another word that is long"],
                                   ["a", "a word of more than thirty letters"]])
def test_words_that_lean_are_not_cut_off_on_narrow_screens(names):
    drawn = chart_svg.body(
        _chart("bars", *(Dot(f"{name} {i}", 1) for i, name in enumerate(names))), "key")
    found = _words(drawn, "tick tx")
    assert len(found) == len(names) and all("rotate(-32)" in each for each, _ in found)
    for attributes, words in found:
        assert _place(attributes) - len(words) * narrow * math.cos(math.radians(32)) > 0


@pytest.mark.parametrize(("kind", "shape"), [("bars", "M3 7H19"), ("curves", "M5 7A6")])
def test_the_legend_shows_published_figures_as_the_drawing_does(kind, shape):
    chart = _chart(kind, Dot(1, 2, published=3), Dot(2, 4))
    assert f'<path class="published" d="{shape}' in chart_svg.published_mark(kind)
    assert f'<path class="published" d="{shape}' in chart_svg.alone(chart, "")


@pytest.mark.parametrize("kind", ["bars", "curves"])
def test_the_spread_is_drawn_within_the_frame(kind):
    drawn = chart_svg.body(_chart(kind, Dot(1, 20, low=1, high=400), Dot(2, 40)), "key")
    found = re.findall(r'<path class="spread[^"]*" transform="[^"]*" '
                       r'd="M0 ([-\d.]+)V([-\d.]+)"/>', drawn)
    frame = re.search(r'<rect class="frame" x="[^"]*" y="([^"]*)" width="[^"]*" height="([^"]*)"',
                      drawn)
    top, tall = float(frame[1]), float(frame[2])
    assert len(found) == 2  # one of each curve
    for low, high in found:  # what is more is further up
        assert top <= float(high) < float(low) <= top + tall
