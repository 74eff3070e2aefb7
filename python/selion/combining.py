# SPDX-License-Identifier: Apache-2.0
"""Reductions by functions of Python's, in place of the names of operations."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from selion._core import Team

_Function = Callable[[Any, Any], Any]

#: Functions that mean an operation which has a name, and are carried out as that.
_names: dict[Any, str] = {
    builtins.sum: "plus",
    operator.add: "plus",
    np.add: "plus",
    math.prod: "times",
    operator.mul: "times",
    np.multiply: "times",
    builtins.min: "minimum",
    np.minimum: "minimum",
    builtins.max: "maximum",
    np.maximum: "maximum",
}


def name_of(operation: Any) -> str | None:
    """Name of an operation, given by that or by a function that means it; None: another function.

    @error TypeError for what is neither a name nor a function.
    """
    if isinstance(operation, str):
        return operation
    if not callable(operation):
        raise TypeError(
            f"The operation is {operation!r}; legal: plus, times, minimum, maximum, or a function "
            "of two values."
        )
    try:
        return _names.get(operation)
    except TypeError:  # an object that has no hash
        return None


def _expect_no_out(what: str, out: Any) -> None:
    if out is not None:
        raise TypeError(
            f"out of {what} is for operations that have a name: plus, times, minimum, maximum."
        )


def _fold(operation: _Function, values: Sequence[Any]) -> Any:
    """From the first member to the last, whatever the machine."""
    return functools.reduce(operation, values)


def all_reduce(team: Team, value: Any, operation: Any, out: Any) -> Any:
    """What `Team.all_reduce` does with a function that means no name."""
    _expect_no_out("all_reduce", out)
    return _fold(operation, team.all_gatherv(value))


def reduce(team: Team, value: Any, operation: Any, root: Any, out: Any) -> Any:
    """What `Team.reduce` does with a function that means no name."""
    _expect_no_out("reduce", out)
    values = team.gatherv(value, root)
    return None if values is None else _fold(operation, values)


def reduce_scatter(team: Team, values: Any, operation: Any, out: Any) -> Any:
    """What `Team.reduce_scatter` does with a function that means no name."""
    _expect_no_out("reduce_scatter", out)
    return _fold(operation, team.exchangev(values))


def scan(team: Team, value: Any, operation: Any, out: Any) -> Any:
    """What `Team.scan` does with a function that means no name."""
    _expect_no_out("scan", out)
    return _fold(operation, team.all_gatherv(value)[: team.rank + 1])


def exscan(team: Team, value: Any, operation: Any, first: Any, out: Any) -> Any:
    """What `Team.exscan` does with a function that means no name."""
    _expect_no_out("exscan", out)
    before = team.all_gatherv(value)[: team.rank]
    return _fold(operation, before) if before else first


def name_for_started(operation: Any) -> str:
    """The same where nothing but what has a name can be started.

    @error TypeError for other functions.
    """
    name = name_of(operation)
    if name is None:
        raise TypeError(
            "A reduction by a function cannot be started; start an all_gather of arrays and "
            "combine them, or pass plus, times, minimum or maximum."
        )
    return name
