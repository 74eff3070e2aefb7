# SPDX-License-Identifier: Apache-2.0
from itertools import pairwise

from ratchet import committed_versions, differences, growth


def test_the_list_of_exceptions_only_shrinks():
    versions = committed_versions()
    assert [growth(before, after) for after, before in pairwise(versions)] == [[]] * (
        len(versions) - 1
    )


def test_it_notices_more_less_and_new():
    allowed = {"old": 5, "grown": 5, "shrunk": 5, "gone": 5}
    found = {"old": 5, "grown": 6, "shrunk": 4, "new": 1}
    assert [line.split(":")[0] for line in differences(found, allowed)] == [
        "gone", "grown", "new", "shrunk",
    ]


def test_it_notices_a_list_that_grows():
    before = {"closed": True, "file_lines": {"a": 510}}
    assert growth(before, {"closed": True, "file_lines": {"a": 505}}) == []
    assert growth(before, {"closed": True, "file_lines": {"a": 511}})
    assert growth(before, {"closed": True, "file_lines": {"a": 510, "b": 501}})
    assert growth(before, {"closed": False, "file_lines": {}})
