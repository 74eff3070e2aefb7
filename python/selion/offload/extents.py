# SPDX-License-Identifier: Apache-2.0
"""What an array in shared memory can be."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from selion.mistake import Mistake


def extent(
    shape: int | Sequence[int], dtype: DTypeLike
) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Type of an element, sizes, and how many bytes that is.

    MemoryError: no memory has them.
    """
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise Mistake(f"an array of dtype {kind}: Python's objects cannot lie in shared memory.")
    if kind.itemsize == 0:
        raise Mistake(f"an array of dtype '{kind.str}': say how long an element is, as in 'U8'.")
    sizes = tuple(map(operator.index, (shape,) if hasattr(shape, "__index__") else shape))
    if any(size < 0 for size in sizes):
        raise Mistake(f"an array of shape {sizes}; no size can be negative.")
    if kind.subdtype is not None:  # its sizes come behind, as NumPy has it
        kind, inner = kind.subdtype
        sizes += inner
    length = math.prod(sizes) * kind.itemsize
    if length > sys.maxsize:
        raise MemoryError(f"an array of shape {sizes} has {length} bytes: no memory has them")
    return kind, sizes, length
