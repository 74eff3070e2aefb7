# SPDX-License-Identifier: Apache-2.0
"""Scales of plots: places, marks, words."""

import pytest

from selion.report.scale import plain, scale_of, scale_of_words, short


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
