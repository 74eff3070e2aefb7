# SPDX-License-Identifier: Apache-2.0
"""All states of the coherence protocol by updates (src/coherence/protocol.md)."""

from pathlib import Path

import pytest

from models import check, expect_error, expect_no_error, needs_rumur

pytestmark = needs_rumur

home, other = 0, 1
alike = 'invariant "when nothing is under way all copies are alike" failed'
everywhere = 'invariant "what has been released is everywhere" failed'
mistakes = {
    (1, other): alike,
    (2, home): everywhere,
    (2, other): alike,
    (3, home): everywhere,
    (3, other): everywhere,
}


@pytest.mark.long
@pytest.mark.parametrize("writer", [home, other])
def test_the_protocol(tmp_path: Path, writer: int):
    expect_no_error(check("updates.m", tmp_path, writer=writer), least_states=100_000)


@pytest.mark.parametrize("seeded,writer", mistakes)
def test_a_mistake_is_found(tmp_path: Path, seeded: int, writer: int):
    done = check("updates.m", tmp_path, seeded=seeded, writer=writer)
    expect_error(done, mistakes[seeded, writer])
