# SPDX-License-Identifier: Apache-2.0
"""Small operations on the machine `fabric` that leave together: what it costs, that order and
quiet are as ever, and that nothing stays behind while its rank computes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from launched import Launched, skip_without_fabric, soon

skip_without_fabric()

_alone = "fabric,direct=off"
_count = 20_000
_told = re.compile(r"rank (\d) of \d on host \S+: (\d+) small operations have left in (\d+) "
                   "batches")


@pytest.mark.parametrize("provider", ["net", "tcp;ofi_rxm", "udp;ofi_rxd", "sockets"])
def test_rows_arrive_whole_and_cost_a_frame_for_hundreds(provider: str):
    with Launched(2, "test_batches", "rows", str(_count), SELION_MACHINE=_alone,
                  SELION_FABRIC_PROVIDER=provider, SELION_VERBOSE="1") as job:
        outcome = job.end(within=90)
    assert outcome.status == 0, outcome.err
    told = {int(rank): (int(small), int(batches))
            for rank, small, batches in _told.findall(outcome.err)}
    assert sorted(told) == [0, 1], outcome.err
    for small, batches in told.values():
        # Puts, atomics, messages, gets, and the answers to the other rank's gets: but for those
        # that leave by themselves, and waits for a window in between.
        assert small > 4.5 * _count
        assert batches < small / 100


def test_switched_off_each_leaves_by_itself():
    with Launched(2, "test_batches", "rows", "600", SELION_MACHINE=_alone, SELION_VERBOSE="1",
                  SELION_FABRIC_BATCHES="off") as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    assert not _told.search(outcome.err)


@pytest.mark.parametrize("ranks", [2, 3])
def test_quiet_waits_for_what_has_gathered(ranks: int):
    with Launched(ranks, "test_batches", "ends", "900", SELION_MACHINE=_alone) as job:
        outcome = job.end(within=2 * soon)
    assert outcome.status == 0, outcome.err


@pytest.mark.parametrize("machine", [_alone, "fabric:x2,direct=off", "fabric,progress=interrupt"])
def test_what_a_computing_rank_has_begun_leaves(machine: str):
    processes = 1 if "x2" in machine else 2
    with Launched(processes, "test_batches", "computing", SELION_MACHINE=machine) as job:
        outcome = job.end(within=2 * soon)
    assert outcome.status == 0, outcome.err


@pytest.mark.parametrize("provider", ["net", "tcp;ofi_rxm"])
def test_what_stands_behind_longer_puts_leaves_too(provider: str, tmp_path: Path):
    (tmp_path / "heard").touch()
    with Launched(2, "test_batches", "behind", str(tmp_path / "heard"), SELION_MACHINE=_alone,
                  SELION_FABRIC_PROVIDER=provider) as job:
        outcome = job.end(within=2 * soon)
    assert outcome.status == 0, outcome.err


def test_a_switch_that_is_none_is_named():
    with Launched(2, "test_batches", "ends", "1", SELION_FABRIC_BATCHES="maybe") as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert "SELION_FABRIC_BATCHES" in outcome.err
