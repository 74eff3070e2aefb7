# SPDX-License-Identifier: Apache-2.0
"""Calls of Python functions on other ranks.

    total = world.call(1, sum_of, array, 3)     # a future
    world.send(2, note, "started")              # no answer
    print(total.result())

The target runs a function in its own calls that wait, or in `World.progress`, one at a time, with
the GIL. The function may put, add, notify and call further; it may get what is mapped, and there
use atomics that answer, such as fetch_add; it must not wait. Arguments that are arrays, signals or
worlds of the job become the target's own; everything else is pickled. A function or a class is
pickled when it is first called for a target: changes of what it refers to are not seen later. Other
callables, and what is long when it is pickled, go with each call.
"""

from __future__ import annotations

import itertools
import operator
import pickle
import threading
import types
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from selion import _core, callables, interruption, outcome, registry
from selion._core import Started, World
from selion.pickling import dumps
from selion.remote_exception import Raised

_Result = TypeVar("_Result")

# Kinds of messages, as in the bindings: calls, and answers.
_wanted, _unwanted, _returned, _raised = range(4)

# That a rank keeps for another one. The target keeps some more: what a handler or a thread sends
# while a call is on its way may come before it or after it.
_most_functions = 256
_most_functions_of_others = _most_functions + 64
_most_kept_bytes = 1 << 16  # of a function that is kept: with what it has captured


class Future(Generic[_Result]):
    """The result of a call on another rank. One that is dropped goes on."""

    def __init__(self, promise: Started) -> None:
        self._promise = promise
        self._reading = threading.RLock()  # several threads of a rank may ask
        self._kind = _returned
        self._value: Any = None
        self._has_come = False

    @property
    def is_ready(self) -> bool:
        """Whether `result` would return at once. If not, serves others: a loop of looks ends."""
        return self._promise.is_ready

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the answer is there, or for `timeout` seconds; returns whether it is."""
        return self._promise.wait(timeout)

    def result(self, timeout: float | None = None) -> _Result:
        """Waits for the result. Raises what the function has raised: its cause is the traceback.

        Asked again, it is the same object.

        @error TimeoutError when it is not there after `timeout` seconds; it goes on. Where the job
        outlives deaths, ConnectionError when the target has died before it has answered.
        """
        if not self._promise.wait(timeout):
            raise TimeoutError(f"The call has taken longer than {timeout} s; it goes on.")
        with self._reading:
            if not self._has_come:  # also after a handler of a signal has raised anywhere here
                self._kind, answer = _core.answer_of(self._promise)
                self._value = pickle.loads(answer)
                self._has_come = True
                _core.drop_answer(self._promise)
        if self._kind == _raised:
            raise self._value
        result: _Result = self._value
        return result


class _Mail:
    """What one rank has under way. In a simulation a process has several ranks."""

    def __init__(self) -> None:
        self.count = itertools.count(1)
        self.numbers: dict[int, tuple[Any, int]] = {}  # of functions, by identity
        self.known: dict[int, dict[int, None]] = {}  # of those that each target has
        self.change = threading.RLock()  # of the two above
        # From each origin; those that have not been loaded yet are bytes.
        self.functions: dict[int, dict[int, Callable[..., Any] | bytes]] = {}


_mail: dict[tuple[int, int], _Mail] = {}


def _own() -> _Mail:
    place = _core.caller()
    return _mail.get(place) or _mail.setdefault(place, _Mail())


def forget(but: int = 0) -> None:
    """All jobs are over, or all but one."""
    for place in [place for place in _mail if place[0] != but or not but]:
        del _mail[place]
    _core.forget_mail(but)


class _Ends(RuntimeError):
    """Its text is why the job ends."""


def words_of(exception: BaseException) -> str:
    """What is said where an exception ends the job."""
    return str(exception) if isinstance(exception, _Ends) else outcome.failure_of(exception)


def call(
    world: World, rank: int, function: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> Future[Any]:
    """What `World.call` does."""
    own, rank = _own(), operator.index(rank)
    request = _request(own, rank, function, args, named)
    number = next(own.count)
    try:
        future: Future[Any] = Future(_core.make_promise(number, rank))
        _send_request(own, rank, _wanted, number, request)
    except BaseException:  # also of a handler of a signal, when the answer may have come
        _core.cancel(number)
        raise
    return future


def send(
    world: World, rank: int, function: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """What `World.send` does."""
    own, rank = _own(), operator.index(rank)
    request = _request(own, rank, function, args, named)
    _send_request(own, rank, _unwanted, next(own.count), request)


# Number of a function, or 0; the function, where it is new to the target; arguments.
_Request = tuple[int, bytes | None, bytes]


def _is_kept(function: Any) -> bool:
    """Whether it stays the same while it is itself. Two other callables may be equal, and not do
    the same; methods of what is built in belong to an object that changes."""
    if isinstance(function, types.BuiltinFunctionType):
        return isinstance(function.__self__, (types.ModuleType, types.NoneType))
    return isinstance(function, (types.FunctionType, type))


def _request(
    own: _Mail, rank: int, function: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> _Request:
    """A call as it travels, with the function if it is new to the target."""
    if not callable(function):
        raise TypeError(f"A rank is asked to call a function; this is {type(function).__name__}.")
    arguments = dumps((args, named))
    is_kept = _is_kept(function)
    with own.change:
        _, number = own.numbers.get(id(function), (None, 0)) if is_kept else (None, 0)
        if number and number in own.known.get(rank, ()):
            return number, None, arguments
    callables.expect_to_run(function)
    pickled = dumps(function)
    if not is_kept or len(pickled) > _most_kept_bytes:
        return 0, pickled, arguments
    return number or _number_of(own, function), pickled, arguments


def _send_request(own: _Mail, rank: int, kind: int, number: int, request: _Request) -> None:
    _core.send_message(rank, kind, number, pickle.dumps(request))
    function, pickled, _ = request
    if function and pickled is not None:  # before, another call might have overtaken this one
        with own.change:
            _keep(own.known.setdefault(rank, {}), function, None, _most_functions)


def _number_of(own: _Mail, function: Any) -> int:
    with own.change:
        _, number = own.numbers.get(id(function), (None, 0))
        if not number:
            number = next(own.count)
            _keep(own.numbers, id(function), (function, number), _most_functions)
    return number


def _keep(known: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Both sides forget the oldest ones, which are the same: messages come in order, and what comes
    once more counts from then on."""
    known.pop(key, None)
    while len(known) >= most:
        del known[next(iter(known))]
    known[key] = value


