# SPDX-License-Identifier: Apache-2.0
"""selion meters: what a job counted and timed, and how much its links were used."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from selion import meter_file
from selion.cli.output import (
    answers_mistakes,
    complain,
    is_terminal,
    print_json_lines,
    print_table,
    printable,
)
from selion.drawing import heat_map, heat_map_picture
from selion.drawing.heat_map import HeatMap
from selion.drawing.svg import drawable
from selion.meter_file import Link, Reading, Recorded, Summary
from selion.mistake import Mistake
from selion.whole_file import write_whole

_most = 20  # links, where nobody says how many


# --- tables ---------------------------------------------------------------------------------------


def _sites(sites: Sequence[str]) -> list[str]:
    """Without the folders that all of them share, and with a space that keeps them to the left."""
    folders = {os.path.dirname(site) for site in sites if site}
    try:
        shared = os.path.commonpath(folders) if folders else ""
    except ValueError:  # some begin at the root and some do not
        shared = ""
    return [(os.path.relpath(site, shared) if site and shared else site) + " " for site in sites]


def _names(rows: Sequence[Summary] | Sequence[Reading]) -> list[str]:
    """With the kind, where several kinds of one name and unit are there."""
    kinds: dict[tuple[str, str], set[str]] = {}
    for each in rows:
        kinds.setdefault((each.name, each.unit), set()).add(each.kind)
    return [f"{each.name} ({each.kind})"
            if each.kind and len(kinds[each.name, each.unit]) > 1 else each.name for each in rows]


def _columns(row: type[Summary] | type[Reading]) -> list[str]:
    """Those of a table, in which names say of what kind they are."""
    return [name for name in row.__dataclass_fields__ if name != "kind"]


def _print_summaries(rows: Sequence[Summary]) -> None:
    lines = []
    sites = _sites([each.site for each in rows])
    for each, name, site in zip(rows, _names(rows), sites, strict=True):
        figures = (each.min, each.min_rank, each.max, each.max_rank, each.count, each.bytes)
        lines.append([name, each.unit, str(each.ranks), f"{each.mean:.1f}",
                      *map(str, figures), site])  # fmt: skip
    print_table(_columns(Summary), lines)


def _print_readings(rows: Sequence[Reading]) -> None:
    lines = []
    sites = _sites([each.site for each in rows])
    for each, name, site in zip(rows, _names(rows), sites, strict=True):
        figures = (each.count, each.total, each.bytes)
        lines.append([str(each.rank), name, each.unit, *map(str, figures), site])
    print_table(_columns(Reading), lines)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _time(value: float, unit: str) -> str:
    """Picoseconds as nanoseconds; ticks as they are."""
    return f"{value / 1000:.1f}" if unit == "ps" else f"{value:.10g}"


def _print_links(recorded: Recorded, links: Sequence[Link]) -> None:
    unit = "ns" if recorded.unit == "ps" else recorded.unit
    columns = ["link", "messages", "bytes", "busy_%", f"busy_{unit}", "wait_%", f"wait_{unit}"]
    lines = [
        [
            link.name,
            "" if link.messages is None else str(link.messages),
            f"{link.bytes:.12g}",
            _percent(recorded.percent(link.busy)),
            _time(link.busy, recorded.unit),
            _percent(recorded.percent(link.wait)),
            _time(link.wait, recorded.unit),
        ]
        for link in links
    ]
    print_table(columns, lines)


def _link_row(recorded: Recorded, link: Link) -> dict[str, Any]:
    return {
        "link": link.name,
        "messages": link.messages,
        "bytes": link.bytes,
        f"busy_{recorded.unit}": link.busy,
        f"wait_{recorded.unit}": link.wait,
        f"run_{recorded.unit}": recorded.run,
        "busy_percent": recorded.percent(link.busy),
        "wait_percent": recorded.percent(link.wait),
    }


def _print_head(recorded: Recorded) -> None:
    if job := recorded.job:
        print(f"{printable(job.machine)}: {job.ranks:,} ranks, "
              f"{'virtual' if job.is_virtual else 'real'} time\n")


# --- what can be asked for ------------------------------------------------------------------------


def _show_links(recorded: Recorded, by: str, most: int, as_json: bool) -> None:
    """The busiest first, or those that were waited for most."""
    def order(link: Link) -> tuple[float, float]:
        return (-link.busy, -link.wait) if by == "load" else (-link.wait, -link.busy)

    links = sorted(recorded.links, key=order)
    shown = links[:most] if most else links
    if as_json:
        print_json_lines(_link_row(recorded, link) for link in shown)
        return
    if recorded.run:
        print(f"run: {heat_map.length(recorded.run, recorded.unit)}\n")
    _print_links(recorded, shown)
    if len(shown) < len(links):
        print(f"\n{len(shown)} of {len(links)} links; --most 0 shows all of them.")


def _show_meters(recorded: Recorded, per_rank: bool, as_json: bool) -> None:
    readings = recorded.readings
    if as_json:
        rows = readings if per_rank else meter_file.aggregate(readings)
        print_json_lines(asdict(each) for each in rows)
    elif per_rank:
        _print_readings(sorted(readings, key=lambda reading: reading.rank))
    elif readings:
        _print_summaries(meter_file.aggregate(readings))


def _is_colourful() -> bool:
    """Whether standard output is a terminal whose user has not refused colours."""
    return is_terminal(sys.stdout) and "NO_COLOR" not in os.environ \
        and os.environ.get("TERM") != "dumb"


def _command_line(file: Path, by: str, select: Sequence[str], picture: Path) -> str:
    """That draws the same; of the paths only the names, as far as a picture can show them."""
    words = ["selion", "meters", drawable(file.name), "--by", by]
    for each in select:
        words += ["--select", drawable(each)]
    return shlex.join([*words, "--heat-map", drawable(picture.name)])


def _draw(heat: HeatMap | None, file: Path, select: Sequence[str], path: Path) -> None:
    """@error Mistake if there is nothing to draw. @error Failure if the file cannot be written."""
    if heat is None:
        raise Mistake(f"{file} holds no links of a mesh, so there is no heat map; a job on a "
                      "simulated mesh such as sim:epiphany-iii writes them.")
    if os.path.realpath(path) == os.path.realpath(file):
        raise Mistake(f"--heat-map is {path}, the file that is read; choose another name.")
    if heat.is_too_large:
        raise Mistake(f"{file} is of a mesh of {heat.mesh.rows:,} x {heat.mesh.columns:,} cores, "
                      "in which a heat map shows nothing; --links lists its links.")
    write_whole(path, heat_map_picture.draw(heat, _command_line(file, heat.by, select, path)))


@answers_mistakes("meters")
def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Of SELION_METERS, or a study's results.jsonl.")
    ],
    per_rank: Annotated[
        bool, typer.Option("--per-rank", help="A line for each rank and meter.")
    ] = False,
    links: Annotated[
        bool, typer.Option("--links", help="A line for each link of a simulated network.")
    ] = False,
    most: Annotated[
        int | None, typer.Option(metavar="N", help="With --links: so many; 0: all. Default: 20.")
    ] = None,
    by: Annotated[
        str, typer.Option(metavar="load|wait", help="What the heat map shows and --links goes by.")
    ] = "load",
    picture: Annotated[
        Path | None, typer.Option("--heat-map", metavar="FILE", help="Draw the heat map, an SVG.")
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Which run of a study; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON Lines, one object a row.")] = False,
) -> None:
    """Show what a job counted and timed, and how much each link of its network was used.

    The job writes FILE if SELION_METERS=FILE is set. Meters are added up over ranks; mean, min and
    max are of a rank's total. Links of a mesh follow as a heat map.
    """
    heat_map.check_kind(by)
    if links and per_rank:
        raise Mistake("--links and --per-rank show different tables; leave one of them out.")
    if most is not None and (most < 0 or not links):
        raise Mistake(f"--most is {most}; legal is 0 or more." if links else
                      "--most is for --links, which is not there.")
    recorded = meter_file.read(file, select or [])
    if recorded.note:
        complain("meters", recorded.note)
    heat = heat_map.make(recorded, by)
    shown = heat if heat is not None and not heat.is_too_large else None
    if links and not recorded.links:
        raise Mistake(f"{file} holds no links; a job on a simulated machine writes them.")
    needs_readings = per_rank or (picture is None and (as_json or shown is None))
    if needs_readings and not links and not recorded.readings:
        raise Mistake(f"{file} holds links but no meters of ranks; --links shows them.")
    if picture is not None:
        _draw(heat, file, select or [], picture)
    if not as_json:
        _print_head(recorded)
    if links:
        _show_links(recorded, by, _most if most is None else most, as_json)
    else:
        _show_meters(recorded, per_rank, as_json)
    if picture is not None and not as_json:
        print(f"heat map drawn to {printable(str(picture))}")
    elif shown is not None and not (as_json or links or per_rank):
        print("\n" * bool(recorded.readings) + "\n".join(heat_map.lines(shown, _is_colourful())))
