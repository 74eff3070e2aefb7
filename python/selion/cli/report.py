# SPDX-License-Identifier: Apache-2.0
"""selion report: what studies have measured, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from selion.cli.output import answers_mistakes, complain, printable
from selion.mistake import Mistake, listing, unknown

_formats = ("html", "md", "png")
_endings = tuple(f".{form}" for form in _formats)


def _form_of(named: str | None, out: Path | None) -> str:
    if named is not None and named not in _formats:
        raise unknown(named, "a form of reports", _formats)
    if named is not None or out is None:
        return named or "html"
    if out.suffix not in _endings:
        raise Mistake(f"'{out}' does not say which form the report has; legal are names that end "
                      f"in {listing(_endings)}, or --format.")
    return out.suffix[1:]


@answers_mistakes("report")
def command(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR...", help="Folders of results; none: selion-out."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE",
                     help="File to write, whose ending .html, .md or .png says the form; with "
                          "--format it may be any. png: a folder. Folders that are missing are "
                          "made (default: report.html, report.md, plots)."),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORM", help="html (the default), md or png.")
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title of the report.")] = (
        "Selion: what the studies have measured"
    ),
) -> None:
    """Make one page of what studies have measured, with the published figures beside it.

    The page needs no network and nothing beside it. Results that cannot be used are named, by file
    and line, and the rest is shown.
    """
    from selion.report import write

    chosen = _form_of(form, out)
    report = write.make(folders or [Path("selion-out")], title)
    for note in report.notes:
        complain("report", note)
    written = write.write(report, chosen, out)
    print(printable(f"{written.place}: {written.summary}"))
