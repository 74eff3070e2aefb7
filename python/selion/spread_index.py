# SPDX-License-Identifier: Apache-2.0
"""What an index of a spread array means, in NumPy's sense."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Part:
    """What an index means: a range for each dimension, and which of them an integer takes away."""

    first: list[int]
    count: list[int]
    step: list[int]
    is_kept: list[bool]
    is_backward: list[bool]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(n for n, kept in zip(self.count, self.is_kept, strict=True) if kept)

    def turned(self, values: _Array) -> _Array:
        """Values in the order of the index, from those in the order of the array, or back."""
        kept = zip(self.is_backward, self.is_kept, strict=True)
        back = [backward for backward, is_kept in kept if is_kept]
        if not any(back):
            return values
        return values[tuple(slice(None, None, -1 if backward else 1) for backward in back)]


def part_of(index: Any, shape: tuple[int, ...]) -> Part:
    """@error IndexError, TypeError"""
    given = list(index) if isinstance(index, tuple) else [index]
    all_dots = [i for i, each in enumerate(given) if each is ...]
    if len(all_dots) > 1:
        raise IndexError(f"An index has only one '...'; this has {len(all_dots)}.")
    for at in all_dots:
        missing = len(shape) - (len(given) - 1)
        given[at : at + 1] = [slice(None)] * max(missing, 0)
    given += [slice(None)] * (len(shape) - len(given))
    if len(given) != len(shape):
        raise IndexError(
            f"{len(given)} indices are given; the array has {len(shape)} dimensions."
        )
    part = Part([], [], [], [], [])
    for d, (each, extent) in enumerate(zip(given, shape, strict=True)):
        chosen = _range_of(each, extent, d)
        part.first.append(min(chosen[0], chosen[-1]) if chosen else 0)
        part.count.append(len(chosen))
        part.step.append(abs(chosen.step) if len(chosen) > 1 else 1)
        part.is_kept.append(isinstance(each, slice))
        part.is_backward.append(chosen.step < 0)
    return part


def is_integer(index: Any) -> bool:
    """Whether it means one index. True and False do not: with NumPy they are masks."""
    if isinstance(index, (bool, np.bool_)):
        return False
    try:
        operator.index(index)
    except TypeError:
        return False
    return True


def _integer(index: Any) -> int:
    """@error TypeError for what is no index."""
    if is_integer(index):
        return operator.index(index)
    raise TypeError(
        f"Indices of a spread array are integers, slices and '...'; this is {type(index).__name__}."
    )


def whole_index(index: Any, extent: int, dimension: int) -> int:
    """The index from the front. @error TypeError, IndexError"""
    number = _integer(index)
    if not -extent <= number < extent:
        raise beyond(number, extent, dimension)
    return number + extent if number < 0 else number


def beyond(number: int, extent: int, dimension: int) -> IndexError:
    """What to raise for an index that is out of range."""
    return IndexError(
        f"Index {number} is out of range: dimension {dimension} has {extent} elements."
    )


def _range_of(index: Any, extent: int, dimension: int) -> range:
    """The indices of a dimension that an integer or a slice means."""
    if isinstance(index, slice):
        return range(*index.indices(extent))
    number = whole_index(index, extent, dimension)
    return range(number, number + 1)
