# SPDX-License-Identifier: Apache-2.0
"""selion tune: which way collectives go quickest on this host."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from selion import known_machines, launcher, native, schedules, spec
from selion.cli import completion, interruption
from selion.cli.options import Hosts
from selion.cli.output import answers_mistakes, print_table
from selion.mistake import Failure, Mistake, did_you_mean, listing
from selion.study.header import header
from selion.tuning import cells as all_cells
from selion.tuning import check, consistency, program, table
from selion.tuning.cells import Cell
from selion.tuning.circumstances import circumstances
from selion.tuning.notes import Asked, Notes
from selion.tuning.session import Found, Search
from selion.tuning.understood import misunderstood

_most_shown = 10  # contradictions
_units = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smh]?)", text)
    if not found or float(found[1]) == 0:
        raise Mistake(f"'{text}' is no time; legal are 30s, 5m, 1h and their like.")
    return float(found[1]) * _units[found[2]]


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[str | None], None]]:
    """A bar on standard error if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=sys.stderr)
    columns = (MofNCompleteColumn(), BarColumn(bar_width=24), TimeElapsedColumn(),
               TextColumn("{task.description}", markup=False))
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("", total=total)

    def tell(label: str | None) -> None:
        if label is None:
            bar.advance(task)
        else:
            bar.update(task, description=label)

    with bar:
        yield tell


def _checked_collectives(names: list[str] | None) -> list[str]:
    legal = list(schedules.collectives())
    for name in names or []:
        if name not in legal:
            near = did_you_mean(name, legal)
            raise Mistake(f"There is no collective '{name}'{near}; legal: {listing(legal)}.")
    return list(dict.fromkeys(names or legal))


def _checked_machines(machines: list[str] | None) -> list[str]:
    for machine in machines or []:
        if not machine:  # which the library would take for its own choice
            raise known_machines.unknown_machine(machine, _real_kinds())
        if machine.startswith("sim"):
            raise Mistake(f"'{machine}' is simulated; only real machines are tuned.")
        if "," in machine:
            raise Mistake(f"'{machine}' has options; machines are tuned without any.")
    named = machines or all_cells.default_machines(native.usable_cores())
    return list(dict.fromkeys(named))


def _real_kinds() -> list[str]:
    return [kind.name for kind in native.load().machine_kinds() if kind.name != "sim"]


@dataclass(frozen=True)
class _Wanted:
    """What is to be measured, and how."""

    machines: list[str]
    collectives: list[str]
    seconds: float
    end: float
    is_resumed: bool
    any_order: bool
    output: Path | None


def _cells(wanted: _Wanted) -> tuple[list[Cell], dict[str, str]]:
    """The cells, and what tables call the network of each machine that has one."""
    ranks: dict[str, int] = {}
    networks: dict[str, str] = {}
    for machine in wanted.machines:
        team = program.team_of(machine)
        ranks[machine] = team.members
        if spec.parse(machine).kind == "fabric":
            networks[machine] = team.machine
    return all_cells.cells(ranks, wanted.collectives), networks


def _asked_how(wanted: _Wanted) -> dict[str, Any]:
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(["selion", *sys.argv[1:]]),
        "seconds": wanted.seconds,
    }


def _understood(path: Path, host: str) -> dict[table.Place, table.Row]:
    """The rows of a table, without those for which the library would ignore all of it."""
    rows = table.read(path, host)
    lost = misunderstood(rows, host)
    for place, why in list(lost.items())[:_most_shown]:
        print(f"A row of {path} is left out, {place}: {why}.")
    if len(lost) > _most_shown:
        print(f"{len(lost) - _most_shown} more rows are left out for their like.")
    return {place: row for place, row in rows.items() if place not in lost}


def _keep(found: Found, path: Path, host: str, search: dict[str, Any]) -> None:
    """Puts the rows of a search among those of the table, as it is now: others may have come."""
    kept = _understood(path, host)
    rows = {**kept, **found.rows}
    searches = table.with_search(table.searches(path, kept), search, found.rows, rows)
    violations = [str(each) for each in consistency.violations(rows)]
    table.write(path, host, rows, {"searches": searches, "violations": violations})


def _counted_cells(count: int) -> str:
    return "one cell" if count == 1 else f"{count} cells"


def report(found: Found, path: Path, notes: Path) -> None:
    """Tells what a search has come to, and where it is."""
    if found.mended:
        print(f"{found.mended} contradictions between collectives went away when they were "
              "measured again.")
    for violation in found.violations[:_most_shown]:
        print(f"contradiction: {violation}")
    if len(found.violations) > _most_shown:
        print(f"{len(found.violations) - _most_shown} smaller contradictions are in the file.")
    if found.left:
        print(f"There was no time for {_counted_cells(found.left)}; go on with --resume ({notes}).")
    rows = len(found.rows)
    if rows == 0:
        print(f"No cell was measured, so nothing was written to {path}.")
        return
    print(f"{rows} {'row is' if rows == 1 else 'rows are'} in {path}")
    _tell_other_table(path)


