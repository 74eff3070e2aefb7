# SPDX-License-Identifier: Apache-2.0
"""A report as Markdown, for places that show no HTML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from selion.report.page import (
    Report,
    cell_words,
    measured_words,
    names_of,
    origin_words,
    table_of,
    x_name,
)
from selion.report.sections import Section


def _table(head: list[str], lines: list[list[str]]) -> Iterator[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    yield line(head)
    yield "|" + "---|" * len(head)
    for each in lines:
        yield line(each)
    yield ""


def _picture(title: str, plots: Path, name: str) -> str:
    """@param name of a file in `plots`, of which the report shows any letters."""
    return f"![{title}]({quote(plots.name)}/{quote(name)})\n"


def _section(section: Section, plots: Path) -> Iterator[str]:
    yield f"## {section.title}\n"
    if section.source:
        yield f"Source: {section.source}\n"
    if section.concluded:
        yield f"The source: {section.concluded}\n"
        yield f"Here: **{section.answer}**\n"
    if section.verdict:
        yield f"{section.verdict}\n"
    if section.basis_markdown:
        yield f"### Given, fitted, predicted\n\n{section.basis_markdown}\n"
    for number, chart in enumerate(section.charts, start=1):
        yield f"### {chart.title}\n"
        yield _picture(chart.title, plots, f"{section.name}-{number:02}.svg")
        if chart.text:
            yield f"{chart.text}\n"
        if chart.runs:
            yield f"{chart.runs}\n"
        yield f"`{chart.command}`\n"
        yield from _table([x_name(chart), *names_of(chart)], table_of(chart))
    for number, picture in enumerate(section.pictures, start=1):
        if picture.svg:
            yield f"### {picture.title}\n"
            yield _picture(picture.title, plots, f"{section.name}-picture-{number}.svg")
            if picture.runs:
                yield f"{picture.runs}\n"
    if section.cells:
        yield "### Cell by cell\n"
        if section.runs_of_cells:
            yield f"{section.runs_of_cells}\n"
        columns = ["experiment", "params", "metric", "measured", "published", "error", "tolerance"]
        lines = [[words[key] for key in columns] for words in map(cell_words, section.cells)]
        yield from _table(["experiment", "at", "figure", *columns[3:]], lines)
    yield f"{measured_words(section)}\n"


def text(report: Report, plots: Path) -> str:
    """@param plots folder beside the file, with `NAME-NUMBER.svg` of each plot."""
    headers = [header for section in report.sections for header in section.headers]
    lines = [f"# {report.title}\n", origin_words(headers) + "\n"]
    lines += [f"> {note}\n" for note in report.notes]
    for section in report.sections:
        lines += _section(section, plots)
    for number, field in enumerate(report.fields, start=1):
        lines += [f"## {field.title}\n", _picture(field.title, plots, f"object-{number}.svg"),
                  f"{field.text}\n"]
    return "\n".join(lines)
