# SPDX-License-Identifier: Apache-2.0
"""How a worker process is started."""

from __future__ import annotations

from selion import job

# Ctrl-C reaches workers too; what it means the host decides, also while they still import. It is
# not ignored: programs that a function starts would ignore it as well. Until here it is held back.
_without_interrupts = (
    "import signal; signal.getsignal(signal.SIGINT) == signal.SIG_IGN or "
    "signal.signal(signal.SIGINT, lambda *_: None); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])"
)


def command() -> list[str]:
    """The program of a worker, and its arguments."""
    return job.interpreter("selion.offload.worker", first=_without_interrupts)
