# SPDX-License-Identifier: Apache-2.0
"""Schedules on machines of which some ranks share memory, and others do not."""

import json
from pathlib import Path

import pytest

per_process = 4
machines = ["sim:clovertown,processes=2,threads=4", "sim:bluegene-p,mode=smp,ranks=16"]


def messages(on_machine, machine: str, how: str, count: int, path: Path) -> tuple[int, int]:
    """Messages that have arrived within processes and from others."""
    done = on_machine(machine, "test_choosing", how, str(count), SELION_TRACE=str(path))
    assert done.returncode == 0, done.stderr
    events = json.loads(path.read_text())
    tracks = {each["tid"]: each["args"]["name"] for each in events
              if each["name"] == "thread_name"}
    within = across = 0
    for each in events:
        if each.get("cat") != "arrival" or each["name"] != "message":
            continue
        rank = int(tracks[each["tid"]].split()[1])
        if rank // per_process == each["args"]["from"] // per_process:
            within += 1
        else:
            across += 1
    return within, across


@pytest.mark.parametrize("how", ["messages:hierarchical:2:4", "messages:k_nomial:2",
                                 "messages:flat", "messages:ring"])
@pytest.mark.parametrize("machine", machines)
def test_a_schedule_sends_messages_only_between_processes(on_machine, machine, how, tmp_path):
    introductions, first = messages(on_machine, machine, how, 1, tmp_path / "one.json")
    within, across = messages(on_machine, machine, how, 5, tmp_path / "five.json")
    assert within == introductions
    assert across >= 5 * first > 0


@pytest.mark.parametrize("machine", machines)
def test_a_hierarchical_schedule_crosses_least(on_machine, machine, tmp_path):
    _, hierarchical = messages(on_machine, machine, "messages:hierarchical:2:4", 3,
                               tmp_path / "hierarchical.json")
    _, flat = messages(on_machine, machine, "messages:flat", 3, tmp_path / "flat.json")
    assert hierarchical < flat
