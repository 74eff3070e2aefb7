# SPDX-License-Identifier: Apache-2.0
"""Calls that come to nothing, and pools that call nothing any more."""

from __future__ import annotations

from selion.offload.call import Call, Skipped


class WorkerDied(ConnectionError):
    """A worker ended while it ran a function, or with a long result (more than 4 KiB) that had not
    been fetched; another one has taken its place."""


def trouble_of(call: Call, raised: BaseException) -> BaseException:
    """What the library says of a call that has no result, as its caller is told."""
    if isinstance(raised, ValueError):
        if call._fetched is not None:  # it has run: only its result cannot be had any more
            return WorkerDied(call._told(raised))
        return Skipped(str(raised)) if call._is_given_up else raised
    if isinstance(raised, ConnectionError):
        return WorkerDied(call._told(raised))
    return raised


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
