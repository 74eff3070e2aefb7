# SPDX-License-Identifier: Apache-2.0
"""Scales of a chart: where values lie, and where the marks of an axis are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

_steps = (1, 2, 2.5, 5, 10)
_binary = ("", "Ki", "Mi", "Gi", "Ti")
_zero_gap = {"log2": 4, "log10": 10}  # times that, and the least value is reached
_least = 1e-290  # below which values are as good as 0, so that floats have room for an axis
_most_air = 1e4
_decimal = (("G", 1e9), ("M", 1e6), ("k", 1e3))


def plain(value: float) -> str:
    """A number for people: four digits that count, thousands apart."""
    if value == 0:
        return "0"
    if abs(value) >= 10_000 or float(value).is_integer():
        return f"{value:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(digits, 8)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def short(value: float, is_binary: bool) -> str:
    """A number for an axis: 64 Ki, 20 k."""
    if is_binary and value >= 1024 and float(value).is_integer():
        for power in range(len(_binary) - 1, 0, -1):
            size = 1024**power
            if value >= size and value * 8 % size == 0:
                return f"{value / size:g} {_binary[power]}"
    for word, size in _decimal:
        if abs(value) >= max(size, 10_000):
            return f"{value / size:g} {word}"
    return f"{value:,.6g}"


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`. `kind`: linear, log2, log10, or words (of `names`)."""

    kind: str
    low: float
    high: float
    names: tuple[str, ...] = ()
    is_binary: bool = False
    is_whole: bool = False  # its values are whole numbers, and so are its marks
    zero: float | None = None  # the value in whose place a logarithmic axis has 0; None: nowhere

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        if value == 0 and self.zero is not None:
            value = self.zero
        low, high, at = self.low, self.high, value
        if self.kind.startswith("log"):
            low, high, at = math.log(low), math.log(high), math.log(max(value, 1e-300))
        return (at - low) / (high - low)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Values and words of at most about so many marks."""
        if self.kind == "words":
            return list(enumerate(self.names))
        if self.zero is not None:
            above = replace(self, low=self.zero * _zero_gap[self.kind] * (1 - 1e-9), zero=None)
            return [(0.0, "0"), *above.ticks(most - 1)]
        values = self._log_ticks(most) if self.kind.startswith("log") else self._even_ticks(most)
        return [(value, short(value, self.is_binary)) for value in values]

    def _even_ticks(self, most: int) -> list[float]:
        rough = (self.high - self.low) / max(most, 1)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * each for each in _steps if power * each >= rough * (1 - 1e-9))
        if self.is_whole:
            step = max(1.0, math.ceil(step))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(step * number, 12) for number in range(first, last + 1)]

    def _log_ticks(self, most: int) -> list[float]:
        base = 2.0 if self.kind == "log2" else 10.0
        first = math.ceil(math.log(self.low, base) - 1e-9)
        last = math.floor(math.log(self.high, base) + 1e-9)
        if last - first < 2 and base == 10:  # too few powers of ten to read by
            marks = [base**power * digit for power in range(first - 1, last + 1)
                     for digit in (1, 2, 3, 5)]
            inside = [each for each in marks if self.low <= each * (1 + 1e-9) and
                      each <= self.high * (1 + 1e-9)]
            return inside if len(inside) > 2 else self._even_ticks(most)
        every = max(1, math.ceil((last - first + 1) / max(most, 1)))
        powers = [base**power for power in range(first, last + 1) if power % every == 0]
        return powers if len(powers) > 1 else self._even_ticks(most)


def scale_of_words(names: Sequence[Any]) -> Scale:
    return Scale("words", -0.5, len(names) - 0.5, tuple(str(name) for name in names))


def _log_scale(values: Sequence[float], kind: str, is_binary: bool, is_whole: bool) -> Scale:
    """0 has a place of its own below the least value above it."""
    above = [value for value in values if value > 0]
    low, high = min(above), max(above)
    if high <= low * (1 + 1e-12):  # their logarithms may be the same
        low, high = low / 2, high * 2
    zero = None
    if len(above) < len(values):
        low = zero = low / _zero_gap[kind]
    air = min((high / low) ** 0.03, _most_air)
    return Scale(kind, low / air, high * air, (), is_binary, is_whole, zero)


def scale_of(values: Sequence[float], kind: str, *, is_binary: bool = False,
             is_whole: bool = False, from_zero: bool = False, zero_apart: bool = False) -> Scale:
    """A scale that has room for all values; logarithmic ones fall back to linear where they must.

    @param from_zero a linear scale begins at 0 if no value is below.
    @param zero_apart a logarithmic scale may have 0, in a place of its own.
    """
    low, high = min(values), max(values)
    least = min((value for value in values if value > 0), default=0.0)
    if kind.startswith("log") and least >= _least and (low > 0 or (zero_apart and low == 0)):
        return _log_scale(values, kind, is_binary, is_whole)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if float(high) - float(low) < _least:
        half = max(0.5, abs(low) * 1e-14)  # of large numbers 0.5 would be lost
        low, high = low - half, high + half
    air = 0.04 * (high - low)
    below = 0 if from_zero and low == 0 else air
    return Scale("linear", low - below, high + air, (), is_binary, is_whole)
