# SPDX-License-Identifier: Apache-2.0
"""A bug in the use of coherent memory ends the job with a sentence, as others do."""

from __future__ import annotations

import re

import pytest
from jobs import check_level, site
from mistakes import complaint, expect, machines

with_copies = {
    "cached_index": r"index \(\d+\) is out of range: heights has \d+ elements in dimension 0, so "
                    r"legal are 0 to \d+$",
    "cached_own": r"heights of rank 1 is accessed without its protocol while other ranks have it: "
                  r"call invalidate\(\) of its space on all ranks, and a barrier, between the two$",
    "cached_mixed": r"heights of rank 0 is accessed without its protocol while this rank "
                    r"keeps a copy of it: call invalidate\(\) of its space on all ranks, and a "
                    r"barrier, between the two$",
}


@pytest.mark.skipif(check_level < 2, reason="noticed from check level 2 on")
@pytest.mark.parametrize("what", with_copies)
@pytest.mark.parametrize("machine", machines)
def test_a_mistake_with_coherent_memory(machine: str, what: str):
    expect(machine, what, with_copies[what], f"rank 1 of {machines[machine]}")


@pytest.mark.skipif(check_level < 2, reason="noticed from check level 2 on")
@pytest.mark.parametrize("what", ["cached_third", "cached_box", "cached_atomic", "cached_shared"])
@pytest.mark.parametrize("machine", [one for one in machines if "direct=off" not in one])
def test_what_two_other_ranks_have_is_accessed_without_its_protocol(machine: str, what: str):
    expect(machine, what, r"heights of rank 2 is accessed without its protocol while other ranks "
                          r"have it: call invalidate\(\) of its space on all ranks, and a barrier, "
                          r"between the two$", f"rank 1 of {machines[machine]}")


@pytest.mark.skipif(check_level < 2, reason="noticed from check level 2 on")
@pytest.mark.parametrize(("what", "pattern"), [
    ("space_layout", r"ranks have not given odd the same extents and distribution$"),
    ("space_options", r"ranks have not given a coherent space the same bytes and options$"),
])  # fmt: skip
@pytest.mark.parametrize("machine", machines)
def test_ranks_that_make_different_coherent_memory(machine: str, what: str, pattern: str):
    first, second = complaint(machine, what)
    assert re.search(pattern, first)
    assert second == f"  called at {site('misusing*', 'space_alike')}"


# The check level from which on it is noticed.
without_a_space = {"space_none": 1, "space_twice": 1, "space_flush": 1, "space_read": 2,
                   "space_write": 2, "space_add": 2, "space_get": 2}  # fmt: skip


@pytest.mark.parametrize("what", without_a_space)
@pytest.mark.parametrize("machine", machines)
def test_coherent_memory_that_is_not_there(machine: str, what: str):
    if check_level < without_a_space[what]:
        pytest.skip(f"noticed from check level {without_a_space[what]} on")
    first, second = complaint(machine, what)
    cause = (r"that has not been made: the handle is empty$" if what == "space_none" else
             r"after deallocate: the handle is of a space that has been given back$")
    assert re.search("coherent memory is used " + cause, first)
    assert second == f"  called at {site('misusing*', what)}"


@pytest.mark.skipif(check_level < 2, reason="noticed from check level 2 on")
@pytest.mark.parametrize("machine", machines)
def test_an_element_that_is_not_in_the_space(machine: str):
    expect(machine, "space_beyond",
           r"4 bytes at offset \d+ of rank \d \(segment 1\) do not lie in this coherent space: it "
           r"has offsets \d+ to \d+ of ranks 0 to \d$", f"rank 1 of {machines[machine]}")


@pytest.mark.parametrize("machine", machines)
def test_blocks_of_a_size_that_is_not_possible(machine: str):
    [line] = complaint(machine, "cached_block")
    assert re.search(r"blocks of 48 bytes: legal are powers of two from 8 to 65536", line)


@pytest.mark.parametrize("machine", machines)
def test_an_atomic_change_where_writes_are_updates(machine: str):
    expect(machine, "cached_update",
           r"coherent memory whose writes are sent as updates is changed atomically, which would "
           r"change this rank's copy alone: assign what has been read and computed, or use "
           r"write_protocol::invalidate$", f"rank 1 of {machines[machine]}")


@pytest.mark.parametrize("what", ["cached_thrown", "cached_thrown_late", "cached_thrown_direct"])
@pytest.mark.parametrize("machine", machines)
def test_a_change_of_coherent_memory_that_throws(machine: str, what: str):
    """Of an element that the rank has, of one that it has to ask for, and without the protocol."""
    expect(machine, what,
           r"a function that changes an element of coherent memory has thrown an exception of type "
           r"std::runtime_error: has enough; it must not throw, because it may be called while the "
           r"rank serves messages$", f"rank 1 of {machines[machine]}")


@pytest.mark.parametrize("machine", machines)
def test_updates_want_release_consistency(machine: str):
    [line] = complaint(machine, "cached_update_alone")
    assert re.search(r"write_protocol::update has others see what was written when the ranks have "
                     r"synchronised: it goes with memory_consistency::release", line)
