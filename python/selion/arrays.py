# SPDX-License-Identifier: Apache-2.0
"""What global arrays leave to NumPy: shapes, dtypes, and values that must be converted first."""

from __future__ import annotations

import operator
import sys
import warnings
from typing import Any

import numpy as np

from selion import registry
from selion._core import GlobalArray, Signal, World, as_array

_Array = np.ndarray[Any, Any]


def shape_of(shape: Any) -> tuple[int, ...]:
    """@error TypeError, ValueError for what is no shape."""
    extents: tuple[int, ...]
    try:
        extents = (operator.index(shape),)
    except TypeError as no_number:
        try:
            each = iter(shape)
        except TypeError:
            raise no_number from None
        extents = tuple(operator.index(extent) for extent in each)
    if any(extent < 0 for extent in extents):
        raise ValueError(f"The shape {extents} has a negative extent.")
    if any(extent > sys.maxsize for extent in extents):
        raise ValueError(f"The shape {extents} has more elements than can be counted.")
    return extents


def movable_dtype(dtype: Any) -> np.dtype[Any]:
    """@error TypeError for elements that cannot be moved as bytes."""
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind.subdtype is not None:
        raise TypeError(
            f"dtype {kind} is an array itself; let the shape end with its extents, {kind.shape}, "
            f"and pass its elements' dtype, {kind.base}."
        )
    if kind.hasobject:
        raise TypeError(f"dtype {kind} holds references to Python objects, which cannot be moved.")
    if kind.itemsize == 0:
        raise TypeError(f"dtype {kind} has no size; give one, for example '{kind.kind}8'.")
    return kind


def allocate(world: World, shape: Any, dtype: Any) -> GlobalArray:
    """What `World.allocate` does."""
    made: GlobalArray = registry.note(GlobalArray(world, shape, dtype))
    world.sync()  # from now on all ranks know it, and calls may refer to it
    return made


def signal(world: World, count: Any) -> Signal:
    """What `World.signal` does."""
    made: Signal = registry.note(Signal(world, operator.index(count)))
    world.sync()  # as of arrays
    return made


def conform(values: Any, dtype: np.dtype[Any]) -> _Array:
    """Numbers, sequences and arrays that are not contiguous, as contiguous memory of `dtype`.

    @error OverflowError for numbers beyond what `dtype` holds, TypeError if the conversion could
    lose more than precision otherwise.
    """
    # To arrays of text bytes are text, as for NumPy, and not small numbers.
    is_text = dtype.kind in "SU" and isinstance(values, (bytes, bytearray))
    if is_text:
        values = bytes(values)
    found = None if is_text else as_array(values)
    if found is None and dtype.names is not None and isinstance(values, (list, tuple)):
        _expect_records([values] if isinstance(values, tuple) else values)
        return _records(values, dtype)
    array = _numbers(values, dtype) if found is None else found
    if array.dtype != dtype:
        array = _converted(array, dtype)
    return np.asarray(array, order="C")  # which leaves a scalar without extents


def _numbers(values: Any, dtype: np.dtype[Any]) -> _Array:
    """As NumPy makes an array, but exact: of large ints it makes floats."""
    array = np.asarray(values)
    if array.dtype.kind != "f" or dtype.kind not in "iu":
        return array
    exact = np.asarray(values, object)
    for place, each in enumerate(exact.flat):
        if not isinstance(each, (int, np.integer)) and not float(each).is_integer():
            return array
        exact.flat[place] = int(each)
    return exact


def _expect_records(values: list[Any]) -> None:
    """@error TypeError for numbers, of which NumPy would give each field one."""
    for each in values:
        if isinstance(each, list):
            _expect_records(each)
        elif not isinstance(each, (tuple, np.void)):
            raise TypeError(f"An element with fields is a tuple; this is {type(each).__name__}.")


def _records(values: Any, dtype: np.dtype[Any]) -> _Array:
    """Tuples as elements with fields, each of which is converted as any value is."""
    names = dtype.names or ()
    objects = np.array(values, np.dtype([(name, object) for name in names]))
    records = np.empty(objects.shape, dtype)
    for name in names:
        kind = dtype[name]
        field = conform(objects[name].ravel().tolist(), kind.base)
        records[name] = field.reshape(objects.shape + kind.shape)
    return records


def _converted(array: _Array, dtype: np.dtype[Any]) -> _Array:
    source, target = array.dtype.kind, dtype.kind
    if source == "O" and all(type(each) is int for each in array.flat):  # beyond 64 bits
        if target in "fc":
            return _converted(_as_floats(array, dtype), dtype)
        source = "i"
    if source in "iu" and target in "iu":
        _expect_in_range(array, dtype)
        return array.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is lost becomes an error below
        try:
            converted = array.astype(dtype)
        except (TypeError, ValueError):
            raise _unfit(array, dtype) from None
    if source in "iufc" and target in ("c" if source == "c" else "fc"):  # precision may be lost
        _expect_finite(array, converted)
    elif not (np.can_cast(array.dtype, dtype, "safe") or _are_equal(converted, array)):
        raise _unfit(array, dtype)
    # NumPy would write numbers as decimal text, and drop units of time.
    is_number = source in "biufc"
    if (is_number and target in "SU") or (source in "mM" and target != source):
        raise _unfit(array, dtype)
    return converted


def _are_equal(array: _Array, other: _Array) -> bool:
    try:
        return bool(np.array_equal(array, other))
    except TypeError:  # numbers and records
        return False


def _unfit(array: _Array, dtype: np.dtype[Any]) -> TypeError:
    return TypeError(f"Values of dtype {array.dtype} do not fit an array of dtype {dtype}.")


def _as_floats(array: _Array, dtype: np.dtype[Any]) -> _Array:
    """Of ints. @error OverflowError for those that no float64 comes near to."""
    try:
        return array.astype(np.float64)
    except OverflowError:
        most = np.finfo(dtype).max
        raise OverflowError(
            f"An int does not fit an array of dtype {dtype}; legal: -{most} to {most}."
        ) from None


def _expect_in_range(array: _Array, dtype: np.dtype[Any]) -> None:
    if array.size == 0 or np.can_cast(array.dtype, dtype, "safe"):
        return
    legal = np.iinfo(dtype)
    for number in (int(array.min()), int(array.max())):
        if not legal.min <= number <= legal.max:
            raise OverflowError(
                f"{_in_words(number)} does not fit an array of dtype {dtype}; legal: {legal.min} "
                f"to {legal.max}."
            )


def _in_words(number: int) -> str:
    """Python writes no number of thousands of digits."""
    most_bits = 1024
    bits = number.bit_length()
    return str(number) if bits <= most_bits else f"An int of {bits} bits"


def _expect_finite(array: _Array, converted: _Array) -> None:
    """Infinities and what is no number stay what they are."""
    if np.can_cast(array.dtype, converted.dtype, "safe"):
        return
    is_beyond = np.isfinite(array) & ~np.isfinite(converted)
    if is_beyond.any():
        number = array[is_beyond].flat[0]
        most = np.finfo(converted.dtype).max
        raise OverflowError(
            f"{number} does not fit an array of dtype {converted.dtype}; legal: -{most} to {most}."
        )
