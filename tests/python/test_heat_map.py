# SPDX-License-Identifier: Apache-2.0
"""Heat maps of a mesh: every link with its own figure, as characters and as a picture."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import clean_environment, command, seconds
from selion.drawing import heat_map, heat_map_picture
from selion.meter_file import Link, Recorded

_space = "{http://www.w3.org/2000/svg}"
_steps = {"east": (0, 1), "south": (1, 0), "west": (0, -1), "north": (-1, 0)}
_own = ("from core", "from DMA", "from events", "into core")
_code = re.compile(r"\x1b\[[\d;]*m")


def mesh_links(rows: int, columns: int, closed: bool = False, **figures: float) -> list[Link]:
    """All links of a mesh, idle but for those that are named: `e_0_1` is (0,1) east, `i` into core,
    `f` from core, `d` from DMA. The figure is the busy time; messages waited three times as
    long."""
    letters = {"e": "east", "s": "south", "w": "west", "n": "north", "i": "into core",
               "f": "from core", "d": "from DMA"}
    busy = {}
    for key, figure in figures.items():
        letter, row, column = key.split("_")
        busy[int(row), int(column), letters[letter]] = figure
    found = []
    for row in range(rows):
        for column in range(columns):
            names = [name for name, (down, across) in _steps.items()
                     if closed or (0 <= row + down < rows and 0 <= column + across < columns)]
            for name in (*names, *_own):
                time = busy.pop((row, column, name), None)
                used = time is not None
                found.append(Link(f"({row},{column}) {name}", 2 * used, 8 * used, time or 0,
                                  3 * (time or 0)))
    assert not busy
    return found


def make(links: list[Link], by: str = "load", run: float | None = 1000) -> heat_map.HeatMap:
    return heat_map.make(Recorded([], links, run, "ps"), by)


def body(heat: heat_map.HeatMap, in_colour: bool = False) -> list[str]:
    """The lines between title and legend."""
    lines = heat_map.lines(heat, in_colour)
    first = lines.index("")
    return lines[first + 1 : lines.index("", first + 1)]


# --- the scale ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "top"), [
    (0, 1), (0.3, 0.3), (29.2, 30), (30, 30), (30.1, 40), (43.7, 50), (100, 100), (236, 250),
    (701, 800)])  # fmt: skip
def test_the_scale_ends_at_a_round_number(most, top):
    heat = make(mesh_links(1, 2, e_0_0=10 * most, w_0_1=0))
    assert heat.top == pytest.approx(top)
    assert heat.step(heat.link(0, 0, "east"), 10) == (0 if most == 0 else
                                                      min(int(most / top * 10 + 1e-9), 9))


def luminance(colour: str) -> float:
    """As WCAG computes it, of #rrggbb."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
              for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_is_lighter_than_the_one_before():
    found = [luminance(colour) for colour in heat_map.colours]
    assert all(after - before > 0.01 for before, after in itertools.pairwise(found))
    # Words and links can be told from the panel.
    panel = luminance(heat_map_picture._panel)
    assert (found[0] + 0.05) / (panel + 0.05) > 1.8
    assert (luminance(heat_map_picture._words) + 0.05) / (panel + 0.05) > 7


def test_percent_of_the_run_and_without_it():
    links = mesh_links(1, 2, e_0_0=200, w_0_1=50)
    heat = make(links)
    assert (heat.percent(links[0]), heat.top, heat.unit) == (20, 20, "percent of the run")
    assert heat.explanation == "time with a message on the link, in percent of the run (1 ns)"
    assert heat.summit == "most: (0,0) east, 20.0 %"
    assert make(links, "wait").percent(links[0]) == 60
    heat = make(links, run=None)
    assert heat.explanation == "time with a message on the link, in percent of the busiest link"
    assert [heat.percent(link) for link in links if not link.is_idle] == [100, 25]
    assert make(links, "wait", None).unit == "percent of the longest wait"
    assert make(links, "wait").explanation == \
        "time that messages waited for the link, summed, in percent of the run (1 ns)"
    assert heat_map.make(Recorded([], links, 1000, "ticks"), "wait").explanation == \
        "time with a message that waited for the link, in percent of the run (1,000 ticks)"


