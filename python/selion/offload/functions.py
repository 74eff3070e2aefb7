# SPDX-License-Identifier: Apache-2.0
"""Functions as a pool sends them to its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import cloudpickle


class Text:
    """A function, pickled, and what keeps whatever it is known by."""

    def __init__(self, fn: Any) -> None:
        self.pickled = cloudpickle.dumps(fn, protocol=5)
        self.name = name_of(fn)
        self.fn = fn


class Function:
    """A function in shared memory, as long as somebody has this."""

    def __init__(self, core: Any, number: int, text: Text) -> None:
        self.bytes = len(text.pickled)
        block = core.allocate(self.bytes)
        self._memory = core.own(block, self.bytes)
        core.write(block, text.pickled)
        self.number, self.part = number, (block, self.bytes)
        self.name, self.fn = text.name, text.fn


class Chunk:
    """A function over several tuples of arguments."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.function = fn

    def __call__(self, chunk: list[tuple[Any, ...]]) -> list[Any]:
        return [self.function(*each) for each in chunk]


def name_of(fn: Any) -> str:
    """What the program calls a function, a class, or the class of an object that is called."""
    if isinstance(fn, Chunk):
        return name_of(fn.function)
    return str(getattr(fn, "__qualname__", type(fn).__qualname__))


Key = tuple[bool, int]


def key_of(fn: Any) -> Key | None:
    """What a function is known by as long as somebody has it, if pickling it once is enough: one or
    a class, without an object that may change from call to call, as a method or a
    `functools.partial` has one. None: it is pickled each time."""
    inner = fn.function if isinstance(fn, Chunk) else fn
    is_fixed = isinstance(inner, (FunctionType, type))
    if isinstance(inner, BuiltinFunctionType):
        is_fixed = inner.__self__ is None or isinstance(inner.__self__, ModuleType)
    return (inner is fn, id(inner)) if is_fixed else None


def chunks(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    for each in items:
        chunk.append(each)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
