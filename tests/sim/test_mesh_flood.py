# SPDX-License-Identifier: Apache-2.0
"""All ranks of a mesh to all others, by transactions and by whole messages."""

import json

import pytest

chip = "sim:epiphany-iii"
small = f"{chip},memory.each_rank_kib=256"
wide = f"{small},rows=8,columns=8"


@pytest.fixture
def flood(on_machine):
    def run(machine: str, *arguments: str) -> dict:
        done = on_machine(machine, "test_mesh_flood", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("options", ["", ",network.dma_from_bytes=256", ",network.wraps_around=on"])
@pytest.mark.parametrize("granularity", ["transactions", "messages"])
def test_every_byte_arrives(flood, granularity, options):
    row = flood(f"{wide},granularity={granularity}{options}", "1000", "check")
    assert row["ranks"] == 64
    assert row["messages"] == 64 * 63
    assert row["bytes"] == 64 * 63 * 1000


def test_without_a_crowd_both_granularities_take_as_long(flood):
    fine = flood(small, "1024")["ps"]
    assert flood(f"{small},granularity=messages", "1024")["ps"] == pytest.approx(fine, rel=0.01)


def test_in_a_crowd_messages_never_take_longer_than_transactions(flood):
    fine = flood(wide, "1024")["ps"]
    coarse = flood(f"{wide},granularity=messages", "1024")["ps"]
    # Eight rows of one link each way carry half of the messages across the middle, eight bytes in a
    # cycle of 600 MHz.
    across = 32 * 32 * 1024 / 8 / 8 / 600e6 * 1e12
    assert across < coarse < fine


@pytest.mark.parametrize("granularity", ["transactions", "messages"])
def test_without_payload_it_takes_as_long(flood, granularity):
    machine = f"{small},granularity={granularity}"
    assert flood(f"{machine},payload=none", "1024") == flood(machine, "1024")


def test_without_payload_long_data_are_not_there(on_machine):
    done = on_machine(f"{small},payload=none", "test_mesh_flood", "65", "check")
    assert done.returncode == 1
    assert "payload=none: puts and gets of more than 64 bytes" in done.stderr
    assert "bytes are wrong" in done.stderr
    assert on_machine(f"{small},payload=none", "test_mesh_flood", "64", "check").returncode == 0


def test_without_payload_promised_memory_need_not_be_there(on_machine):
    """64 ranks of 3 GiB each, which are never touched."""
    machine = f"{chip},rows=8,columns=8,memory.each_rank_gib=4,granularity=messages,payload=none"
    done = on_machine(machine, "test_mesh_flood", str(3 << 30))
    assert done.returncode == 0, done.stderr