@pytest.mark.parametrize(("time", "unit", "words"), [
    (58_799_166, "ps", "58.8 µs"), (999, "ps", "999 ps"), (2e12, "ps", "2 s"),
    (8640, "ticks", "8,640 ticks")])  # fmt: skip
def test_lengths_of_time(time, unit, words):
    assert heat_map.length(time, unit) == words


# --- characters -----------------------------------------------------------------------------------


def test_each_link_has_its_place():
    # The scale ends at 40: steps of 10 are the four shades.
    heat = make(mesh_links(2, 2, e_0_0=50, w_0_1=150, s_0_0=250, n_1_0=350, i_0_0=400, f_0_0=50,
                           i_0_1=150, d_1_1=350, f_1_1=10, s_0_1=0))  # fmt: skip
    assert body(heat) == [
        "[  0  ] ░░→ [  1  ]",
        "[██ ░░] ←▒▒ [▒▒ ··]",
        "██↑ ↓▓▓     ··↑ ↓░░",
        "[  2  ] ··→ [  3  ]",
        "[·· ··] ←·· [·· ██]",
    ]
    assert heat_map.lines(heat, False)[-1] == "up to ░ 10  ▒ 20  ▓ 30  █ 40 %  · no messages"


def test_the_same_by_wait():
    heat = make(mesh_links(1, 2, e_0_0=100, w_0_1=20), "wait")
    assert body(heat) == ["[  0  ] ██→ [  1  ]", "[·· ··] ←░░ [·· ··]"]
    assert heat_map.lines(heat, False)[0] == "waiting for links, mesh of 1 x 2 cores"


def test_where_a_mesh_closes():
    heat = make(mesh_links(2, 3, closed=True, e_0_2=400, w_0_0=50, s_1_1=250, n_0_1=150))
    assert body(heat) == [
        "[  0  ] ··→ [  1  ] ··→ [  2  ] ██→",
        "[·· ··] ←·· [·· ··] ←·· [·· ··] ←░░",
        "··↑ ↓··     ··↑ ↓··     ··↑ ↓··",
        "[  3  ] ··→ [  4  ] ··→ [  5  ] ··→",
        "[·· ··] ←·· [·· ··] ←·· [·· ··] ←··",
        "··↑ ↓··     ▒▒↑ ↓▓▓     ··↑ ↓··",
    ]
    assert "beyond the last row and column: links to the first" in heat_map.lines(heat, False)


def test_a_mesh_of_16_columns_takes_half_the_width():
    heat = make(mesh_links(2, 16, e_0_0=50, w_0_1=150, n_1_1=250, s_0_1=400, i_1_15=350, f_0_0=50))
    lines = body(heat)
    assert lines[0].startswith("   0 ·░ ░→ ·· ·→ ··")
    assert lines[1].startswith("        ←▒    ←·    ←·")
    assert lines[2].startswith("     ··    ▓█    ··")
    assert lines[3].startswith("  16 ·· ·→ ··") and lines[3].endswith(" ·→ █·")
    assert len(lines) == 5


def test_a_larger_mesh_has_a_character_for_each_core():
    heat = make(mesh_links(3, 32, e_0_0=50, w_0_1=150, n_1_1=250, s_1_1=400, i_2_31=350))
    assert body(heat) == [
        "     0 ░▒" + "·" * 30,
        "    32 ·█" + "·" * 30,
        "    64 " + "·" * 31 + "█",
    ]


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("columns", [1, 2, 8, 9, 16, 17, 93])
def test_no_line_is_wider_than_a_hundred_characters(columns, closed):
    heat = make(mesh_links(2, columns, closed, f_0_0=123.456), "wait", None)
    assert max(map(len, heat_map.lines(heat, False))) <= 100
    assert max(len(_code.sub("", line)) for line in heat_map.lines(heat, True)) <= 100


