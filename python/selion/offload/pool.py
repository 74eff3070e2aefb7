# SPDX-License-Identifier: Apache-2.0
"""The host's side: an executor whose workers are processes."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import os
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import CancelledError, Executor, Future
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from selion import native
from selion.offload import background, messages, start
from selion.offload.broken import broken, trouble_of
from selion.offload.call import Call, Skipped
from selion.offload.extents import extent
from selion.offload.functions import Chunk, chunks
from selion.offload.interruptions import is_of_handler, tried
from selion.offload.options import expect_legal, expect_tasks, number_of_workers
from selion.offload.outcomes import Outcomes
from selion.offload.requests import Requests, Written
from selion.offload.results import Answer, Results
from selion.offload.turns import Turns

_longest_fetch_s = 0.05  # for which who submits waits where there is no room


class Pool(Executor):
    """Worker processes that run functions.

    :param workers: processes; None: one for each processor
    :param shared_bytes: memory that host and workers share, for arrays and messages; it is taken
        from the host as it is first used, and kept until the pool ends. Results that somebody has
        fill half of it at most: what comes beyond is copied to the process's own memory. A call
        that is not done has 4 KiB of it, and what copies of its arrays take; `submit` raises
        MemoryError if that is not there
    :param depth: calls under way on one worker: with 2 the next one's arguments are there when it
        is done
    :param spin: seconds that host and workers look for news before they sleep; None: 200 µs where
        each has a processor. Waking a sleeper takes tens of microseconds
    :param initializer: each worker calls it with `initargs` before its first function, which waits
        for that; so does one that takes another's place. If it raises, the pool is broken: its
        workers are ended, and calls that are not done, like later ones, raise BrokenProcessPool
        of `concurrent.futures`, whose cause is what it has raised
    :param max_tasks_per_child: calls after which a worker ends by itself, and a fresh one takes its
        place; of `map` each chunk is one. It ends when its results have been fetched; others go on
        meanwhile. None: workers stay
    :param max_workers: what `ProcessPoolExecutor` calls `workers`
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        shared_bytes: int = 4 << 30,
        depth: int = 2,
        spin: float | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        max_tasks_per_child: int | None = None,
        max_workers: int | None = None,
    ) -> None:
        count = number_of_workers(workers, max_workers)
        shared_bytes, depth = operator.index(shared_bytes), operator.index(depth)
        expect_legal(count, shared_bytes, depth, spin)
        most_tasks = expect_tasks(max_tasks_per_child)
        if initializer is not None and not callable(initializer):
            raise TypeError(f"initializer is {initializer!r}; legal is a function, or None")
        arguments = tuple(initargs)
        self._core = native.load().ProcessPool(
            count, start.command(), shared_bytes, depth, -1.0 if spin is None else spin
        )
        self._core.limit_calls(most_tasks)
        self._renews = most_tasks != 0  # its workers, who stay as long as calls of theirs are left
        self._maker = os.getpid()
        self._turns = Turns(self._core)
        self._pending: OrderedDict[Call, None] = OrderedDict()
        self._outcomes = Outcomes()
        self._requests = Requests(self._core, initializer, arguments)
        self._results = Results(self._core, self._requests, shared_bytes)
        self._broken_by: BaseException | None = None  # what the initializer has raised
        self._most_in_work = count * depth
        self._collector = background.Collector(self)
        self._is_shut = False
        background.pools.add(self)

    # --- the executor's own ---------------------------------------------------------------------

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> futures.Future[Any]:
        """Has a worker call `fn(*args, **kwargs)`.

        Returns at once, however many calls wait. Arrays from `array`, and parts of them, are not
        copied, and what the function writes to them is seen here; others are copied once. A
        function or a class is pickled when it is first called: changes of what it refers to are
        not seen later. Methods of objects, and others that have a state, are pickled each time. A
        function must not keep an argument's memory: it is used again when the call is done. What
        cannot be pickled is what the call has raised.
        """
        self._expect_accepts()
        call = Call(self)
        written, unpicklable = tried(lambda: self._requests.written(fn, args, kwargs))
        if written is None:
            call.set_exception(unpicklable)
            return call
        has_enough = False
        try:
            with self._turns, self._turns.lock:
                self._expect_accepts()
                self._send(call, written)
                has_enough = len(self._pending) > self._most_in_work or self._awaits_worker(call)
        finally:
            # Somebody has to send the rest, and to tell what was found when there was no room.
            if has_enough or self._outcomes:
                self._collector.start()
        return call

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[Any]:
        """As `ProcessPoolExecutor.map`: results in order, `chunksize` calls in a message.

        The function is pickled once.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        self._expect_maker()
        if chunksize == 1:
            return super().map(self._held(fn), *iterables, timeout=timeout)
        parts = chunks(zip(*iterables), chunksize)  # noqa: B905 - as the standard library's
        results = super().map(self._held(Chunk(fn)), parts, timeout=timeout)
        return (each for chunk in results for each in chunk)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the pool. Arrays of the pool stay readable as long as somebody has them.

        :param wait: until all calls are done and the workers have ended, which have 10 s for what
            programs do at their end
        """
        if self._is_anothers():
            return
        with self._turns, self._turns.lock:
            self._is_shut = True
            has_ended = self._core is None
            given_up = list(self._pending) if cancel_futures else []
        if has_ended:
            if wait:
                self._collector.wait_for_end()
            return
        for call in given_up:
            call.cancel()
        if not wait and self._pending:
            self._collector.start()
            return
        while True:
            with self._turns, self._turns.lock:
                first = next(iter(self._pending), None)
            if first is None:
                break
            self._drive(first, None)
        with self._turns, self._turns.lock:
            core = self._take_core()
        if core is None and wait:
            self._collector.wait_for_end()
        del core  # waits for the workers

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.kill_workers()  # who interrupts does not want to wait for what they do
        return super().__exit__(kind, value, trace)

    # --- more than an executor ------------------------------------------------------------------

    def kill_workers(self) -> None:
        """Ends the pool at once. Calls that workers have begun fail with `WorkerDied`, those that
        they have not are cancelled. Leaving a `with` by Ctrl-C does this."""
        if self._is_anothers():
            return
        with self._turns, self._turns.lock:
            for call in list(self._pending):
                call._is_given_up = True
            self._end_at_once()
        self._outcomes.tell()

    @property
    def workers(self) -> int:
        """Number of worker processes."""
        return int(self._own().size)

    @property
    def replaced(self) -> int:
        """Workers that have died and been replaced; not those of `max_tasks_per_child`."""
        return int(self._own().counts[2])

    def array(self, shape: int | Sequence[int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """An array in shared memory, all bytes zero. As an argument it is not copied.

        MemoryError: there is no room for it.
        """
        self._expect_maker()
        kind, sizes, length = extent(shape, dtype)
        try:
            with self._turns, self._turns.lock:
                core = self._own()
                place = self._with_room(lambda: core.allocate(max(length, 1)))
                whole: NDArray[np.uint8] = core.own(place, length)
        finally:
            if self._outcomes:
                self._collector.start()
        whole.fill(0)
        return whole.view(kind).reshape(sizes)

    # --- inside ---------------------------------------------------------------------------------

    def _is_anothers(self) -> bool:
        """In a process that was forked: the pool ends here without its workers."""
        if os.getpid() == self._maker:
            return False
        self._is_shut = True
        self._take_core()
        return True

    def _take_core(self) -> Any:
        """What the pool has in shared memory goes with it: somebody may keep the pool for long."""
        self._requests.end()
        self._results.end()
        self._turns.end()
        core, self._core = self._core, None
        return core

    def _end_at_once(self) -> None:
        """Workers, and with them the calls that are not done, which are settled. With the lock."""
        self._is_shut = True
        if self._core is None:
            return
        self._core.kill_workers()
        for call in list(self._pending):
            while call._started is not None:  # again if it was to be fetched
                self._settle(call)
        self._take_core()

    def _expect_maker(self) -> None:
        if os.getpid() != self._maker:
            raise RuntimeError(
                "this pool belongs to the process that has forked this one: make a pool here"
            )

    def _expect_unbroken(self) -> None:
        if self._broken_by is not None:
            raise broken(self._broken_by)

    def _expect_accepts(self) -> None:
        self._expect_maker()
        self._expect_unbroken()
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def _own(self) -> Any:
        self._expect_maker()
        self._expect_unbroken()
        if self._core is None:
            raise RuntimeError("the pool has been shut down")
        return self._core

    def _send(self, call: Call, written: Written) -> None:
        try:
            self._with_room(lambda: self._requests.send(call, written))
        except BaseException:
            if call._started is not None:  # interrupted, and on its way already
                call._started.cancel()
                self._pending[call] = None
            raise
        self._pending[call] = None

    def _awaits_worker(self, call: Call) -> bool:
        """Whether a call that fits in waits all the same: its worker has had enough, and the next
        one comes only while somebody looks."""
        return self._renews and call._started is not None and not call._started.has_worker

    def _held(self, fn: Any) -> Any:
        """A function as it is now, for several calls."""
        if self._is_shut:
            return fn  # `submit` refuses it
        text = self._requests.text(fn)
        with self._turns, self._turns.lock:
            return fn if self._is_shut else self._with_room(lambda: self._requests.held(text))

    def _with_room(self, attempt: Callable[[], Any]) -> Any:
        """Makes room in shared memory, if there is none, by settling calls that are done."""
        end, keeps_functions = None, True
        while True:
            try:
                return attempt()
            except MemoryError:
                if self._requests.shed_blocks():
                    continue
                now = time.monotonic()
                end = now + _longest_fetch_s if end is None else end
                if now > end or not self._gets_memory_back(end):
                    if not (keeps_functions and self._requests.shed_functions()):
                        raise
                    keeps_functions = False
                self._expect_unbroken()

    def _gets_memory_back(self, end: float) -> bool:
        """Settles what is done, and waits a moment for long results that are on their way."""
        before = self._requests.returns
        while True:
            self._settle_all()
            if self._requests.returns != before:
                return True
            fetched = [call for call in list(self._pending) if call._fetched is not None]
            left = end - time.monotonic()
            if not fetched or left <= 0:
                return False
            if fetched[0]._started is not None:
                fetched[0]._started.wait(left, False, True)

    def _drive(self, call: Call, timeout: float | None) -> None:
        """Until the call is done."""
        self._expect_maker()
        end = math.inf if timeout is None else time.monotonic() + timeout
        if math.isnan(end):
            raise ValueError("The time-out is nan seconds; legal is a number, or None for ever.")
        self._turns.begin()
        try:
            self._drive_on(call, end)
        finally:
            self._turns.leave()

    def _drive_on(self, call: Call, end: float) -> None:
        """By turns with others: waits for workers, or for whoever does."""
        looks, failures = True, 0
        turns, lock = self._turns, self._turns.lock
        while True:
            left = max(0.0, end - time.monotonic())
            # An interrupt may come between any two steps, also when it has the lock already.
            had_lock, has_lock = turns.has_lock(), False
            done = 0
            try:
                has_lock = lock.acquire(blocking=False)
                if has_lock:
                    done = self._wait_once(call, left, looks)
                is_over = call._started is None
            finally:
                if has_lock or (not had_lock and turns.has_lock()):
                    lock.release()
            if done:
                turns.hand_over()  # who is called back may need what others wait for
                self._outcomes.tell()
            if is_over and not Future.done(call):
                # Who has settled it may be called back now, or have been interrupted.
                self._outcomes.tell()
                with contextlib.suppress(CancelledError, TimeoutError):
                    Future.exception(call, min(left, turns.longest_s))
            if Future.done(call):
                return
            if left <= 0:
                raise TimeoutError
            if has_lock:
                looks, failures = looks and done > 0, 0
                turns.let_others()
            else:
                failures += 1
                turns.wait_patiently(call, left, failures)

    def _wait_once(self, call: Call, most: float, looks: bool) -> int:
        """Waits for a call, with the lock, and settles what is done. How much that was."""
        if call._started is None:
            return 0
        is_shared = self._turns.has_patients or self._collector.is_running or self._renews
        if is_shared and (done := self._settle_all()):
            return done
        is_done = self._turns.wait_for(call._started, most, looks=looks, is_shared=is_shared)
        if is_done:
            self._settle(call)
        return int(is_done) + (self._settle_all() if is_shared else 0)

    def _look_for(self, call: Call) -> None:
        """For who asks again and again; between two times somebody else has to look."""
        if os.getpid() != self._maker:
            return
        had_lock, has_lock = self._turns.has_lock(), False
        try:
            has_lock = self._turns.lock.acquire(blocking=False)
            if has_lock and call._started is not None and call._started.wait(0.0, False, False):
                self._settle(call)
        finally:
            if has_lock or (not had_lock and self._turns.has_lock()):
                self._turns.lock.release()
        self._outcomes.tell()
        if not Future.done(call):
            self._collector.start()

    def _settle(self, call: Call) -> None:
        """Takes the result of a call that is done, or begins to fetch it. With the lock.

        The outcome is told later, without the lock.
        """
        if call._started is None or not call._started.is_done():
            return  # somebody who was told of another one has been here
        answer: Answer | None = None
        trouble: BaseException | None = None
        try:
            answer = self._results.take(call)
            if answer is None:
                return
        except BaseException as raised:
            if isinstance(raised, KeyboardInterrupt) or is_of_handler(raised):
                raise  # no outcome of the call, which is settled later
            trouble = trouble_of(call, raised)
            if not isinstance(trouble, Skipped):
                trouble = self._why(trouble)
        breaks = answer is not None and answer.status == messages.unready
        if answer is not None and breaks:
            cause = answer.read().own_trouble or RuntimeError("the initializer has failed")
            breaks = self._broken_by is None
            if breaks:
                self._broken_by = cause
            answer, trouble = None, self._why(cause)
        self._pending.pop(call, None)  # else an interrupt had come behind this
        self._outcomes.add(call, answer, trouble)
        self._requests.give_back(call)
        if breaks:
            self._end_at_once()

    def _why(self, trouble: BaseException) -> BaseException:
        """Of calls that have failed: that the pool is broken, else what there was."""
        return trouble if self._broken_by is None else broken(self._broken_by)

    def _has_worker(self, call: Call) -> bool:
        if os.getpid() != self._maker:
            return False
        with self._turns, self._turns.lock:
            return bool(call._started is not None and call._started.has_worker)

    def _cancel(self, call: Call) -> bool:
        self._expect_maker()
        with self._turns, self._turns.lock:
            if call._started is not None and call._fetched is None:  # else its value is on the way
                call._is_given_up = True
                call._started.cancel()
                self._settle(call)
        self._outcomes.tell()
        return call.cancelled()

    def _settle_all(self) -> int:
        """Settles what is done, with the lock. How much that was."""
        done: list[Call] = []
        others = 0
        # A handler of signals may change what is pending.
        for call in list(itertools.islice(self._pending, 8 * self._most_in_work + 64)):
            if call._started is None:  # such a handler has settled it
                continue
            if call._started.is_done():  # oldest first, as workers get them
                done.append(call)
            elif call._fetched is None:  # else its worker may be busy, and others are not
                others += 1
            if others > self._most_in_work:
                break
        for call in done:
            self._settle(call)
        return len(done)

    def _collect_once(self) -> int:
        """Settles what is done, and tells it. How much that was."""
        with self._turns.lock:
            count = self._settle_all()
        self._outcomes.tell()
        return count

    def _has_work(self) -> bool:
        """Whether anybody is to be told anything. With the lock."""
        return bool(self._pending or self._outcomes)
