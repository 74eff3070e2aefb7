# SPDX-License-Identifier: Apache-2.0
"""selion study: list, run and compare studies."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from selion import launcher, native, places
from selion.cli import completion, interruption
from selion.cli import study_output as output
from selion.cli.options import Hosts
from selion.cli.output import answers_mistakes, complain, printable
from selion.mistake import Failure, Mistake
from selion.study import catalog, plan
from selion.study.compare import Verdict, compare
from selion.study.rows import Row
from selion.study.session import Others, Session

_all = "all"
_most_repetitions = 10**6
_most_seed = 2**64 - 1  # the programs take 64 bits


@dataclass
class _Run:
    """What is asked for, and what has become of it."""

    name: str
    request: plan.Request
    folder: Path
    sessions: list[Session]
    failures: dict[str, str]
    """By study, the reason."""
    go_on: bool
    others: Others
    jobs: int
    comparing: bool
    as_json: bool
    rows: dict[str, list[Row]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def of_all(self) -> bool:
        return self.name == _all

    def carry_out(self) -> None:
        """Runs all sessions, under one bar; one that fails does not stop the others."""
        points = [point for session in self.sessions for point in session.points]
        with output.progress(points, rows_to_stdout=self.as_json and not self.comparing) as bar:
            for session in self.sessions:
                began = time.monotonic()
                study = session.study.name
                try:
                    self.rows[study] = session.run(bar, self.go_on, self.jobs, self.others)
                except Mistake as problem:
                    if not (self.of_all or isinstance(problem, Failure)):
                        raise
                    self.failures[study] = str(problem)
                    if session.rows and isinstance(problem, Failure):
                        kept = f"{session.folder}/results.jsonl"
                        self.failures[study] += f"\nWhat was measured is kept in {kept}."
                    bar.abandon(study)
                self.seconds[study] = time.monotonic() - began
                if self.of_all and not self.as_json and not self.comparing:
                    self._tell_of(session)

    def _tell_of(self, session: Session) -> None:
        study = session.study.name
        if study in self.rows:
            took = output.duration(self.seconds[study])
            print(f"{study}: {len(session.points)} points, {len(self.rows[study])} rows, {took}")
        else:
            print(f"{study}: failed")

    def verdicts(self) -> list[Verdict]:
        """Of the rows of the seed that is asked for: those of another are no repetitions."""
        return [
            compare(session.study, session.request,
                    [row for row in self.rows[session.study.name]
                     if row["seed"] == self.request.seed])
            for session in self.sessions
            if session.study.name in self.rows
        ]

    @property
    def lacks_machines(self) -> bool:
        """Whether points were left out whose machines cannot be had."""
        return any(session.lacks_machines for session in self.sessions)

    @property
    def has_left_out_all(self) -> bool:
        """Whether all points were left out: nothing of what was asked for has been measured."""
        return not self.failures and all(session.has_left_out_all for session in self.sessions)

    def closing_line(self) -> str:
        rows = sum(map(len, self.rows.values()))
        place = f"{self.folder}/{'*/' if self.of_all else ''}results.jsonl"
        return f"{rows} rows in {place}, after {output.duration(sum(self.seconds.values()))}"


def _checked(name: str, request: plan.Request) -> tuple[list[catalog.Study], dict[str, str]]:
    """The studies asked for; and of all of them those that cannot be read, with the reason."""
    folder = places.studies_folder()
    if name != _all:
        return [catalog.find(folder, name)], {}
    if request.experiment is not None:
        raise Mistake("--experiment needs the name of one study in place of 'all'.")
    studies, failures = [], {}
    for each in catalog.names(folder):
        try:
            studies.append(catalog.read_study(folder / each))
        except Failure as failure:
            failures[each] = str(failure)
    return studies, failures


def _sessions(
    name: str, request: plan.Request, out: Path | None
) -> tuple[list[Session], dict[str, str]]:
    """All sessions are planned before the first one starts, so that no mistake shows up late."""
    studies, failures = _checked(name, request)
    plan.check_keys(studies, request)
    sessions = []
    for study in studies:
        folder = out if out and name != _all else (out or Path("selion-out")) / study.name
        try:
            sessions.append(Session(study, request, folder))
        except Failure as failure:
            if name != _all:
                raise
            failures[study.name] = str(failure)
    return sessions, failures


def _show(run: _Run) -> None:
    if run.comparing:
        output.print_verdicts(run.verdicts(), run.as_json)
    else:
        for fault in (each for session in run.sessions for each in session.published.faults):
            complain("study", fault)
    if not (run.comparing or run.of_all or run.as_json):
        for session in run.sessions:
            if session.study.name in run.rows:
                output.print_rows(session.points, run.rows[session.study.name])
    for study, reason in run.failures.items():
        complain("study", f"'{study}' failed: {reason}" if run.of_all else reason)
    if run.of_all and (run.as_json or run.comparing):
        complain("study", f"{run.closing_line()}.")
    elif run.rows and not (run.as_json or run.comparing):
        print(printable(run.closing_line()))


def _others(resume: bool, mixing: bool) -> Others:
    """A comparison shows what there is; who goes on is told before anything is mixed."""
    if mixing:
        return Others.MIXED
    return Others.REFUSED if resume else Others.LEFT


Name = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="Study to run, or 'all'; none: list them.",
                   autocompletion=completion.studies),
]
OneExperiment = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Run this experiment only.",
                 autocompletion=completion.experiments),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE[,VALUE]", help="Replace an axis. Repeatable.",
                 autocompletion=completion.settings),
]
Machines = Annotated[
    list[str] | None,
    typer.Option("-m", "--machine", metavar="SPEC", help="In place of the default. Repeatable.",
                 autocompletion=completion.machines),
]
Folder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Results folder; default: selion-out/NAME.")
]
Jobs = Annotated[
    int | None,
    typer.Option("-j", "--jobs", min=1, metavar="N",
                 help="Points of simulated machines at a time; default: as many as there are "
                      "usable cores. Those of real machines always run alone."),
]
Mixing = Annotated[
    bool,
    typer.Option("--mix", help="With --resume or --compare: add rows also to those of another "
                               "commit, host or setting; each part of the file says whose it is."),
]
Comparing = Annotated[
    bool,
    typer.Option("--compare", help="Published beside measured; measures only what is missing."),
]


@answers_mistakes("study")
def command(
    name: Name = None,
    experiment: OneExperiment = None,
    settings: Settings = None,
    machines: Machines = None,
    hosts: Hosts = None,
    out: Folder = None,
    repetitions: Annotated[
        int,
        typer.Option(min=1, max=_most_repetitions, help="Times each point is measured."),
    ] = 1,
    seed: Annotated[
        int, typer.Option(min=0, max=_most_seed, help="For whatever is random.")
    ] = plan.usual_seed,
    jobs: Jobs = None,
    as_json: Annotated[bool, typer.Option("--json", help="Rows on standard output.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what an earlier run left.")
    ] = False,
    mixing: Mixing = False,
    comparing: Comparing = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small axes, for a first look.")] = False,
) -> None:
    """Run a study, or all: its experiments over their axes, on any machine.

    The rows of a point are appended to DIR/results.jsonl when it is complete. A study that fails
    does not keep the others from running, nor an experiment whose simulated machine cannot be had;
    the exit status is 1 then.
    """
    if mixing and not (resume or comparing):
        raise Mistake("--mix adds to earlier rows; it needs --resume or --compare.")
    launcher.use_hosts(hosts, machines or [])
    request = plan.Request(
        experiment, tuple(settings or ()), tuple(machines or ()), repetitions, seed, quick
    )
    if name is None:
        if experiment is not None or settings or machines or out:
            raise Mistake("These options need the name of a study; 'selion study' lists them.")
        output.print_list(catalog.read_all(places.studies_folder()), as_json)
        return
    sessions, failures = _sessions(name, request, out)
    run = _Run(
        name,
        request,
        out or (Path("selion-out") if name == _all else sessions[0].folder),
        sessions,
        failures,
        resume or comparing,
        _others(resume, mixing),
        jobs or native.usable_cores(),
        comparing,
        as_json,
    )
    with interruption.answered(
        "study", "Interrupted; what was measured is kept, --resume goes on."
    ):
        run.carry_out()
    _show(run)
    if run.has_left_out_all:
        raise Failure("No point of what was asked for was measured; all were left out.")
    if run.failures or run.lacks_machines:
        raise typer.Exit(1)
