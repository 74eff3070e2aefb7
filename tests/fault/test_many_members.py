# SPDX-License-Identifier: Apache-2.0
"""Collectives of more members than their elements, or than slots have room for."""

from __future__ import annotations

import pytest
from jobs import is_sanitized, run

#: What is called, and by how many. The last one has slots too short for an element each.
cases = [("words", "threads:4"), ("wide", "threads:2"), ("wide", "threads:5@2"),
         ("wide", "processes:3"), ("wider", "threads:2"), ("wider", "threads:7"),
         ("wider", "processes:3"), ("wide", "threads:130")]


@pytest.mark.parametrize("which, machine", cases)
def test_each_gets_what_it_should(which: str, machine: str):
    outcome = run("many_members", which, machine=machine, SELION_TUNING="off")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == f"0 of {machine.split(':')[1].split('@')[0]} are wrong\n"


@pytest.mark.skipif(is_sanitized, reason="takes ThreadSanitizer a minute, the limit")
def test_words_of_thousands():
    """A part of a slot is shorter than a word."""
    outcome = run("many_members", "words", machine="threads:4200", SELION_TUNING="off",
                  SELION_HEAP="1M", SELION_HANG_TIMEOUT="0")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "0 of 4200 are wrong\n"
