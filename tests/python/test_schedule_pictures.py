# SPDX-License-Identifier: Apache-2.0
"""Pictures of schedules: well-formed, complete, the same every time, and nothing on top of
something else."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from conftest import needs_module
from selion import native, schedules
from selion.drawing.schedule_picture import draw
from selion.drawing.schedule_tree import find_tree
from selion.schedules import Played, Request

pytestmark = needs_module

_space = "{http://www.w3.org/2000/svg}"
_trees = ("flat", "k_nomial", "binary", "chain", "hierarchical", "mesh")


def everything() -> list[tuple[str, str]]:
    if native.try_load()[0] is None:
        return []
    return [(collective, algorithm) for collective in schedules.collectives()
            for algorithm in schedules.algorithms(collective)]


def arrows(picture: str) -> list[str]:
    """What is said of each message."""
    root = ElementTree.fromstring(picture)
    found = [each for each in root.iter(f"{_space}g") if each.get("class") == "message"]
    return [each.find(f"{_space}title").text for each in found]


def circles(picture: str) -> dict[str, list[tuple[float, float]]]:
    """Where the ranks stand, by their number."""
    found: dict[str, list[tuple[float, float]]] = {}
    for parent in ElementTree.fromstring(picture).iter():
        for one, after in zip(parent, list(parent)[1:], strict=False):
            if one.tag == f"{_space}circle" and after.tag == f"{_space}text":
                place = (float(one.get("cx")), float(one.get("cy")))
                found.setdefault(after.text, []).append(place)
    return found


def expected(played: Played) -> list[str]:
    return sorted(f"round {each.round}: {each.source} -> {each.target}"
                  for each in played.messages)


@pytest.mark.parametrize("ranks", [1, 2, 5, 16])
@pytest.mark.parametrize(("collective", "algorithm"), everything())
def test_an_arrow_for_each_message(collective, algorithm, ranks):
    played = schedules.play(Request(collective, algorithm, ranks))
    picture = draw(played, "selion & <co>")
    assert sorted(": ".join(each.split(": ")[:2]) for each in arrows(picture)) == expected(played)
    assert picture == draw(played, "selion & <co>")
    places = circles(picture)
    assert set(places) == {str(rank) for rank in range(ranks)}
    every = [place for several in places.values() for place in several]
    for number, one in enumerate(every):
        assert all(math.dist(one, other) >= 30 for other in every[:number])


@pytest.mark.parametrize(("collective", "algorithm"), everything())
def test_everything_is_within_the_picture(collective, algorithm):
    root = ElementTree.fromstring(draw(schedules.play(Request(collective, algorithm, 12)), "x"))
    wide, high = float(root.get("width")), float(root.get("height"))

    def check(parent: ElementTree.Element, x: float, y: float) -> None:
        for each in parent:
            moved = each.get("transform", "translate(0 0)").removeprefix("translate(")
            dx, dy = map(float, moved.rstrip(")").split())
            if each.tag in (f"{_space}text", f"{_space}circle"):
                at = [float(each.get(name) or each.get("c" + name)) for name in ("x", "y")]
                assert 0 < x + at[0] < wide and 0 < y + at[1] < high
            check(each, x + dx, y + dy)

    check(root, 0, 0)


@pytest.mark.parametrize(("collective", "algorithm"), everything())
def test_what_is_a_tree(collective, algorithm):
    tree = find_tree(schedules.play(Request(collective, algorithm, 9)))
    # The second half of an exclusive scan by a chain shifts results, and the way down of a scan's
    # tree is not its way up: those are no trees.
    is_sweep = (collective, algorithm) == ("scan", "binary")
    trees_only = algorithm in _trees and collective not in ("exchange", "exscan") and not is_sweep
    if (collective, algorithm) == ("all_gather", "mesh"):
        trees_only = False
    assert (tree is not None) == trees_only


def test_the_tree_of_a_radix():
    tree = find_tree(schedules.play(Request("broadcast", "k_nomial", 16, root=2, radix=4)))
    assert tree.root == 2
    assert tree.children[2] == [3, 4, 5, 6, 10, 14]
    assert tree.children[6] == [7, 8, 9]
    assert tree.preorder() == [(2 + place) % 16 for place in range(16)]


@pytest.mark.parametrize(
    ("collective", "root"), [("reduce", 3), ("gather", 3), ("scatter", 3), ("all_reduce", 0)]
)
def test_the_root_stands_at_the_top(collective, root):
    for algorithm in ("chain", "flat") if collective != "scatter" else ("chain",):
        if algorithm not in schedules.algorithms(collective):
            continue
        picture = draw(schedules.play(Request(collective, algorithm, 5, root)), "x")
        heights = {name: places[0][1] for name, places in circles(picture).items()}
        assert min(heights, key=heights.get) == str(root)


def test_the_command_draws(selion, tmp_path):
    arguments = ("all_reduce", "--ranks", "4", "--algorithm", "ring", "--svg", "my ring.svg")
    done = selion("schedule", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == ["drawn to my ring.svg"]
    first = (tmp_path / "my ring.svg").read_text(encoding="utf-8")
    assert len(arrows(first)) == 24
    assert "selion schedule all_reduce --ranks 4 --algorithm ring --svg 'my ring.svg'" in first
    assert len(selion("schedule", *arguments, "--json").stdout.splitlines()) == 25
    assert (tmp_path / "my ring.svg").read_text(encoding="utf-8") == first