def _tell_other_table(path: Path) -> None:
    """Where SELION_TUNING has programs that are started here use another table than the one that
    was written, or none. Of words that switch it on, and of none, nothing is said."""
    setting = os.environ.get("SELION_TUNING")
    module, _ = native.try_load()
    if not setting or module is None:
        return
    used = module.tuning_path_in_use()
    if not used:
        print(f"Programs started here use no table: SELION_TUNING is '{setting}'.")
    elif used == setting and os.path.realpath(used) != os.path.realpath(path):
        print(f"Programs started here read another table: SELION_TUNING is '{setting}'.")


def _path(wanted: _Wanted, place: program.Place) -> Path:
    """The table itself where a link is named: it is what is replaced, and what its notes lie
    beside. @error Mistake if there is no place for one."""
    if wanted.output is None and place.path == Path():
        raise Mistake("Neither XDG_CACHE_HOME nor HOME is set, so there is no folder for the "
                      "table; name a file with -o FILE.")
    path = wanted.output or place.path
    with contextlib.suppress(OSError, RuntimeError):  # links in a circle, which is told later
        return path.resolve() if path.is_symlink() else path
    return path


def _tune(wanted: _Wanted, place: program.Place) -> None:
    path = _path(wanted, place)
    table.read(path, place.host)  # a mistake about it is told before anything is measured
    with Notes(path.with_name(path.name + ".part"), place.host) as notes:
        cells, networks = _cells(wanted)
        now = circumstances(header(), wanted.any_order)
        notes.begin(Asked(cells, networks, now), wanted.is_resumed)
        with _progress(len(cells)) as tell:
            for cell in cells:
                if cell in notes.done:
                    tell(None)
            found = Search(cells, notes, wanted.end, wanted.any_order, tell).run()
        if found.rows:
            _keep(found, path, place.host, {**now, **_asked_how(wanted)})
        if not found.left:
            notes.drop(cells)
    report(found, path, notes.path)


def _check(wanted: _Wanted, place: program.Place) -> None:
    path = _path(wanted, place)
    if not table.read(path, place.host):
        problem = "has no rows" if path.exists() else "does not exist"
        raise Mistake(f"'{path}' {problem}; 'selion tune' writes it.")
    cells, _ = _cells(wanted)
    for machine in wanted.machines:
        if why := program.trouble_with(path, machine):
            raise Mistake(f"'{path}' {why}; programs on '{machine}' ignore it, so there are no "
                          "choices to check. 'selion tune' writes it anew.")
    with _progress(len(cells)) as tell:
        found = check.run(cells, path, wanted.end, tell)
    if not found.checked:
        raise Failure(f"There was no time to check any of {len(cells)} cells; give it more with "
                      "--time.")
    columns = ["machine", "collective", "bytes", "chosen", "ns", "best", "ns", "beyond %"]
    print_table(columns, [each.columns() for each in found.checked])
    print(check.sentence(found.checked))
    if found.left:
        print(f"There was no time for {_counted_cells(found.left)}.")
    if not all(each.is_good for each in found.checked):
        raise typer.Exit(1)


@answers_mistakes("tune")
def command(
    limit: Annotated[
        str,
        typer.Option("--time", metavar="TIME",
                     help="So long: 30s, 5m, 1h. The job that is under way then is finished."),
    ] = "5m",
    machine: Annotated[
        list[str] | None,
        typer.Option("-m", "--machine", metavar="SPEC",
                     help="Machine to measure, as threads:4, or fabric:8; may be given several "
                          "times. Default: threads and processes of 2, 3, 4, 8 ranks and as many "
                          "as fit.",
                     autocompletion=completion.machines),
    ] = None,
    hosts: Hosts = None,
    collective: Annotated[
        list[str] | None,
        typer.Option("-c", "--collective", metavar="NAME",
                     help="Collective to measure; may be given several times. Default: all.",
                     autocompletion=completion.collectives),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an earlier run was stopped.")
    ] = False,
    any_order: Annotated[
        bool,
        typer.Option("--any-order", help="Measure also ways that change the association of sums; "
                                         "they are noted, and not chosen by themselves."),
    ] = False,
    check_only: Annotated[
        bool,
        typer.Option("--check", help="Change nothing: measure all ways as long as the others, and "
                                     "show how far the table's choices are from the best."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE",
                     help="Table to write, or to check. Default: the one that is used from then "
                          "on, in your cache folder."),
    ] = None,
) -> None:
    """Measure collectives on this host and keep the quickest way of each in a table.

    Nothing else should run meanwhile. Programs use the table from then on; SELION_TUNING names
    another one, or switches it off. With -m fabric:N the site's launcher starts the ranks, and
    rank 0's table counts for all of a job.
    """
    seconds = _seconds(limit)
    launcher.use_hosts(hosts, machine or [])
    wanted = _Wanted(
        machines=_checked_machines(machine),
        collectives=_checked_collectives(collective),
        seconds=seconds,
        end=time.monotonic() + seconds,
        is_resumed=resume,
        any_order=any_order,
        output=output,
    )
    place = program.place()
    again = "" if check_only else "; 'selion tune --resume' goes on with it"
    with interruption.answered("tune", f"Interrupted{again}."):
        (_check if check_only else _tune)(wanted, place)
