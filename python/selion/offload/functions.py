# SPDX-License-Identifier: Apache-2.0
"""Functions as a pool sends them to its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import cloudpickle


class Function:
    """A function in shared memory, as long as somebody has this."""

    def __init__(self, core: Any, number: int, fn: Any) -> None:
        pickled = cloudpickle.dumps(fn, protocol=5)
        block = core.allocate(len(pickled))
        self._memory = core.own(block, len(pickled))
        core.write(block, pickled)
        self.number, self.part = number, (block, len(pickled))
        self.name = name_of(fn)


class Chunk:
    """A function over several tuples of arguments. As good as any other of the same function."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.function = fn

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chunk) and self.function == other.function

    def __hash__(self) -> int:
        return hash((Chunk, self.function))

    def __call__(self, chunk: list[tuple[Any, ...]]) -> list[Any]:
        return [self.function(*each) for each in chunk]


def name_of(fn: Any) -> str:
    """What the program calls a function, a class, or the class of an object that is called."""
    if isinstance(fn, Chunk):
        return name_of(fn.function)
    return str(getattr(fn, "__qualname__", type(fn).__qualname__))


def is_fixed(fn: Any) -> bool:
    """Whether pickling it once is enough: a function or a class, without an object that may change
    from call to call, as a method or a `functools.partial` has one."""
    if isinstance(fn, (FunctionType, type)):
        return True
    if isinstance(fn, BuiltinFunctionType):
        return fn.__self__ is None or isinstance(fn.__self__, ModuleType)
    return isinstance(fn, Chunk) and is_fixed(fn.function)


def chunks(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    for each in items:
        chunk.append(each)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
