# SPDX-License-Identifier: Apache-2.0
"""Function calls to worker processes, with arrays in shared memory.

    from selion.offload import Pool

    with Pool(workers=4) as pool:
        squares = list(pool.map(square, range(10)))
        later = pool.submit(total, big_array)
        print(later.result())

`Pool` is a `concurrent.futures.Executor`: code that uses `ProcessPoolExecutor` changes one line.
NumPy arrays are never pickled: those from `pool.array()` are not even copied.
"""

from __future__ import annotations

from selion.offload.model import Prediction, predict, verdict
from selion.offload.broken import WorkerDied
from selion.offload.pool import Pool

__all__ = ["Pool", "Prediction", "WorkerDied", "predict", "verdict"]
