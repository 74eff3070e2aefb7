# SPDX-License-Identifier: Apache-2.0
"""Global variables of the main program in a worker.

Its functions come by value, those of a message with variables of their own: what they read, as the
host had it. What an initializer sets is for all that come later.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

from cloudpickle import cloudpickle

from selion.offload.functions import Chunk

_name = "__main__"
_unchangeable = (
    type(None), bool, int, float, complex, str, bytes, FunctionType, type, ModuleType,
)


def call(initializer: Callable[[], Any]) -> None:
    """Calls it. What it has set of the main program's variables, or may have changed, functions
    that are loaded from now on find there."""
    variables = _variables(initializer)
    before = dict(variables)
    initializer()
    given = {
        name: value
        for name, value in variables.items()
        if name not in before
        or before[name] is not value
        or not isinstance(value, _unchangeable)
    }
    if given:
        _give_to_all(given)


def _give_to_all(values: dict[str, Any]) -> None:
    """All functions that cloudpickle loads pass through one of its own."""
    plain = cloudpickle._function_setstate

    @functools.wraps(plain)
    def set_state(function: Any, state: Any) -> None:
        plain(function, state)
        if function.__globals__.get("__name__") == _name:
            function.__globals__.update(values)

    cloudpickle._function_setstate = set_state


def _variables(function: Any) -> dict[str, Any]:
    """Those that a function has; of none that is the main program's, an empty one."""
    while True:
        if isinstance(function, Chunk):
            function = function.function
        elif isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        elif isinstance(function, FunctionType) and hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, type):
            function = getattr(function, "__init__", None)
        elif not isinstance(function, FunctionType):
            of_type = getattr(type(function), "__call__", None)
            if not isinstance(of_type, FunctionType):
                return {}
            function = of_type
        else:
            break
    found: dict[str, Any] = function.__globals__
    return found if found.get("__name__") == _name else {}
