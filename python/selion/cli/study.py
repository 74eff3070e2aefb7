# SPDX-License-Identifier: Apache-2.0
"""selion study: list, run and compare studies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from selion import places
from selion.cli import study_output as output
from selion.cli.output import answers_mistakes, complain
from selion.mistake import Failure, Mistake
from selion.study import catalog, plan
from selion.study.compare import compare
from selion.study.session import Session

_interrupted = 130


def _chosen(name: str, request: plan.Request) -> list[catalog.Study]:
    studies = catalog.read_all(places.studies_folder())
    if name == "all":
        if request.experiment:
            raise Mistake("--experiment needs the name of one study in place of 'all'.")
        return list(studies.values())
    return [catalog.find(studies, name)]


def _sessions(name: str, request: plan.Request, out: Path | None) -> list[Session]:
    """All sessions are planned before the first one starts, so that no mistake shows up late."""
    studies = _chosen(name, request)
    plan.check_keys(studies, request)
    folder = out or Path("selion-out")
    return [
        Session(study, request, folder if out and name != "all" else folder / study.name)
        for study in studies
    ]


def _run(session: Session, go_on: bool, comparing: bool, as_json: bool) -> bool:
    """Runs one session; false if it failed."""
    with output.progress(rows_to_stdout=as_json and not comparing) as watcher:
        try:
            rows = session.run(watcher, go_on)
        except Failure as failure:
            complain("study", str(failure))
            complain("study", f"What was measured is kept in {session.folder}/results.jsonl.")
            return False
    if comparing:
        verdict = compare(session.study, session.request, rows)
        output.print_verdict(session.study.name, verdict, as_json)
    elif not as_json:
        output.print_rows(session.points, rows)
        print(f"{len(rows)} rows in {session.folder}/results.jsonl")
    return True


@answers_mistakes("study")
def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Study to run, or 'all'; none: list them."),
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run this experiment only.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE[,VALUE]", help="Replace an axis. Repeatable."),
    ] = None,
    machines: Annotated[
        list[str] | None,
        typer.Option("--machine", metavar="SPEC", help="In place of the default. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Results folder; default: selion-out/NAME.")
    ] = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Times each point is measured.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="For whatever is random.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Rows on standard output.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what an earlier run left.")
    ] = False,
    comparing: Annotated[
        bool,
        typer.Option("--compare", help="Published beside measured; measures only what is missing."),
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small axes, for a first look.")] = False,
) -> None:
    """Run a study: its experiments over their axes, on any machine.

    Rows are appended to DIR/results.jsonl as they are measured.
    """
    request = plan.Request(
        experiment, tuple(settings or ()), tuple(machines or ()), repetitions, seed, quick
    )
    if name is None:
        if experiment or settings or machines or out:
            raise Mistake("These options need the name of a study; 'selion study' lists them.")
        output.print_list(catalog.read_all(places.studies_folder()), as_json)
        return
    sessions = _sessions(name, request, out)
    try:
        done = [_run(session, resume or comparing, comparing, as_json) for session in sessions]
    except KeyboardInterrupt:
        complain("study", "Interrupted; what was measured is kept, --resume goes on.")
        raise typer.Exit(_interrupted) from None
    if not all(done):
        raise typer.Exit(1)
