# SPDX-License-Identifier: Apache-2.0
"""All states of the coherence protocol by invalidation (src/coherence/protocol.md)."""

from pathlib import Path

import pytest

from models import check, expect_error, expect_no_error, needs_rumur

pytestmark = needs_rumur

mistakes = {1: "a read of what is old", 2: "an upgrade of what is not there", 3: "deadlock"}


def test_the_protocol(tmp_path: Path):
    expect_no_error(check("directory.m", tmp_path), least_states=10_000)


@pytest.mark.parametrize("seeded", mistakes)
def test_a_mistake_is_found(tmp_path: Path, seeded: int):
    expect_error(check("directory.m", tmp_path, seeded=seeded), mistakes[seeded])
