# SPDX-License-Identifier: Apache-2.0
"""Ends programs that a benchmark has started, each in a session of its own: what a terminal sends
reaches the benchmark alone, which then ends them."""

import os
import signal
import subprocess

_grace_seconds = 5


def end_group(child: subprocess.Popen) -> None:
    """Ends a launcher, which then ends its ranks, and whoever of its group is left."""
    child.terminate()
    try:
        child.wait(_grace_seconds)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()
