# SPDX-License-Identifier: Apache-2.0
"""What can be called so that something happens."""

from __future__ import annotations

import inspect

_runs_later = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def expect_to_run(function: object) -> None:
    """@error TypeError for what does nothing when it is called, but gives something that does."""
    if not any(is_such(function) for is_such in _runs_later):
        return
    name = getattr(function, "__name__", type(function).__name__)
    raise TypeError(
        f"A call of '{name}' only makes a coroutine or a generator, which nobody runs: pass a "
        "function that runs it, by asyncio.run, say."
    )
