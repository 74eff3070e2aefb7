# SPDX-License-Identifier: Apache-2.0
"""What global arrays leave to NumPy: shapes, dtypes, and values that must be converted first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from selion._core import GlobalArray, World


def _shape_of(shape: Any) -> tuple[int, ...]:
    extents: tuple[int, ...]
    try:
        extents = (operator.index(shape),)
    except TypeError:
        extents = tuple(operator.index(extent) for extent in shape)
    if any(extent < 0 for extent in extents):
        raise ValueError(f"The shape {extents} has a negative extent.")
    return extents


def allocate(world: World, shape: Any, dtype: Any) -> GlobalArray:
    """What `World.allocate` does."""
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"dtype {kind} holds references to Python objects, which cannot be moved.")
    if kind.itemsize == 0:
        raise TypeError(f"dtype {kind} has no size; give one, for example '{kind.kind}8'.")
    return GlobalArray(world, _shape_of(shape), kind)


def conform(values: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers, sequences and arrays that are not contiguous, as contiguous memory of `dtype`.

    @error TypeError if the conversion could lose more than precision.
    """
    array = np.asarray(values)
    if array.dtype != dtype:
        converted = array.astype(dtype)
        is_kept = np.can_cast(array.dtype, dtype, "same_kind") or np.array_equal(converted, array)
        if not is_kept:
            raise TypeError(f"Values of dtype {array.dtype} do not fit an array of dtype {dtype}.")
        array = converted
    return np.ascontiguousarray(array)
