# SPDX-License-Identifier: Apache-2.0
"""Jobs over a cable that keeps frames, loses some and mixes them up: nothing that ranks send is
lost, and who is only late is not taken for dead."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from bad_cable import BadCable, bad_cable
from jobs import is_alive, trying
from launched import Launched, skip_without_fabric, soon
from two_hosts import Refused, TwoHosts

skip_without_fabric()

#: What no cable of a cluster does in a day, in seconds: frames overtake each other by up to 1 ms.
bad = {"delay": 0.0005, "jitter": 0.001, "loss": 0.01, "twice": 0.01}


@pytest.fixture
def cable(lasting_hosts: TwoHosts, request):
    try:
        with bad_cable(lasting_hosts, **request.param) as made:
            yield made
    except Refused as why:
        pytest.skip(str(why))


def with_cable(**faults: float):
    return pytest.mark.parametrize("cable", [faults], indirect=True, ids=["cable"])


@with_cable(delay=0.05)
def test_the_cable_is_as_slow_as_it_is_told_to_be(lasting_hosts: TwoHosts, cable: BadCable):
    # Nobody listens on the other host: it says so after the way there and back.
    knock = ("import socket, sys\ntry: socket.create_connection((sys.argv[1], 1))\n"
             "except ConnectionRefusedError: print('nobody')")
    ask = [*lasting_hosts.enter("host-a"), sys.executable, "-c", knock, cable.addresses[1]]
    subprocess.run(ask, check=True, timeout=soon)  # each learns where the other is
    start = time.monotonic()
    answer = subprocess.run(ask, check=True, timeout=soon, capture_output=True, text=True)
    assert answer.stdout == "nobody\n"
    assert time.monotonic() - start >= 0.1


providers = pytest.mark.parametrize("provider", ["net", "tcp;ofi_rxm", "udp;ofi_rxd"],
                                    ids=["net", "rxm", "rxd"])


def operate_at_random(hosts: TwoHosts, cable: BadCable, provider: str, seconds: float) -> None:
    # Signs of life stand in the cable's queue behind what a provider without flow control sends,
    # and a busy host gives the cable little time: silence is not what this is about.
    with Launched(4, "test_network_load", str(seconds), "1", hosts=hosts,
                  SELION_FABRIC_INTERFACE="bad", SELION_FABRIC_PROVIDER=provider,
                  SELION_FABRIC_TIMEOUT="60") as job:
        outcome = job.end(within=4 * soon + seconds)
    assert outcome.status == 0, outcome.err
    counts = cable.end()
    assert min(counts.lost, counts.twice, counts.overtaken) > 0, counts


@with_cable(**bad)
@providers
def test_random_operations_leave_what_a_shadow_has(lasting_hosts: TwoHosts, cable: BadCable,
                                                   provider: str):
    operate_at_random(lasting_hosts, cable, provider, 2.5)


@pytest.mark.long
@with_cable(**{**bad, "loss": 0.03, "twice": 0.03, "jitter": 0.004})
@providers
def test_random_operations_on_a_worse_cable(lasting_hosts: TwoHosts, cable: BadCable,
                                            provider: str):
    operate_at_random(lasting_hosts, cable, provider, 40)


# Four questions in a row without an answer are a death: of 4 ranks in so many periods once in
# some thousand runs.
@with_cable(**{**bad, "loss": 0.03})
@trying(bound=(3, 9))
def test_who_is_heard_of_now_and_then_is_not_taken_for_dead(lasting_hosts: TwoHosts,
                                                            cable: BadCable, bound: int):
    with Launched(4, "test_dying", "none", "1", "busy", hosts=lasting_hosts,
                  SELION_FABRIC_INTERFACE="bad", SELION_FABRIC_TIMEOUT=str(bound)) as job:
        processes = job.processes(4)
        job.wait_for("^dying$")
        job.run_for(3 * bound)
        assert all(is_alive(one) for one in processes.values()), job.err
        assert "sign of life" not in job.err
    assert cable.end().lost > 0


@with_cable(**bad)
def test_a_silence_that_is_shorter_than_the_bound_is_outlived(lasting_hosts: TwoHosts,
                                                              cable: BadCable):
    with Launched(2, "test_dying", "none", "1", "busy", hosts=lasting_hosts,
                  SELION_FABRIC_INTERFACE="bad", SELION_FABRIC_TIMEOUT="8") as job:
        processes = job.processes(2)
        job.wait_for("^dying$")
        cable.be_silent()
        job.run_for(3)
        cable.speak()
        job.run_for(6)
        assert all(is_alive(one) for one in processes.values()), job.err
        assert "sign of life" not in job.err


@with_cable(**bad)
def test_a_silence_that_is_longer_ends_all_ranks(lasting_hosts: TwoHosts, cable: BadCable):
    with Launched(2, "test_dying", "none", "1", "busy", hosts=lasting_hosts,
                  SELION_FABRIC_INTERFACE="bad", SELION_FABRIC_TIMEOUT="2") as job:
        job.wait_for("^dying$")
        cable.be_silent()
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert "has had no sign of life" in outcome.err, outcome.err
