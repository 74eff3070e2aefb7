# SPDX-License-Identifier: Apache-2.0
"""The linear fit whose largest error is smallest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def minimax(rows: ArrayLike, wanted: ArrayLike, allowed: ArrayLike) -> NDArray[np.float64]:
    """The x that makes the largest of |rows @ x - wanted| / allowed smallest.

    Least squares again and again, each time with more weight on what is still far off (Lawson's
    method); a few thousand rounds settle what is wanted here to many digits.
    """
    scale = 1 / np.asarray(allowed, dtype=float)
    left = np.asarray(rows, dtype=float) * scale[:, None]
    right = np.asarray(wanted, dtype=float) * scale
    weight = np.full(len(right), 1 / len(right))
    best, smallest = None, np.inf
    for _ in range(20000):
        root = np.sqrt(weight)
        x = np.linalg.lstsq(left * root[:, None], right * root, rcond=None)[0]
        error = np.abs(left @ x - right)
        if error.max() < smallest:
            best, smallest = x, error.max()
        weight = weight * error
        total = weight.sum()
        if total == 0:
            break
        weight /= total
    return best
