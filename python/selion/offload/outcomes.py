# SPDX-License-Identifier: Apache-2.0
"""What has become of calls, until those who asked for them are told."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future

from selion.offload.call import Call, Skipped
from selion.offload.results import Answer


class Outcomes:
    """Of calls that are over. They are added with the pool's lock, and told without it: whoever is
    called back may wait for a thread that wants it, and so may what reads a value."""

    def __init__(self) -> None:
        self._found: deque[tuple[Call, Answer | None, BaseException | None]] = deque()

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, call: Call, answer: Answer | None, trouble: BaseException | None) -> None:
        """An answer, or why there is none."""
        self._found.append((call, answer, trouble))

    def tell(self) -> None:
        while self._found:
            try:
                call, answer, trouble = self._found.popleft()
            except IndexError:  # another thread tells it
                return
            try:
                _tell(call, answer, trouble)
            except BaseException:
                if not Future.done(call):
                    self._found.appendleft((call, answer, trouble))
                raise


def _tell(call: Call, answer: Answer | None, trouble: BaseException | None) -> None:
    if Future.done(call):
        return  # it was told, and settled once more behind an interrupt
    if isinstance(trouble, Skipped):
        Future.cancel(call)
    if not (Future.running(call) or call.set_running_or_notify_cancel()):
        return
    value = meanwhile = None
    if answer is not None:
        value, trouble, meanwhile = answer.read()
    if trouble is None:
        call.set_result(value)
    else:
        call.set_exception(trouble)
    if meanwhile is not None:
        raise meanwhile
