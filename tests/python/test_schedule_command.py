# SPDX-License-Identifier: Apache-2.0
"""`selion schedule`: text, JSON, tables, mistakes, and the page that shows it. Pictures have tests
of their own."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
from xml.etree import ElementTree

import pytest

from conftest import clean_environment, command, every_schedule, needs_module, root, seconds
from selion import schedules
from selion.drawing import schedule_text

pytestmark = needs_module


# --- text -----------------------------------------------------------------------------------------


def test_rounds(selion):
    done = selion("schedule", "all_reduce", "--ranks", "4", "--algorithm", "k_nomial")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "all_reduce by k_nomial of radix 2 on 4 ranks: 4 rounds, 6 messages, 6 blocks sent "
        "(a block: the vector); combined in the order of the ranks",
        "round 0: 1 -> 0, 3 -> 2: own + block 0",
        "round 1: 2 -> 0: own + block 0",
        "round 2: 0 -> 2: block 0",
        "round 3: 0 -> 1, 2 -> 3: block 0",
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("scatter --algorithm k_nomial", "round 0: 0 -> 4: blocks 4-7"),
        ("gather --algorithm k_nomial --root 2", "round 2: 6 -> 2: blocks 6-7, 0-1"),
        ("barrier --algorithm dissemination --ranks 3", "round 0: 0 -> 1, 1 -> 2, 2 -> 0"),
        ("scan --algorithm chain --ranks 2", "round 0: 0 -> 1: block 0 + own"),
        ("exchange --algorithm bruck --ranks 3",
         "round 0: 0 -> 1: block 0>1; 1 -> 2: block 1>2; 2 -> 0: block 2>0"),
        ("exchange --algorithm bruck --ranks 16 --radix 16",
         "round 0: 0 -> 1: block 0>1; 1 -> 2: block 1>2; 2 -> 3: block 2>3; 3 -> 4: block 3>4; "
         "4 -> 5: block 4>5; 5 -> 6: block 5>6; 6 -> 7: block 6>7; 7 -> 8: block 7>8; "
         "8 -> 9: block 8>9; 7 more"),
    ],
)
def test_a_line(selion, arguments, line):
    assert line in selion("schedule", *arguments.split()).stdout.splitlines()


def test_words_about_the_order(selion):
    def head(*arguments: str) -> str:
        return selion("schedule", *arguments).stdout.splitlines()[0]

    assert head("reduce", "--algorithm", "flat").endswith("combined in the order of the ranks")
    assert "not combined in the order" in head("reduce", "--algorithm", "flat", "--root", "3")
    assert head("scatter", "--algorithm", "flat").endswith("nothing is combined")
    assert head("barrier", "--algorithm", "flat").endswith("14 messages without blocks")


@pytest.mark.parametrize("ranks", [3, 40])
def test_nothing_is_left_out_silently(ranks):
    for request in every_schedule(ranks):
        played = schedules.play(request)
        lines = schedule_text.round_lines(played)
        shown = sum(line.count(" -> ") for line in lines)
        left = re.match(r"([\d,]+) messages? left out", lines[-1])
        hidden = int(left[1].replace(",", "")) if left else 0
        assert shown + hidden == len(played.messages), request
        assert all(len(line) <= 200 for line in lines), request
        assert len(lines) <= 34, request


def test_steps_of_a_rank(selion):
    arguments = ("schedule", "all_reduce", "--ranks", "16", "--algorithm", "k_nomial")
    done = selion(*arguments, "--radix", "4", "--rank", "4")
    assert done.stdout.splitlines() == [
        "rank 4 in all_reduce by k_nomial of radix 4 on 16 ranks: "
        "4 steps, 4 messages sent, 4 received",
        "step 0: receive own + block 0 from 5, 6, 7",
        "step 1: send block 0 to 0",
        "step 2: receive block 0 from 0",
        "step 3: send block 0 to 7, 6, 5",
    ]


def test_a_rank_of_many(selion):
    arguments = ("--ranks", "100000", "--algorithm", "dissemination", "--rank", "99999")
    lines = selion("schedule", "barrier", *arguments).stdout.splitlines()
    assert len(lines) == 1 + 2 * 17
    assert lines[1:3] == ["step 0: send to 0", "        receive from 99998"]
    lines = selion("schedule", "barrier", "--ranks", "5000", "--algorithm", "flat",
                   "--rank", "0").stdout.splitlines()
    shown = sum(line.split(";")[0].count(",") + 1 for line in lines[1:3])
    assert lines[-1] == f"{9998 - shown:,} messages left out; --json has all."


# --- JSON -----------------------------------------------------------------------------------------


def test_json(selion):
    arguments = ("--ranks", "6", "--algorithm", "bruck", "--radix", "3", "--json")
    head, *rows = map(json.loads, selion("schedule", "all_gather", *arguments).stdout.splitlines())
    played = schedules.play(schedules.Request("all_gather", "bruck", 6, radix=3))
    assert head == {
        "collective": "all_gather", "algorithm": "bruck", "ranks": 6, "root": None, "radix": 3,
        "group": None, "segments": None, "seed": None, "blocks": 6, "rounds": played.rounds,
        "messages": len(played.messages),
        "blocks_sent": 30, "keeps_order": True,
    }
    assert rows == [
        {"round": each.round, "from": each.source, "to": each.target,
         "blocks": [[one.first, one.count] for one in each.blocks], "action": each.action}
        for each in played.messages
    ]


def test_json_of_a_rank(selion):
    arguments = ("--ranks", "4", "--algorithm", "flat", "--root", "1", "--rank", "1", "--json")
    head, *rows = map(json.loads, selion("schedule", "reduce", *arguments).stdout.splitlines())
    assert head == {"collective": "reduce", "algorithm": "flat", "ranks": 4, "root": 1,
                    "radix": None, "group": None, "segments": 1, "seed": None, "rank": 1,
                    "blocks": 1, "steps": 1}
    assert rows == [
        {"step": 0, "direction": "receive", "peer": peer, "blocks": [[0, 1]],
         "action": "combine_after"}
        for peer in (2, 3, 0)
    ]


# --- algorithms beside each other -----------------------------------------------------------------


def test_comparison(selion):
    done = selion("schedule", "all_reduce", "--ranks", "16", "--radix", "4")
    lines = done.stdout.splitlines()
    assert lines[0] == "all_reduce on 16 ranks"
    table = {line.split()[0]: line for line in lines[2:] if "  " in line}
    assert list(table) == ["algorithm", *schedules.algorithms("all_reduce")]
    assert table["k_nomial"].split()[1:5] == ["12", "30", "30", "yes"]
    assert table["ring"].split()[1:5] == ["30", "480", "30", "no"]
    assert "the digits of a rank in base 4" in table["k_nomial"]


def test_comparison_as_json(selion):
    rows = [json.loads(line) for line in
            selion("schedule", "broadcast", "--json").stdout.splitlines()]
    assert [row["algorithm"] for row in rows] == list(schedules.algorithms("broadcast"))
    assert all(row["ranks"] == 8 and row["rounds"] >= 3 and row["how"] for row in rows)


def test_every_algorithm_is_explained():
    for request in every_schedule(8):
        line = schedule_text.explanation(request)
        assert 10 < len(line) < 80, request


# --- mistakes -------------------------------------------------------------------------------------


def test_without_a_collective_the_usage_is_shown(selion):
    done = selion("schedule")
    assert done.returncode == 2
    assert "Missing argument 'COLLECTIVE'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("brodcast", "there is no collective 'brodcast' (did you mean 'broadcast'?); there are "),
        ("barrier --algorithm tree", "barrier has no algorithm tree; it has flat, k_nomial, "),
        (
            "scan --algorithm ring",
            "scan has no algorithm ring; it has binary, chain, recursive_doubling.",
        ),
        ("barrier --algorithm k_nomial --radix 1", "a radix of 1 is not possible; legal: 2 to 8."),
        ("barrier --radix 9", "a radix of 9 is not possible; legal: 2 to 8."),
        ("reduce --root 8", "the root 8 is no rank; ranks are 0 to 7."),
        ("barrier --root 1", "barrier has no root; leave 1 out."),
        ("barrier --ranks 0", "there are no ranks; at least 1 is needed."),
        ("barrier --ranks 0 --algorithm flat --rank 0", "there are no ranks; at least 1"),
        ("barrier --ranks -3", "ranks cannot be -3; legal: 1 to 4294967295."),
        ("barrier --group -1", "group cannot be -1; legal: 1 to 4294967295."),
        ("barrier --group 0", "a group of 0 ranks is not possible; at least 1 is needed."),
        ("barrier --segments 0", "0 segments are not possible; legal: 1 to 4096."),
        ("barrier --algorithm flat --rank 8", "there is no rank 8; ranks are 0 to 7."),
        ("all_gather --algorithm ring --radix 4",
         "--radix makes no difference to all_gather by ring: leave it out."),
        ("barrier --algorithm flat --seed 3", "--seed makes no difference to barrier by flat: "),
        ("barrier --rank 1", "--rank and --svg need --algorithm; without it "),
        ("barrier --svg a.svg", "--rank and --svg need --algorithm; without it "),
        ("barrier --algorithm flat --rank 1 --svg a.svg", "--svg draws all ranks; leave --rank "),
        ("barrier --algorithm flat --ranks 1025", "1,025 ranks are too many to be played; at "),
        ("barrier --algorithm flat --ranks 100001 --rank 0", "100,001 ranks are too many; at "),
        ("exchange --algorithm bruck --ranks 1000",
         "To play exchange by bruck on 1,000 ranks takes 29.8 GiB; at most 0.5 GiB are used, so "),
        ("broadcast --algorithm k_nomial --ranks 1024 --segments 4096",
         "broadcast by k_nomial on 1,024 ranks sends more than "),
        ("exchange --algorithm flat --ranks 150 --svg a.svg",
         "A picture of 22,350 messages shows nothing; at most 20,000 are drawn."),
    ],
)
def test_mistakes(selion, tmp_path, arguments, sentence):
    done = selion("schedule", *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"selion schedule: {sentence}")
    assert done.stderr.endswith(".\n") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [b"a\xff.svg", b"a\x01.svg", b"a\n.svg", b"a\xef\xbf\xbe.svg"])
def test_a_picture_shows_what_can_be_shown_of_its_name(tmp_path, name):
    line = [*command, "schedule", "barrier", "--algorithm", "flat", "--svg"]
    done = subprocess.run([*map(os.fsencode, line), name], cwd=tmp_path, env=clean_environment(),
                          capture_output=True, timeout=seconds)
    assert (done.returncode, done.stderr) == (0, b"")
    (picture,) = tmp_path.iterdir()
    assert os.fsencode(picture.name) == name
    texts = [each.text for each in ElementTree.parse(picture).iter() if each.text]
    shown = "selion schedule barrier --ranks 8 --algorithm flat --svg a.svg"
    assert any(shown in text for text in texts)


def test_a_picture_that_cannot_be_written_leaves_nothing(selion, tmp_path):
    done = selion("schedule", "barrier", "--algorithm", "flat", "--svg", ".")
    assert (done.returncode, done.stdout, done.stderr) == (
        1, "", "selion schedule: . cannot be written: Is a directory.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_does_not_fit_leaves_the_one_before(tmp_path):
    def draw(largest: int) -> subprocess.CompletedProcess[str]:
        """@param largest bytes of a file."""
        return subprocess.run(
            [*command, "schedule", "barrier", "--algorithm", "flat", "--svg", "new/a.svg"],
            cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=seconds,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)))

    picture = tmp_path / "new" / "a.svg"
    assert draw(2**20).returncode == 0
    before = picture.read_bytes()
    done = draw(100)
    assert (done.returncode, done.stdout, done.stderr) == (
        1, "", "selion schedule: new/a.svg cannot be written: File too large.\n")
    assert picture.read_bytes() == before
    assert list(picture.parent.iterdir()) == [picture]


# --- the page -------------------------------------------------------------------------------------

_page = root / "docs/howto/look-at-a-schedule.md"
_shown = [
    block.split("\n", 1)
    for block in re.findall(r"^```console\n\$ selion (.*?)^```$", _page.read_text("utf-8"),
                            re.M | re.S)
]


@pytest.mark.parametrize(("line", "output"), _shown, ids=[line for line, _ in _shown])
def test_the_page_shows_what_is_printed(selion, tmp_path, line, output):
    words, _, end = line.partition(" | head -")
    done = selion(*words.split())
    printed = done.stdout.splitlines(keepends=True)
    assert "".join(printed[: int(end)] if end else printed) == output
    for picture in tmp_path.iterdir():
        assert picture.read_text("utf-8") == (_page.parent / picture.name).read_text("utf-8")


def test_the_page_has_examples():
    assert len(_shown) >= 4
