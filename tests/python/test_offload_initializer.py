# SPDX-License-Identifier: Apache-2.0
"""What the workers of a pool call first, and pools that are broken because it has raised."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

from conftest import needs_module, seconds
from selion.offload import Pool, WorkerDied

pytestmark = needs_module

prepared = []


def prepare(*values):
    prepared.append(values)


def last_prepared():
    assert len(prepared) == 1, "once in each worker"
    return os.getpid(), *prepared[0]


def test_workers_call_an_initializer_first():
    weights = np.arange(10_000.0)
    with Pool(workers=2, initializer=prepare, initargs=("a", weights)) as pool:
        found = [call.result() for call in [pool.submit(last_prepared) for _ in range(20)]]
        for _, word, array in found:
            assert word == "a" and (array == weights).all()
        with pytest.raises(WorkerDied):
            pool.submit(os._exit, 3).result()
        while len({worker for worker, *_ in found}) < 3:  # the other one goes on meanwhile
            found.append(pool.submit(last_prepared).result())
    assert not prepared


def refuse_when(submitted, text):
    """Raises when all has been submitted: before that, `submit` would raise."""
    while not submitted.exists():
        time.sleep(0.001)
    raise ValueError(text)


def succeed_once(submitted, file):
    """In one process."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        refuse_when(submitted, "the other one was first")


def nap_and_tell():
    time.sleep(0.01)
    return os.getpid()


def test_an_initializer_that_raises_breaks_the_pool(tmp_path):
    """Also where another worker is ready, which ends."""
    submitted, file = tmp_path / "submitted", tmp_path / "file"
    with Pool(workers=2, initializer=succeed_once, initargs=(submitted, file)) as pool:
        calls = [pool.submit(nap_and_tell) for _ in range(100)]
        submitted.touch()
        told = [call.exception(60) for call in calls]
        ready = {calls[i].result() for i in range(100) if told[i] is None}
        broken = [each for each in told if each is not None]
        assert len(ready) <= 1 and {type(each) for each in broken} == {BrokenProcessPool}
        for each in broken:
            assert str(each.__cause__) == "the other one was first"
            assert each.__cause__.__notes__ == ["raised by the initializer of this pool's workers"]
        assert not any(os.path.exists(f"/proc/{each}/exe") for each in ready)
        for attempt in (lambda: pool.submit(abs, -1), lambda: pool.map(abs, [-1]),
                        lambda: pool.array(3), lambda: pool.workers):
            with pytest.raises(BrokenProcessPool, match="initializer.*has raised ValueError"):
                attempt()
    with pytest.raises(BrokenProcessPool):
        pool.submit(abs, -1)


@pytest.mark.parametrize("length", [1, 10_000])  # in the message, and fetched
def test_who_waits_sees_that_a_pool_is_broken(tmp_path, length):
    """In a callback, with `wait`, and who has cancelled a call."""
    file = tmp_path / "submitted"
    with Pool(workers=1, initializer=refuse_when, initargs=(file, "x" * length)) as pool:
        calls = [pool.submit(abs, -1) for _ in range(8)]
        assert calls[-1].cancel()
        seen = []
        calls[1].add_done_callback(lambda call: seen.append(call.exception()))
        file.touch()
        done, left = concurrent.futures.wait(calls, timeout=60)
        assert len(done) == 8 and not left
        assert {type(call.exception()) for call in calls[:-1]} == {BrokenProcessPool}
        assert calls[-1].cancelled() and seen[0].__cause__.args == ("x" * length,)


@dataclasses.dataclass(frozen=True)
class Unchangeable(Exception):
    """To which no note can be added, nor a cause."""

    text: str


def refuse():
    raise Unchangeable("no")


class Unreadable(Exception):
    """Which the host cannot read."""

    def __reduce__(self):
        return expect_worker, (os.getpid(),)


def expect_worker(maker):
    assert os.getpid() == maker
    return Unreadable()


def refuse_unreadably():
    raise Unreadable


@pytest.mark.parametrize(
    "initializer, cause",
    [(refuse, "Unchangeable"), (sys.exit, "SystemExit"), (refuse_unreadably, "Assertion")],
)
def test_whatever_an_initializer_raises_breaks_the_pool(initializer, cause):
    """Nor does the host leave where they have."""
    with Pool(workers=1, initializer=initializer) as pool:
        for _ in range(3):
            with pytest.raises(BrokenProcessPool) as told:
                pool.submit(abs, -1).result(60)
            assert cause in repr(told.value.__cause__)


def test_an_initializer_sets_variables_of_the_main_program(tmp_path):
    (tmp_path / "main.py").write_text(
        "import functools\n"
        "from selion.offload import Pool\n"
        "scale, kept, held = None, 'kept', {}\n"
        "def prepare(value):\n"
        "    global scale\n"
        "    scale = value\n"
        "    held['offset'] = 1\n"
        "def scaled(number):\n"
        "    return inner(number), kept\n"
        "def inner(number):\n"
        "    return number * scale + held['offset']\n"
        "class Scaled:\n"
        "    def method(self, number):\n"
        "        return scaled(number)\n"
        "    __call__ = method\n"
        "def applied(function, number):\n"
        "    return function(number)\n"
        "if __name__ == '__main__':\n"
        "    with Pool(workers=2, initializer=prepare, initargs=(10,)) as pool:\n"
        "        one = Scaled()\n"
        "        forms = (scaled, one, one.method, functools.partial(scaled))\n"
        "        for form in forms * 3:\n"
        "            assert pool.submit(form, 3).result() == (31, 'kept')\n"
        "            assert pool.submit(applied, form, 3).result() == (31, 'kept')\n"
        "        print(*pool.map(scaled, range(3), chunksize=2), scale, held)\n"
    )
    done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=seconds)
    assert done.stderr == ""
    assert done.stdout == "(1, 'kept') (11, 'kept') (21, 'kept') None {}\n"


def test_initializers_that_cannot_be():
    with pytest.raises(TypeError, match="initializer is 3; legal is a function, or None"):
        Pool(workers=1, initializer=3)
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        Pool(workers=1, initializer=abs, initargs=3)
