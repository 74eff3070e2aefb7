# SPDX-License-Identifier: Apache-2.0
"""Pools that call nothing any more."""

from __future__ import annotations


class WorkerDied(ConnectionError):
    """A worker ended while it ran a function, or with a long result (more than 4 KiB) that had not
    been fetched; another one has taken its place."""


def broken(cause: BaseException) -> RuntimeError:
    """What the standard library raises of pools whose initializer has raised: BrokenProcessPool.

    :param cause: what it has raised
    """
    from concurrent.futures.process import BrokenProcessPool  # it loads much that few need

    trouble = BrokenProcessPool(
        "the initializer of this pool's workers has raised "
        f"{type(cause).__name__}, and they call nothing any more: make another pool"
    )
    trouble.__cause__ = cause
    return trouble