def test_colours_of_a_terminal():
    heat = make(mesh_links(1, 2, e_0_0=1000, w_0_1=450))
    lines = body(heat, True)
    red, green, blue = (int(heat_map.colours[9][at : at + 2], 16) for at in (1, 3, 5))
    assert lines[0] == f"[  0  ] \x1b[38;2;{red};{green};{blue}m██\x1b[0m→ [  1  ]"
    red, green, blue = (int(heat_map.colours[4][at : at + 2], 16) for at in (1, 3, 5))
    assert lines[1] == f"[·· ··] ←\x1b[38;2;{red};{green};{blue}m██\x1b[0m [·· ··]"
    assert len(re.findall("█", heat_map.lines(heat, True)[-1])) == 10


# --- the picture ----------------------------------------------------------------------------------


def parts(picture: str, kind: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(picture).iter(f"{_space}g")
            if each.get("class") == kind]


def corners(link: ElementTree.Element) -> list[tuple[float, float]]:
    path = link.find(f"{_space}path").get("d").removeprefix("M").removesuffix("Z")
    return [tuple(map(float, corner.split())) for corner in path.split("L")]


def by_name(picture: str) -> dict[str, ElementTree.Element]:
    found = {}
    for each in parts(picture, "link"):
        name = each.find(f"{_space}title").text.split(": ")[0]
        assert name not in found
        found[name] = each
    return found


def squares(picture: str) -> dict[int, tuple[float, float, float]]:
    """Left, top and side of each core, by its rank."""
    found = {}
    for each in parts(picture, "core"):
        square, words = each.find(f"{_space}rect"), each.find(f"{_space}text")
        found[int(words.text)] = tuple(float(square.get(key)) for key in ("x", "y", "width"))
        assert each.find(f"{_space}title").text.startswith(f"rank {words.text}: ")
    return found


def varied(rows: int, columns: int, closed: bool = False) -> list[Link]:
    """Every fifth link is idle; the others have figures of their own."""
    return [Link(link.name, number % 5, 4 * number, number % 5 and 7 * number,
                 number % 5 and 11 * number)
            for number, link in enumerate(mesh_links(rows, columns, closed))]


@pytest.mark.parametrize("by", ["load", "wait"])
@pytest.mark.parametrize(("rows", "columns", "closed"),
                         [(1, 1, False), (4, 4, False), (3, 5, True), (8, 8, False)])
def test_every_link_has_its_colour_and_its_figures(rows, columns, closed, by):
    links = varied(rows, columns, closed)
    most = max(link.busy if by == "load" else link.wait for link in links)
    heat = make(links, by, run=most)  # so that the scale ends at 100
    picture = heat_map_picture.draw(heat, "selion & <co>")
    assert picture == heat_map_picture.draw(heat, "selion & <co>")
    drawn = by_name(picture)
    # Engines that never sent anything are left out; here all have.
    assert set(drawn) == {link.name for link in links}
    for link in links:
        path = drawn[link.name].find(f"{_space}path")
        if link.messages == 0:
            assert path.get("fill") == "none"
            continue
        share = (link.busy if by == "load" else link.wait) / most
        assert path.get("fill") == heat_map.colours[min(int(share * 10), 9)], link
        tip = drawn[link.name].find(f"{_space}title").text
        assert tip == (f"{link.name}: {link.messages:,} messages, {link.bytes:,} bytes, "
                       f"busy {heat_map.length(link.busy, 'ps')} "
                       f"({100 * link.busy / most:.2f} % of the run), "
                       f"waited for {heat_map.length(link.wait, 'ps')} "
                       f"({100 * link.wait / most:.2f} % of the run)")


def test_idle_engines_are_left_out():
    drawn = by_name(heat_map_picture.draw(make(mesh_links(1, 2, f_0_0=3)), "x"))
    assert set(drawn) == {"(0,0) east", "(0,1) west", "(0,0) into core", "(0,1) into core",
                          "(0,0) from core", "(0,1) from core"}
    drawn = by_name(heat_map_picture.draw(make(mesh_links(1, 1, d_0_0=3)), "x"))
    assert set(drawn) == {"(0,0) into core", "(0,0) from core", "(0,0) from DMA"}


