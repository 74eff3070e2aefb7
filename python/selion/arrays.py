# SPDX-License-Identifier: Apache-2.0
"""What global arrays leave to NumPy: shapes, dtypes, and values that must be converted first."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from selion import registry
from selion._core import GlobalArray, Signal, World, as_array


def shape_of(shape: Any) -> tuple[int, ...]:
    """@error TypeError, ValueError for what is no shape."""
    extents: tuple[int, ...]
    try:
        extents = (operator.index(shape),)
    except TypeError:
        extents = tuple(operator.index(extent) for extent in shape)
    if any(extent < 0 for extent in extents):
        raise ValueError(f"The shape {extents} has a negative extent.")
    return extents


def movable_dtype(dtype: Any) -> np.dtype[Any]:
    """@error TypeError for elements that cannot be moved as bytes."""
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"dtype {kind} holds references to Python objects, which cannot be moved.")
    if kind.itemsize == 0:
        raise TypeError(f"dtype {kind} has no size; give one, for example '{kind.kind}8'.")
    return kind


def allocate(world: World, shape: Any, dtype: Any) -> GlobalArray:
    """What `World.allocate` does."""
    kind = movable_dtype(dtype)
    made: GlobalArray = registry.note(GlobalArray(world, shape_of(shape), kind))
    return made


def signal(world: World, count: Any) -> Signal:
    """What `World.signal` does."""
    made: Signal = registry.note(Signal(world, operator.index(count)))
    return made


def conform(values: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers, sequences and arrays that are not contiguous, as contiguous memory of `dtype`.

    @error TypeError if the conversion could lose more than precision.
    """
    found = as_array(values)
    array = np.asarray(values) if found is None else found
    if array.dtype != dtype:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is lost becomes an error below
            converted = array.astype(dtype)
        is_kept = np.can_cast(array.dtype, dtype, "same_kind") or np.array_equal(converted, array)
        if not is_kept:
            raise TypeError(f"Values of dtype {array.dtype} do not fit an array of dtype {dtype}.")
        array = converted
    return np.ascontiguousarray(array)
