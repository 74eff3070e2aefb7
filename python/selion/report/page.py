# SPDX-License-Identifier: Apache-2.0
"""Puts a report together as one page of HTML that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from selion.mistake import Failure
from selion.report import chart_svg
from selion.report.cells import Cell
from selion.report.chart import Chart
from selion.report.chart_style import dark, declarations, light, rules, variables
from selion.report.field_picture import FieldPicture
from selion.report.runs import listed
from selion.report.scale import plain
from selion.report.sections import Section
from selion.report.select import is_number
from selion.study.rows import Row
from selion.version import version

_page = {"light": "#f6f7f9", "dark": "#0e1116"}
# What `selion.drawing` draws with on white paper. Colours that mean figures stay.
_of_drawings = {
    "white": "paper", "#ffffff": "paper", "#f3f5f7": "page", "#222222": "ink", "#444444": "ink",
    "#777777": "quiet", "#c4c8cc": "frame", "#0072b2": "c0", "#d55e00": "c1", "#00805f": "c2",
}  # fmt: skip


@dataclass(frozen=True)
class Report:
    """What a report is made of, whatever its form."""

    title: str
    sections: Sequence[Section]
    fields: Sequence[FieldPicture]
    notes: Sequence[str]
    #: Files that it is made of.
    sources: Sequence[Path] = ()


def _template(name: str) -> str:
    return (resources.files("selion.report") / "templates" / name).read_text(encoding="utf-8")


def style() -> str:
    """All rules of the page: both themes, charts, layout."""
    day = declarations({**light, "page": _page["light"]})
    night = declarations({**dark, "page": _page["dark"]})
    return "".join([
        f":root{{{day}color-scheme:light}}",
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{night}"
        "color-scheme:dark}}",
        f":root[data-theme=dark]{{{night}color-scheme:dark}}",
        # Only charts: other drawings bring their own fonts and colours.
        rules(variables()).replace("text{", ".chart text{"),
        *(f'.paper [{what}="{colour}"]{{{what}:var(--{name})}}'
          for colour, name in _of_drawings.items() for what in ("fill", "stroke")),
        _template("report.css")])


def words_of(value: Any) -> str:
    """A measured or published value, for people."""
    if isinstance(value, bool):
        return str(value).lower()
    if is_number(value):
        return plain(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def table_of(chart: Chart) -> list[list[str]]:
    """A chart's numbers: a line for each x, a column for each curve."""
    columns = [{dot.x: dot for dot in curve.dots} for curve in chart.curves]
    places = list(dict.fromkeys(dot.x for curve in chart.curves for dot in curve.dots))
    if all(is_number(place) for place in places):
        places.sort()
    lines = []
    for place in places:
        cells = []
        for column in columns:
            dot = column.get(place)
            text = "" if dot is None else plain(dot.y)
            if dot is not None and dot.published is not None:
                text += f" (published {plain(dot.published)})"
            cells.append(text)
        lines.append([words_of(place), *cells])
    return lines


def x_name(chart: Chart) -> str:
    return f"{chart.x_title} ({chart.x_unit})" if chart.x_unit else chart.x_title


def names_of(chart: Chart) -> list[str]:
    """Of a table's columns."""
    unit = f" ({chart.y_unit})" if chart.y_unit else ""
    return [(curve.name or chart.y_title) + unit for curve in chart.curves]


def _legend(chart: Chart) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [
        {"number": number, "name": curve.name, "mark": chart_svg.legend_mark(number, chart.kind)}
        for number, curve in enumerate(chart.curves) if curve.name
    ]
    if chart.has_published:
        mark = chart_svg.published_mark(chart.kind)
        entries.append({"number": None, "name": "published", "mark": mark})
    return entries


def _chart(chart: Chart, key: str) -> dict[str, Any]:
    return {
        "key": key, "title": chart.title, "text": chart.text, "command": chart.command,
        "is_virtual": chart.is_virtual, "runs": chart.runs, "legend": _legend(chart),
        "svg": chart_svg.body(chart, f"{key}-clip"), "x_name": x_name(chart),
        "names": names_of(chart), "table": table_of(chart),
    }  # fmt: skip


def cell_words(cell: Cell) -> dict[str, str]:
    """A line of the table of cells."""
    state = "open" if cell.published is None else \
        "off" if cell.is_within is False else "in"
    return {
        "state": state, "experiment": cell.experiment, "params": cell.params,
        "metric": cell.metric, "measured": f"{words_of(cell.measured)} {cell.unit}".strip(),
        "published": "not known" if cell.published is None else words_of(cell.published),
        "error": "" if cell.error_percent is None else f"{cell.error_percent:+.2f} %",
        "tolerance": "" if cell.tolerance_percent is None else f"{cell.tolerance_percent:g} %",
    }  # fmt: skip


def measured_words(section: Section) -> str:
    """By what a study's rows were measured, in a sentence."""
    versions = dict.fromkeys(str(header.get("selion")) for header in section.headers)
    return (f"{section.row_count:,} rows, measured by selion {', '.join(versions) or '?'} "
            f"({listed(section.runs)}).")


def origin_words(headers: Iterable[Row]) -> str:
    """Where all of it was measured."""
    hosts = dict.fromkeys(
        f"{header.get('cpu', 'an unknown processor')}, {header.get('cores', '?')} usable "
        f"processors, kernel {header.get('kernel', '?')}, {header.get('compiler') or '?'}"
        for header in headers)
    return "Measured on " + "; ".join(hosts) + "." if hosts else "Nobody noted where."


def basis_html(section: Section) -> str:
    """What is given, fitted and predicted; its links lead into the source tree and are dropped."""
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(section.basis_markdown)
    for token in tokens:
        if token.children:
            token.children = [each for each in token.children
                              if each.type not in ("link_open", "link_close", "html_inline")]
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def html(report: Report) -> str:
    """The whole page.

    @error Failure if Jinja2 is missing.
    """
    try:
        from jinja2 import Environment
        from markupsafe import Markup
    except ImportError:
        raise Failure("A report as HTML needs Jinja2: pip install jinja2.") from None
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    sections = []
    for place, section in enumerate(report.sections):
        charts = [_chart(chart, f"plot-{place}-{number}")
                  for number, chart in enumerate(section.charts)]
        sections.append({
            **vars(section), "charts": charts, "basis": basis_html(section),
            "cells": [cell_words(cell) for cell in section.cells],
            "open_cells": section.open_cells, "measured": measured_words(section),
        })  # fmt: skip
    headers = [header for section in report.sections for header in section.headers]
    return environment.from_string(_template("report.html.j2")).render(
        title=report.title, version=version(), origin=origin_words(headers), notes=report.notes,
        sections=sections, fields=report.fields, style=Markup(style()),
        script=Markup(_template("report.js")))