def test_the_legend_names_only_what_is_known():
    picture = heat_map_picture.draw(make([Link("(0,0) east", 1, 4, 5, 6)]), "x")
    assert set(by_name(picture)) == {"(0,0) east"}
    words = [each.text for each in ElementTree.fromstring(picture).iter(f"{_space}text")]
    assert not {"into core", "from core", "from DMA", "from events"} & set(words)


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (2, 16)])
def test_arrows_lead_from_core_to_core(rows, columns):
    picture = heat_map_picture.draw(make(varied(rows, columns)), "x")
    cores, drawn = squares(picture), by_name(picture)
    assert sorted(cores) == list(range(rows * columns))
    for name, link in drawn.items():
        row, column, what = re.fullmatch(r"\((\d+),(\d+)\) (.*)", name).groups()
        x, y, side = cores[int(row) * columns + int(column)]
        outline = corners(link)
        if what not in _steps:  # a mark within the square
            assert all(x < a < x + side and y < b < y + side for a, b in outline), name
            continue
        down, across = _steps[what]
        to_x, to_y, _ = cores[(int(row) + down) * columns + int(column) + across]
        middle, other = (x + side / 2, y + side / 2), (to_x + side / 2, to_y + side / 2)
        tip = outline[3]
        # On the left of what travels: right and left are the signs of this product.
        assert across * (tip[1] - middle[1]) - down * (tip[0] - middle[0]) < 0, name
        assert all(abs(tip[axis] - other[axis]) < abs(outline[0][axis] - other[axis])
                   for axis in (0, 1) if middle[axis] != other[axis]), name
        axis = 0 if across else 1
        low, high = sorted((middle[axis], other[axis]))
        assert all(low + side / 2 <= each[axis] <= high - side / 2 for each in outline), name


def test_no_two_links_lie_on_one_another():
    drawn = by_name(heat_map_picture.draw(make(varied(3, 3, closed=True)), "x"))
    boxes = []
    for link in drawn.values():
        across, down = zip(*corners(link), strict=True)
        boxes.append((min(across), min(down), max(across), max(down)))
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            apart = one[2] <= other[0] or other[2] <= one[0] or \
                one[3] <= other[1] or other[3] <= one[1]
            assert apart, (one, other)


@pytest.mark.parametrize(("rows", "columns", "closed"),
                         [(1, 1, False), (2, 2, True), (9, 3, False)])
def test_everything_is_within_the_picture(rows, columns, closed):
    picture = heat_map_picture.draw(make(varied(rows, columns, closed)), "selion meters x")
    root = ElementTree.fromstring(picture)
    wide, high = float(root.get("width")), float(root.get("height"))
    places = [corner for link in parts(picture, "link") for corner in corners(link)]
    places += [(float(each.get("x")) + (0.56 * len(each.text) * float(each.get("font-size"))
                                        if each.get("text-anchor") == "start" else 0),
                float(each.get("y"))) for each in root.iter(f"{_space}text")]  # fmt: skip
    assert all(0 < x < wide and 0 < y < high for x, y in places)


def test_the_legend_says_the_scale_and_its_unit():
    picture = heat_map_picture.draw(make(mesh_links(1, 2, e_0_0=437)), "selion meters x")
    words = [each.text for each in ElementTree.fromstring(picture).iter(f"{_space}text")]
    assert [word for word in words if re.fullmatch(r"\d+", word)] == \
        ["0", "1", "0", "10", "20", "30", "40", "50"]
    assert "percent of the run" in words and "most: (0,0) east, 43.7 %" in words
    assert "selion meters x" in words
    fills = [each.get("fill") for each in ElementTree.fromstring(picture).iter(f"{_space}rect")]
    assert [fill for fill in fills if fill in heat_map.colours] == list(heat_map.colours)


# --- the command ----------------------------------------------------------------------------------


def write(folder: Path, links: list[Link], name: str = "m.jsonl") -> Path:
    rows = [{"link": each.name, "messages": each.messages, "bytes": each.bytes,
             "busy_ps": each.busy, "wait_ps": each.wait, "run_ps": 5000} for each in links]
    rows.insert(0, {"rank": 0, "name": "put", "unit": "ns", "count": 1, "total": 5, "bytes": 8,
                    "site": ""})
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_command_shows_a_map_below_the_meters(selion, tmp_path):
    links = varied(2, 2)
    done = selion("meters", write(tmp_path, links).name, "--by", "wait")
    assert (done.returncode, done.stderr) == (0, "")
    expected = heat_map.lines(make(links, "wait", run=5000), False)
    assert done.stdout.splitlines()[2:] == ["", *expected]
    assert done.stdout.splitlines()[1].startswith("put")


