# SPDX-License-Identifier: Apache-2.0
"""What becomes of calls that nobody waits for: while a program goes on, and when it ends."""

from __future__ import annotations

import atexit
import contextlib
import sys
import time
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selion.offload.pool import Pool

_longest_pause_s = 0.001

pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def collect(pool: weakref.ref[Pool]) -> None:
    """Looks again and again, at growing intervals, until nothing is left."""
    pause = 0.0
    while True:
        own = pool()
        if own is None:
            return
        try:
            has_news = own._collect_once() != 0
        except BaseException:
            own._collector_has_failed()
            raise
        if own._collector_may_end():
            return
        del own
        pause = 0.0 if has_news else min(_longest_pause_s, pause + 2e-5)
        time.sleep(pause)


@atexit.register
def _finish() -> None:
    """Waits for what a program has submitted, unless somebody has interrupted it."""
    is_interrupted = not hasattr(sys, "ps1") and issubclass(
        getattr(sys, "last_type", None) or object, KeyboardInterrupt
    )
    for pool in list(pools):
        with contextlib.suppress(KeyboardInterrupt):
            if not is_interrupted:
                pool.shutdown()
                continue
        pool.kill_workers()
