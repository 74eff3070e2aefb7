# SPDX-License-Identifier: Apache-2.0
"""Random operations over a network beside a shadow, for seconds; scripts/ci/network-load goes on
for longer. What is put in wrong on purpose has to be found."""

from __future__ import annotations

import re
import subprocess

import pytest
from launched import Launched, skip_without_fabric, soon
from two_hosts import TwoHosts

skip_without_fabric()

_alone = "fabric,direct=off"
_report = re.compile(r"^rank (\d): \d+ operations in \d+ phases, memory \d+ KiB at first, "
                     r"(\d+) at most, (\d+) allowed$", re.M)


@pytest.mark.parametrize("changes", [
    {"SELION_MACHINE": _alone, "SELION_FABRIC_PROVIDER": "net"},
    {"SELION_MACHINE": _alone, "SELION_FABRIC_PROVIDER": "tcp;ofi_rxm"},
    {"SELION_MACHINE": _alone, "SELION_FABRIC_PROVIDER": "udp;ofi_rxd"},
    {"SELION_MACHINE": "fabric", "SELION_TEST_HOSTS": "2"},
], ids=["net", "rxm", "rxd", "hosts"])
def test_random_operations_leave_what_a_shadow_has(changes: dict[str, str]):
    with Launched(4, "test_network_load", "2.5", "1", **changes) as job:
        outcome = job.end(within=90)
    assert outcome.status == 0, outcome.err
    told = {int(rank): (int(most), int(allowed))
            for rank, most, allowed in _report.findall(outcome.out)}
    assert sorted(told) == [0, 1, 2, 3]
    assert all(most <= allowed for most, allowed in told.values())


def test_the_kernel_drops_no_datagrams_of_a_provider_for_want_of_room(lasting_hosts: TwoHosts):
    """Of what it drops `udp;ofi_rxd` may lose some for good. A rank that stands still for long is
    sent everything again and again, and some of that may be dropped: so not in each try."""
    def counted(name: str) -> int:
        total = 0
        for host in ("host-a", "host-b"):
            text = subprocess.run([*lasting_hosts.enter(host), "cat", "/proc/net/snmp"],
                                  check=True, capture_output=True, text=True, timeout=soon).stdout
            names, counts = (line.split()[1:] for line in text.splitlines()
                             if line.startswith("Udp:"))
            total += int(counts[names.index(name)])
        return total

    shares = []
    for _ in range(5):
        dropped, arrived = counted("RcvbufErrors"), counted("InDatagrams")
        with Launched(4, "test_network_load", "2.5", "1", hosts=lasting_hosts,
                      SELION_MACHINE=_alone, SELION_FABRIC_PROVIDER="udp;ofi_rxd") as job:
            outcome = job.end(within=90)
        assert outcome.status == 0, outcome.err
        shares.append((counted("RcvbufErrors") - dropped) / (counted("InDatagrams") - arrived))
        if shares[-1] < 0.001:  # with 128 packets on their way, each try drops some 7 %
            return
    pytest.fail(f"of the datagrams of five jobs the kernel dropped these shares: {shares}")


@pytest.mark.parametrize(("fault", "words"), [
    ("lost", r"rank \d: .*(differs from what was put|differs from the shadow of rank 0)"),
    ("word", "rank 1: memory differs from the shadow of rank 0"),
])
def test_a_fault_is_found_and_the_seed_told(fault: str, words: str):
    with Launched(4, "test_network_load", "20", "7", fault, SELION_MACHINE=_alone) as job:
        outcome = job.end(within=2 * soon)
    assert outcome.status != 0
    assert re.search(words, outcome.err), outcome.err
    assert "wrong with seed 7" in outcome.err
