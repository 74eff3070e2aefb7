# SPDX-License-Identifier: Apache-2.0
"""The options that teach a shell to complete: for the shell that one is in, as Typer does, or for
one that is named behind them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from selion.mistake import did_you_mean, listing

_install = "--install-completion"
_show = "--show-completion"
_shells = ("bash", "zsh", "fish")
_usage_status = 2
_of_selion = {"prog_name": "selion", "complete_var": "_SELION_COMPLETE"}


def answer(arguments: Sequence[str]) -> None:
    """Does what such an option says of a shell, and ends; else nothing."""
    option, equals, named = (arguments[0] if arguments else "").partition("=")
    words = [named, *arguments[1:]] if equals else arguments[1:]
    if option not in (_install, _show) or not words:
        return
    if len(words) > 1 or words[0] not in _shells:
        wrong = words[0] if len(words) == 1 else " ".join(words)
        print(f"selion: '{wrong}' is no shell that '{option}' knows"
              f"{did_you_mean(wrong, _shells)}; legal: {listing(_shells)}.\n"
              "Try 'selion --help'.", file=sys.stderr)  # fmt: skip
        sys.exit(_usage_status)
    completion: Any = importlib.import_module("typer.completion")  # takes a while to be read
    if option == _show:
        print(completion.get_completion_script(shell=words[0], **_of_selion))
    else:
        shell, path = completion.install(shell=words[0], **_of_selion)
        print(f"{shell} completion installed in {path}")
        print("Completion will take effect once you restart the terminal")
    sys.exit(0)
