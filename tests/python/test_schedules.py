# SPDX-License-Identifier: Apache-2.0
"""`selion.schedules`: requests, what one rank does, and plays."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from conftest import every_schedule, needs_module
from selion import schedules

pytestmark = needs_module


# --- the module -----------------------------------------------------------------------------------


def test_collectives_and_algorithms():
    assert schedules.collectives()[0] == "barrier"
    assert schedules.collectives()[-1] == "exchange"
    assert schedules.algorithms("scan") == ("binary", "chain", "recursive_doubling")
    assert schedules.has_root("gather") and not schedules.has_root("all_gather")
    assert schedules.uses_radix("bruck") and not schedules.uses_radix("ring")


def test_one_rank():
    own = schedules.make(schedules.Request("all_reduce", "k_nomial", ranks=4), rank=2)
    whole = (schedules.BlockRange(0, 1),)
    assert own.blocks == 1
    assert own.steps == (
        schedules.Step((), (schedules.Message(3, whole, "combine_after"),)),
        schedules.Step((schedules.Message(0, whole, "combine_after"),), ()),
        schedules.Step((), (schedules.Message(0, whole, "store"),)),
        schedules.Step((schedules.Message(3, whole, "store"),), ()),
    )


@pytest.mark.parametrize("ranks", [1, 2, 7, 8])
def test_a_play_has_the_messages_of_all_ranks(ranks):
    for request in every_schedule(ranks):
        played = schedules.play(request)
        sent = Counter(
            (rank, each.peer, each.blocks, each.action)
            for rank in range(ranks)
            for step in schedules.make(request, rank).steps
            for each in step.sends
        )
        assert sent == Counter(
            (each.source, each.target, each.blocks, each.action) for each in played.messages
        ), request
        assert {each.round for each in played.messages} == set(range(played.rounds)), request


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"collective": "brodcast"}, "there is no collective 'brodcast' (did you mean 'broadcast'"),
        ({"algorithm": "tree"}, "broadcast has no algorithm tree; it has flat"),
        ({"algorithm": "ring"}, "broadcast has no algorithm ring; it has flat, k_nomial"),
        ({"ranks": 0}, "there are no ranks"),
        ({"ranks": -1}, "ranks cannot be -1; legal: 1 to 4294967295"),
        ({"ranks": 2**32}, "ranks cannot be 4294967296"),
        ({"root": 8}, "the root 8 is no rank; ranks are 0 to 7"),
        ({"radix": 1}, "a radix of 1 is not possible; legal: 2 to 8"),
        ({"algorithm": "hierarchical", "group": 0}, "a group of 0 ranks is not possible"),
    ],
)
def test_requests_that_are_not_legal(request_, sentence):
    parts = {"collective": "broadcast", "algorithm": "k_nomial", "ranks": 8} | request_
    with pytest.raises(ValueError, match=re.escape(sentence)):
        schedules.play(schedules.Request(**parts))


@pytest.mark.parametrize("rank", [4, -1])
def test_a_rank_that_is_not_there(rank):
    with pytest.raises(ValueError, match=f"rank.*{rank}.*0 to"):
        schedules.make(schedules.Request("barrier", "flat", 4), rank)
