# SPDX-License-Identifier: Apache-2.0
"""A command line that cannot be understood, in a sentence."""

from __future__ import annotations

import re
from typing import Any

import typer

from selion.mistake import did_you_mean, listing

_kinds = {"int": "a whole number", "integer": "a whole number", "float": "a number"}
_not_of_type = re.compile("'?(?P<value>.*?)'? is not (?:a valid .*|(?P<range>in the range .*))")

UsageError: Any = typer.BadParameter.__mro__[1]
"""What all mistakes of a command line derive from; it has an exit status."""


def name_of(param: Any) -> str:
    """As in '-n' / '--ranks'."""
    return " / ".join(f"'{each}'" for each in param.opts)


def _options(problem: Any) -> list[str]:
    """The long ones of the command that was called, and short ones that have no long one."""
    names = [
        max((*param.opts, *param.secondary_opts), key=len)
        for param in problem.ctx.command.get_params(problem.ctx)
        if param.param_type_name == "option"
    ]
    return names


def _of_value(problem: Any) -> str:
    """What is said of a value that is not of its option's type; empty for all other mistakes."""
    wrong = _not_of_type.fullmatch(getattr(problem, "message", "") or "")
    if wrong is None or problem.param is None:
        return ""
    value, kind = wrong["value"], problem.param.type
    legal = _kinds.get(kind.name.partition(" ")[0])
    if wrong["range"] and kind.min is not None:
        legal = f"{kind.min} or more" if kind.max is None else f"{kind.min} to {kind.max}"
    if legal is None:
        return ""
    if value == "p" and "-n" in problem.param.opts:  # -np of MPI's launchers
        legal += ", as in '-n 4'"
    return f"'{value}' is no value of {name_of(problem.param)}; legal: {legal}."


def _told(problem: Any) -> str:
    wrong = getattr(problem, "option_name", "")
    if type(problem).__name__ == "NoSuchOption" and problem.ctx is not None:
        legal = _options(problem)
        return f"'{wrong}' is not an option{did_you_mean(wrong, legal)}; legal: {listing(legal)}."
    return _of_value(problem) or str(problem.format_message())


def sentences(problem: Any) -> str:
    """After the name of the command, as all that commands say; then where help is."""
    path = problem.ctx.command_path if problem.ctx is not None else "selion"
    if type(problem).__name__.startswith("NoArgsIsHelp"):
        return str(problem.ctx.get_help())
    return f"{path}: {_told(problem)}\nTry '{path} --help'."