def take(kind: int, origin: int, number: int, message: bytes) -> None:
    """A call has come. Called where handlers run."""
    # Before the rank's own function has begun there is nothing that a call could refer to.
    if registry.has_begun(lambda: _core.take_early_call(kind, origin, number, message)):
        _run(_own(), kind, origin, number, message)


def run_early(kind: int, origin: int, number: int, message: bytes) -> None:
    """The same of one that has come before the rank began, in its turn."""
    _run(_own(), kind, origin, number, message)


def give_up(kind: int, origin: int, number: int, message: bytes, exception: BaseException) -> bool:
    """A call has ended outside of its function, or has been interrupted there: what has been raised
    is this rank's own. Of two answers the first one counts.

    May be called again where it is interrupted itself. Returns whether the job is to end instead.
    """
    is_lost = kind == _unwanted and not interruption.is_one(exception)
    if isinstance(exception, _Ends) or is_lost:
        return True
    _note_function(_own(), origin, *pickle.loads(message)[:2])
    if kind == _wanted:
        told = RuntimeError(f"The call was interrupted there by {outcome.failure_of(exception)}.")
        _core.send_message(origin, _raised, number, Raised.pickled(told))
    return False


def _run(own: _Mail, kind: int, origin: int, number: int, message: bytes) -> None:
    try:
        function, args, named = _unpack(own, origin, message)
        value = registry.context().run(function, *args, **named)
        if kind == _unwanted:
            return
        answer = _returned, dumps(value)
    except BaseException as exception:
        if interruption.is_one(exception):
            raise
        if exception.__traceback__ is not None:  # what is told begins with the function
            exception.__traceback__ = exception.__traceback__.tb_next
        if kind == _unwanted:
            outcome.Printing().raised(registry.world(), exception)
            raise _Ends(outcome.failure_of(exception)) from None
        answer = _raised, Raised.pickled(_told(exception))
    _core.send_message(origin, answer[0], number, answer[1])


def _told(exception: BaseException) -> Exception:
    """What comes out of a caller's `result`: never what would have the caller leave as well."""
    if isinstance(exception, Exception):
        return exception
    told = RuntimeError(f"The called function has raised {outcome.failure_of(exception)}.")
    return told.with_traceback(exception.__traceback__)


def _unpack(own: _Mail, origin: int, message: bytes) -> tuple[Callable[..., Any], Any, Any]:
    number, pickled, arguments = pickle.loads(message)
    _note_function(own, origin, number, pickled)
    function = _function(own, origin, number, pickled)
    args, named = pickle.loads(arguments)
    return function, args, named


def _note_function(own: _Mail, origin: int, number: int, pickled: bytes | None) -> None:
    """The origin will call it by its number from now on, whatever becomes of this call."""
    if number and pickled is not None:
        known = own.functions.setdefault(origin, {})
        _keep(known, number, pickled, _most_functions_of_others)


def _function(own: _Mail, origin: int, number: int, pickled: bytes | None) -> Callable[..., Any]:
    """@error RuntimeError where it cannot be loaded; the next call tries again."""
    known = own.functions.get(origin, {})
    found = known[number] if number else pickled
    if not isinstance(found, bytes):
        return found  # type: ignore[return-value]  # None means a number
    try:
        function: Callable[..., Any] = pickle.loads(found)
    except Exception as problem:
        if interruption.is_one(problem):
            raise
        text = f"The function cannot be loaded here: {type(problem).__name__}: {problem}"
        raise RuntimeError(text) from None
    if number in known:
        known[number] = function
    return function
