# SPDX-License-Identifier: Apache-2.0
"""What handlers of signals raise while a pool is at work goes to the program, not to a call."""

from __future__ import annotations

import os
import signal

import pytest

from selion.offload import Pool

host = os.getpid()
to_come = []  # signals, while something is read or written here


class Alarm(Exception):
    pass


@pytest.fixture(params=[Alarm, SystemExit, ValueError, ConnectionError])
def alarm(request):
    """Type of what the handler raises."""

    def ring(number, frame):
        raise request.param("rung")

    before = signal.signal(signal.SIGALRM, ring)
    yield request.param
    signal.signal(signal.SIGALRM, before)
    to_come.clear()


def build(value):
    if os.getpid() == host and to_come:
        signal.raise_signal(to_come.pop())
    if value is None:
        raise OSError("not to be read")
    return value


class Noisy:
    """Written as a call that reads a value, at which signals come."""

    def __init__(self, value, at_writing=False):
        self.value, self.at_writing = value, at_writing

    def __reduce__(self):
        if self.at_writing:
            build(self.value)
        return build, (self.value,)


def test_while_a_result_is_read(alarm):
    with Pool(workers=1, shared_bytes=8 << 20) as pool:
        call = pool.submit(Noisy, 3)
        to_come.append(signal.SIGALRM)
        with pytest.raises(alarm, match="rung"):
            call.result(20)
        assert not to_come
        assert call.result(20) == 3


def test_while_a_result_is_read_that_cannot_be(alarm):
    with Pool(workers=1, shared_bytes=8 << 20) as pool:
        call = pool.submit(Noisy, None)
        to_come.append(signal.SIGALRM)
        with pytest.raises(alarm, match="rung"):
            call.result(20)
        with pytest.raises(OSError, match="not to be read"):
            call.result(20)


def test_while_arguments_are_written(alarm):
    with Pool(workers=1, shared_bytes=8 << 20) as pool:
        to_come.append(signal.SIGALRM)
        with pytest.raises(alarm, match="rung"):
            pool.submit(abs, Noisy(-2, at_writing=True))
        assert pool.submit(abs, Noisy(-2, at_writing=True)).result(20) == 2


def test_while_a_result_is_taken(alarm):
    with Pool(workers=1, shared_bytes=8 << 20) as pool:
        take = pool._results.take

        def take_later(call):
            build(1)
            return take(call)

        pool._results.take = take_later
        call = pool.submit(abs, -4)
        to_come.append(signal.SIGALRM)
        with pytest.raises(alarm, match="rung"):
            call.result(20)
        assert call.result(20) == 4
