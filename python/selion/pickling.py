# SPDX-License-Identifier: Apache-2.0
"""Objects on their way to other ranks."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle


def dumps(value: Any) -> bytes:
    """Pickled by the standard library, which names what has a name; else by cloudpickle.

    @error TypeError for what neither can.
    """
    try:
        return pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    try:
        return bytes(cloudpickle.dumps(value, protocol=5))
    except Exception as problem:
        raise TypeError(f"This cannot be sent to another rank: {problem}") from problem


def loads(data: bytes | memoryview) -> Any:
    """What `dumps` has pickled: arrays, signals and worlds of the job are the caller's own."""
    return pickle.loads(data)
