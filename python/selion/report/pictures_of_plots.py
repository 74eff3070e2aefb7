# SPDX-License-Identifier: Apache-2.0
"""Writes each plot and drawing of a report to a file of its own, as SVG or as PNG."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from selion.mistake import Failure
from selion.report import chart_svg
from selion.report.chart_style import light, rules
from selion.report.page import Report
from selion.whole_file import write_whole

_pixels_each = 2  # of PNG for one of SVG
#: In place of the fonts that a page asks for, which may be missing where there is no browser.
_text_font = "DejaVu Sans"
_number_font = "DejaVu Sans Mono"


def _all(report: Report) -> Iterator[tuple[str, str]]:
    """Names of files without their ending, and what they hold."""
    style = rules(light)
    for section in report.sections:
        for number, chart in enumerate(section.charts, start=1):
            yield f"{section.name}-{number:02}", chart_svg.alone(chart, style)
        for number, picture in enumerate(section.pictures, start=1):
            if picture.svg:
                yield f"{section.name}-picture-{number}", picture.svg
    for number, field in enumerate(report.fields, start=1):
        yield f"object-{number}", field.svg


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Failure(f"{folder} cannot be made: {problem.strerror}.") from None


def write_svg(report: Report, folder: Path) -> Path:
    """@return the folder. @error Failure if a file cannot be written."""
    _make(folder)
    for name, svg in _all(report):
        write_whole(folder / f"{name}.svg", svg)
    return folder


def write(report: Report, folder: Path) -> int:
    """As PNG. @return how many. @error Failure if resvg-py is missing, or as `write_svg`."""
    try:
        import resvg_py
    except ImportError:
        raise Failure("Plots as PNG need resvg-py: pip install 'selion[png]'.") from None
    _make(folder)
    count = 0
    for name, svg in _all(report):
        picture = resvg_py.svg_to_bytes(
            svg, zoom=_pixels_each, font_family=_text_font,
            sans_serif_family=_text_font, monospace_family=_number_font)
        write_whole(folder / f"{name}.png", picture)
        count += 1
    return count
