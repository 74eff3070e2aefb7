# SPDX-License-Identifier: Apache-2.0
"""Exceptions on their way to another process, with the traceback of where they were raised."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

import cloudpickle

from selion.outcome import failure_of


class Raised:
    """An exception with the text of where it was raised."""

    def __init__(self, exception: BaseException) -> None:
        self.text = "".join(traceback.format_exception(exception))
        self.exception = exception

    @staticmethod
    def pickled(exception: BaseException) -> bytes:
        """Bytes of it; of one that cannot be pickled, of a RuntimeError that tells of it."""
        try:
            data = bytes(cloudpickle.dumps(Raised(exception), protocol=5))
            pickle.loads(data)  # not all that can be written can be read
            return data
        except BaseException:
            return bytes(cloudpickle.dumps(Raised.told(exception), protocol=5))

    @staticmethod
    def told(exception: BaseException) -> Raised:
        """A RuntimeError that tells of an exception which cannot be pickled."""
        text = f"{failure_of(exception)} (which cannot be pickled)"
        replacement = Raised(RuntimeError(text))
        replacement.text = "".join(traceback.format_exception(exception))
        return replacement

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.exception, self.text)


class _FromAfar(Exception):
    """Shown as the cause: what would have been printed there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def _rebuild(exception: BaseException, text: str) -> BaseException:
    exception.__cause__ = _FromAfar(text)
    return exception
