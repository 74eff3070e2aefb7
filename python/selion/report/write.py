# SPDX-License-Identifier: Apache-2.0
"""Makes a report of folders of results, and writes it in one of its forms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from selion import places
from selion.mistake import Mistake
from selion.report import markdown, page, pictures_of_plots
from selion.report.collect import collect
from selion.report.field_picture import draw_fields
from selion.report.page import Report
from selion.report.runs import warning
from selion.report.sections import sections_of
from selion.whole_file import is_special, write_whole
from selion.study import catalog
from selion.study.rows import previous_name


@dataclass(frozen=True)
class Written:
    """What has been written where, in a line."""

    place: Path
    summary: str


def make(folders: Sequence[Path], title: str) -> Report:
    """@error Failure if there are no results."""
    collected = collect(folders)
    sections = sections_of(collected.studies, catalog.read_all(places.studies_folder()))
    fields, notes = draw_fields(collected.fields)
    several = warning({section.name: section.runs for section in sections})
    figures = [note for section in sections for note in section.notes]
    return Report(title, sections, fields, [*several, *collected.notes, *figures, *notes],
                  [*collected.files, *map(Path.resolve, collected.fields)])


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _expect_no_results(out: Path, sources: Sequence[Path]) -> None:
    """@error Mistake for a file that the report is made of, or in which rows are kept beside it."""
    path = Path(os.path.realpath(out))
    held = ""
    if path in sources:
        held = "results that the report is made of"
    elif path.name == previous_name and any(path.parent == each.parent for each in sources):
        held = "results of an earlier run"
    if held:
        raise Mistake(f"'{out}' holds {held}, which it would replace; choose another --out.")


def write(report: Report, form: str, out: Path | None) -> Written:
    """@param form "html", "md" or "png".

    @param out the file, or for png the folder; None: a name of its own in this folder.
    @error Failure if it cannot be written, or if a library for this form is missing.
    @error Mistake if the file is one of those that the report is made of, or cannot have plots
    beside it that it needs.
    """
    if out is not None:
        _expect_no_results(out, report.sources)
    plots = sum(len(section.charts) for section in report.sections)
    studies = _counted(len(report.sections), "study", "studies")
    words = f"{studies}, {_counted(plots, 'plot', 'plots')}"
    if form == "png":
        place = out or Path("plots")
        count = pictures_of_plots.write(report, place)
        return Written(place, f"{studies}, {_counted(count, 'picture', 'pictures')}")
    if form == "md":
        place = out or Path("report.md")
        if is_special(place):
            raise Mistake(f"'{place}' is no ordinary file, and the plots of a report in Markdown "
                          "lie beside it; choose another --out.")
        folder = place.parent / f"{place.stem}-plots"
        write_whole(place, markdown.text(report, pictures_of_plots.write_svg(report, folder)))
        return Written(place, f"{words} in {folder}")
    place = out or Path("report.html")
    size = write_whole(place, page.html(report))
    return Written(place, f"{words}, {size / 1e6:.1f} MB")
