# SPDX-License-Identifier: Apache-2.0
"""Two hosts for one test, or for all of a module that leave them as they are."""

from __future__ import annotations

import signal

import pytest
from two_hosts import Refused, two_hosts

# What runs in the background of a script ignores the signal of Ctrl-C, and so would all that is
# started here; many tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _made(folder, seconds=600):
    try:
        with two_hosts(folder, seconds) as made:
            yield made
    except Refused as why:
        pytest.skip(f"no two hosts in this one: {why}")


@pytest.fixture
def hosts(tmp_path):
    yield from _made(tmp_path)


@pytest.fixture(scope="module")
def lasting_hosts(tmp_path_factory):
    yield from _made(tmp_path_factory.mktemp("hosts"), seconds=1800)
