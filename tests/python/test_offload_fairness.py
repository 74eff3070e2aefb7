# SPDX-License-Identifier: Apache-2.0
"""Calls that have been sent to a worker which is busy for long, while another one is idle."""

from __future__ import annotations

import threading
import time

from conftest import needs_module
from selion.offload import Pool

pytestmark = needs_module


def seen_within(path, seconds):
    """Whether a file is made within that time."""
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.005)
    return path.exists()


def touch(path):
    path.touch()


def give(value):
    return value


def test_short_calls_overtake_a_long_one(tmp_path):
    with Pool(workers=2) as pool:
        long_one = pool.submit(seen_within, tmp_path / "over", 20)
        assert [call.result(60) for call in [pool.submit(give, i) for i in range(9)]] == [*range(9)]
        assert not long_one.done()
        pool.submit(touch, tmp_path / "over")
        assert long_one.result(60)


def test_a_call_may_wait_for_one_behind_it(tmp_path):
    with Pool(workers=2) as pool:
        waits = pool.submit(seen_within, tmp_path / "made", 20)
        others = [pool.submit(give, 1), pool.submit(touch, tmp_path / "made")]
        assert waits.result(60)
        assert [call.result(60) for call in others] == [1, None]


def test_who_only_asks_has_calls_moved_as_well(tmp_path):
    with Pool(workers=2) as pool:
        waits = pool.submit(seen_within, tmp_path / "made", 20)
        others = [pool.submit(give, 1), pool.submit(touch, tmp_path / "made")]
        while not waits.done():
            time.sleep(0.001)
        assert waits.result()
        assert all(call.done() for call in others)


def test_calls_move_while_another_thread_waits(tmp_path):
    with Pool(workers=2) as pool:
        waits = pool.submit(seen_within, tmp_path / "made", 20)
        other = threading.Thread(target=waits.result)
        other.start()
        for i in range(5):
            assert pool.submit(give, i).result(60) == i
        calls = [pool.submit(give, 1), pool.submit(touch, tmp_path / "made")]
        assert waits.result(60)
        other.join()
        assert [call.result(60) for call in calls] == [1, None]


def test_calls_move_to_workers_that_are_replaced_after_some_calls(tmp_path):
    with Pool(workers=2, max_tasks_per_child=2) as pool:
        waits = pool.submit(seen_within, tmp_path / "made", 40)
        others = [pool.submit(give, i) for i in range(7)]
        assert [call.result(60) for call in others] == [*range(7)]
        pool.submit(touch, tmp_path / "made")
        assert waits.result(60)
        assert pool.replaced == 0
