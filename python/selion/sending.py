# SPDX-License-Identifier: Apache-2.0
"""Functions on their way to other interpreters, and what to say of those that cannot travel."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import cloudpickle


def pack(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """A function and its arguments by value.

    @error TypeError for what cannot be pickled; the sentence names it.
    """
    if not callable(function):
        raise TypeError(f"selion.run calls a function; this is {type(function).__name__}.")
    try:
        return bytes(cloudpickle.dumps((function, args), protocol=5))
    except Exception as problem:
        raise TypeError(_complaint(function, args, problem)) from problem


def _trouble(value: Any) -> Exception | None:
    try:
        cloudpickle.dumps(value, protocol=5)
    except Exception as problem:
        return problem
    return None


def _complaint(function: Callable[..., Any], args: tuple[Any, ...], problem: Exception) -> str:
    """Which of the parts it is."""
    name = getattr(function, "__name__", type(function).__name__)
    for number, value in enumerate(args, 1):
        trouble = _trouble(value)
        if trouble is not None:
            return (
                f"Argument {number} of '{name}', of type {type(value).__name__}, cannot be sent to "
                f"the ranks: {trouble}"
            )
    for variable, value in _variables(function):
        trouble = _trouble(value)
        if trouble is not None:
            return (
                f"The function '{name}' cannot be sent to the ranks, because its variable "
                f"'{variable}', of type {type(value).__name__}, cannot be pickled: {trouble}"
            )
    return f"The function '{name}' cannot be sent to the ranks: {problem}"


def _variables(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What a function refers to by name: globals, variables of functions around it, defaults."""
    inner = inspect.unwrap(function)
    inner = getattr(inner, "__func__", inner)
    if not isinstance(inner, FunctionType):
        return
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in sorted(set(_names(inner.__code__))):
        if name in inner.__globals__:
            yield name, inner.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
