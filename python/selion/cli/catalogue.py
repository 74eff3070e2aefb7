# SPDX-License-Identifier: Apache-2.0
"""The names of the commands with a line each: enough to list them without reading their files."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from selion.cli.usage import UsageError, name_of
from selion.mistake import did_you_mean, listing


class Entry(NamedTuple):
    """A command: its module in selion.cli, and what the list says of it."""

    module: str
    summary: str


# A test holds the lines against the commands themselves.
entries = {
    "run": Entry("run", "Run a program on a machine, and end as it ends."),
    "explore": Entry("explore", "Run a program under one order of messages after another, and stop "
                                "at the first that fails."),
    "scale": Entry("scale", "Run a program on more and more ranks, and say what it gains: speed-up "
                            "and efficiency."),
    "machines": Entry("machines", "List the machines, what each can do, and why one is not "
                                  "available."),
    "schedule": Entry("schedule", "Show who sends what to whom in a collective: as text, as JSON "
                                  "Lines, as a picture."),
    "study": Entry("study", "Run a study, or all: its experiments over their axes, on any "
                            "machine."),
    "report": Entry("report", "Make one page of what studies have measured, with the published "
                              "figures beside it."),
    "bench": Entry("bench", "Measure Selion on this host and print tables: figures, goals, "
                            "rivals."),
    "calibrate": Entry("calibrate", "Measure this host and write a machine file, to compare "
                                    "predictions with real runs."),
    "tune": Entry("tune", "Measure collectives on this host and keep the quickest way of each in a "
                          "table."),
    "explain": Entry("explain", "Say which way a collective goes, why, and what the alternatives "
                                "have taken."),
    "cache-advice": Entry("cache_advice", "Run a program twice, and say which blocks its coherent "
                                          "memory should have."),
    "meters": Entry("meters", "Show what a job counted and timed, and how much each link of its "
                              "network was used."),
    "trace": Entry("trace", "Show where the time of each rank went, and what recording has taken "
                            "of it."),
    "doctor": Entry("doctor", "Check this host, what is installed, and the environment; name the "
                              "cures."),
}  # fmt: skip


words_key = "selion.words"
"""Where a context has the words behind the command while somebody types."""


def _without_values(params: list[Any]) -> list[Any]:
    """A flag takes no value, so its help must not name the kind of one."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class OneCommand(TyperCommand):
    """Takes each option once, but for those that are lists; no mistake is without its context."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_values(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            if not ctx.resilient_parsing:
                self._refuse_repeats(ctx, args)
            return super().parse_args(ctx, args)
        except UsageError as problem:
            problem.ctx = problem.ctx or ctx
            raise

    def _refuse_repeats(self, ctx: Any, args: list[str]) -> None:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for param, times in Counter(given).items():
            if times > 1 and not (param.multiple or getattr(param, "is_flag", False)):
                ctx.fail(f"{name_of(param)} is given {times} times; give it once.")


def load(name: str) -> Any:
    """The whole command, from its file."""
    module = importlib.import_module(f"selion.cli.{entries[name].module}")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    settings = {"help_option_names": ["-h", "--help"], **getattr(module, "context_settings", {})}
    alone.command(name, cls=OneCommand, context_settings=settings)(module.command)
    return typer.main.get_command(alone)


class CommandCatalogue(TyperGroup):
    """Lists all commands by their entries; reads the file of the one that is called."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_values(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(entries)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry = entries.get(cmd_name)
        return entry and TyperCommand(cmd_name, help=entry.summary, short_help=entry.summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if ctx.resilient_parsing:  # an option without its value keeps all others from being read
            ctx.meta[words_key] = args[1:]
        if name in entries:
            return name, load(name), args[1:]
        if ctx.resilient_parsing:  # somebody types
            return None, None, args[1:]
        if name.startswith("-"):
            return super().resolve_command(ctx, args)
        ctx.fail(
            f"'{name}' is not a command{did_you_mean(name, entries)}; legal: {listing(entries)}."
        )
