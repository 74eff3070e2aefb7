# SPDX-License-Identifier: Apache-2.0
"""The command `selion`: one file for each of its commands, which is read when it is asked for."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from selion.cli import output
from selion.cli.catalogue import CommandCatalogue
from selion.cli.usage import UsageError, sentences

app = typer.Typer(
    name="selion",
    cls=CommandCatalogue,
    help="One program over a partitioned global address space, on any machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from selion.cli import build_facts

        build_facts.show()
        raise typer.Exit


@app.callback()
def _common(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and what was built how, and end.",
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """What the installed command calls."""
    if any(word.startswith(("--install-", "--show-")) for word in sys.argv[1:2]):
        from selion.cli import shells

        shells.answer(sys.argv[1:])
    if os.environ.get("_SELION_COMPLETE") == "complete_bash":
        from selion.cli import bash_words

        bash_words.complete(lambda: app(prog_name="selion"))
    try:
        try:
            status = app(prog_name="selion", standalone_mode=False)
        finally:
            output.flush()
    except OSError as problem:
        output.give_up_output(problem, "selion")
        sys.exit(1)
    except UsageError as problem:
        print(sentences(problem), file=sys.stderr)
        sys.exit(problem.exit_code)
    except typer.Abort:
        print("Aborted.", file=sys.stderr)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)
