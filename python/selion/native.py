# SPDX-License-Identifier: Apache-2.0
"""The compiled module, which may be absent: importing the package never depends on it."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

from selion.mistake import Failure

_cure = (
    "build it with 'pip install .' in the source tree "
    "(needs g++, cmake, libboost-context-dev, libhwloc-dev, libfmt-dev, "
    "libtomlplusplus-dev); "
    "'selion doctor' says what is missing"
)


def try_load() -> tuple[ModuleType | None, str]:
    """The module, or None and why it cannot be loaded."""
    try:
        return importlib.import_module("selion._core"), ""
    except ImportError as problem:
        return None, str(problem)


def load() -> ModuleType:
    """The module.

    @error Failure if it cannot be loaded; the sentence names the cure.
    """
    module, reason = try_load()
    if module is None:
        raise Failure(f"The compiled module selion._core cannot be loaded ({reason}); {_cure}.")
    return module


def compiler() -> str | None:
    """The compiler that made the module, and with it the programs of the studies."""
    module, _ = try_load()
    return str(module.compiler) if module else None


def usable_cores() -> int:
    """Processors that this process may use."""
    module, _ = try_load()
    return module.usable_cores() if module else len(os.sched_getaffinity(0))