def test_tables_of_links_and_of_ranks_have_no_map(selion, tmp_path):
    name = write(tmp_path, varied(2, 2)).name
    for option in ("--links", "--per-rank", "--json"):
        assert "→" not in selion("meters", name, option).stdout


def test_the_command_draws(selion, tmp_path):
    links = varied(4, 4)
    name = write(tmp_path, links).name
    done = selion("meters", name, "--heat-map", "my map.svg")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "heat map drawn to my map.svg"
    picture = (tmp_path / "my map.svg").read_text(encoding="utf-8")
    assert picture == heat_map_picture.draw(
        make(links, run=5000), f"selion meters {name} --by load --heat-map 'my map.svg'")
    done = selion("meters", name, "--heat-map", "my map.svg", "--json")
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("name", [b"a\xff.svg", b"a\x01.svg"])
def test_a_map_shows_what_can_be_shown_of_its_name(tmp_path, name):
    file = write(tmp_path, varied(2, 2)).name
    line = [*command, "meters", file, "--heat-map"]
    done = subprocess.run([*map(os.fsencode, line), name], cwd=tmp_path, env=clean_environment(),
                          capture_output=True, timeout=seconds)
    assert (done.returncode, done.stderr) == (0, b"")
    [picture] = tmp_path.glob("*.svg")
    assert os.fsencode(picture.name) == name
    texts = "".join(ElementTree.parse(picture).getroot().itertext())
    assert f"selion meters {file} --by load --heat-map a.svg" in texts


def test_a_map_is_drawn_whole_to_a_pipe_too(tmp_path):
    file = write(tmp_path, varied(2, 2)).name
    done = subprocess.run([*command, "meters", file, "--json", "--heat-map", "/dev/stdout"],
                          cwd=tmp_path, env=clean_environment(), capture_output=True, text=True,
                          timeout=seconds)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<svg") and done.stdout.count("</svg>") == 1


def test_a_study_s_links_are_drawn(selion, tmp_path):
    rows = [{"selion": "0.1"}]
    for order, busy in (("mapped", 100), ("ring", 300)):
        params = {"order": order}
        rows += [{"experiment": "links", "machine": "sim:epiphany-iii", "params": each,
                  "metric": metric, "value": value}
                 for each, metric, value in (
                     (params, "ticks", 400),
                     ({**params, "from": 0, "to": 1}, "link_busy_ticks", busy),
                     ({**params, "from": 0, "to": 1}, "link_bytes", 16),
                     ({**params, "from": 3, "to": 3}, "link_busy_ticks", 8))]  # fmt: skip
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = selion("meters", path.name, "--heat-map", "x.svg")
    assert done.returncode == 2 and "--select KEY=VALUE: order=mapped, ring." in done.stderr
    assert not (tmp_path / "x.svg").exists()
    done = selion("meters", path.name, "--heat-map", "x.svg", "--select", "order=ring")
    assert (done.returncode, done.stdout) == (0, "heat map drawn to x.svg\n")
    drawn = by_name((tmp_path / "x.svg").read_text(encoding="utf-8"))
    assert drawn["(0,0) east"].find(f"{_space}title").text == (
        "(0,0) east: 16 bytes, busy 300 ticks (75.00 % of the run), "
        "waited for 0 ticks (0.00 % of the run)")
    assert drawn["(0,0) east"].find(f"{_space}path").get("fill") == heat_map.colours[9]
    assert set(drawn) == {"(0,0) east", "(1,1) from core"}


def test_a_mesh_that_is_too_large_to_be_seen(selion, tmp_path):
    name = write(tmp_path, [Link("(200,200) east", 1, 1, 1, 1)]).name
    assert "mesh" not in selion("meters", name).stdout
    done = selion("meters", name, "--heat-map", "x.svg")
    assert done.returncode == 2
    assert "a mesh of 201 x 201 cores, in which a heat map shows nothing" in done.stderr
