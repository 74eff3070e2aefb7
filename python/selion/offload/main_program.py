# SPDX-License-Identifier: Apache-2.0
"""Global variables of the main program in a worker.

Its functions come by value, each with global variables of its own: those that it reads, as the host
had them. What an initializer sets is for all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

from selion.offload.functions import Chunk

_name = "__main__"


def call(initializer: Callable[[], Any]) -> dict[str, Any]:
    """Calls it. What it has set of the main program's variables."""
    variables = _variables(initializer)
    before = dict(variables)
    initializer()
    return {
        name: value
        for name, value in variables.items()
        if name not in before or before[name] is not value
    }


def give(function: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Sets variables of a function of the main program."""
    _variables(function).update(values)


def _variables(function: Any) -> dict[str, Any]:
    """Those that a function has; of none that is the main program's, an empty one."""
    while True:
        if isinstance(function, Chunk):
            function = function.function
        elif isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        else:
            break
    if not hasattr(function, "__globals__"):
        function = getattr(type(function), "__call__", None)
    found: dict[str, Any] = getattr(function, "__globals__", {})
    return found if found.get("__name__") == _name else {}
