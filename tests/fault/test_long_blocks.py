# SPDX-License-Identifier: Apache-2.0
"""Collectives of long blocks between ranks that share no memory: who copies what."""

from __future__ import annotations

import re

import pytest
from launched import Launched, skip_without_fabric, soon

skip_without_fabric()

_told = re.compile(r"^rank (\d): (\d+) bytes sent, (\d+) read$", re.M)
_mib = 1 << 20


def _run(ranks: int, *arguments: str, **changes: str) -> list[tuple[int, int]]:
    """@return what each rank has sent and read."""
    with Launched(ranks, "test_long_blocks", *arguments, SELION_TEST_HOSTS=str(ranks),
                  **changes) as job:
        outcome = job.end(within=2 * soon)
    assert outcome.status == 0, outcome.err
    told = {int(rank): (int(sent), int(read)) for rank, sent, read in _told.findall(outcome.out)}
    assert sorted(told) == list(range(ranks)), outcome.out
    return [told[rank] for rank in range(ranks)]


@pytest.mark.parametrize("provider", ["net", "tcp;ofi_rxm"])
def test_two_ranks_read_what_they_need_where_it_lies(provider: str):
    first, second = _run(2, SELION_FABRIC_PROVIDER=provider)
    # A block of the exchange, one of the all_gather, two halves of the sum, and the broadcast's.
    assert first == (0, 4 * _mib)
    assert second == (0, 3 * _mib)


def test_more_ranks_send_no_block_of_an_exchange_or_an_all_gather():
    for sent, read in _run(3, SELION_FABRIC_PROVIDER="net"):
        assert sent <= 2 * _mib  # of the sum, whose steps change what they send
        assert read >= 4 * _mib


@pytest.mark.parametrize(("arguments", "changes"), [
    ([], {"SELION_FABRIC_PROVIDER": "udp;ofi_rxd"}),  # moves nothing by itself
    ([], {"SELION_RANK_DEATH": "report"}),  # who reads may die
    (["limited"], {}),  # who gives may give up
])
def test_blocks_are_sent_where_nobody_may_read_them(arguments: list[str],
                                                    changes: dict[str, str]):
    for sent, read in _run(2, *arguments, **changes):
        assert sent >= 2 * _mib
        assert read == 0


def test_who_gives_up_while_it_reads_is_not_written_to_and_the_other_goes_on():
    with Launched(2, "test_long_blocks", "hasty", SELION_TEST_HOSTS="2") as job:
        outcome = job.end(within=2 * soon)
    assert outcome.status == 0, outcome.err
    assert outcome.out.split() == ["passed"] * 2
