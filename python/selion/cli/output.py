# SPDX-License-Identifier: Apache-2.0
"""How commands speak: results on standard output, all else on standard error."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TextIO, TypeVar

import typer

from selion.mistake import Failure, Mistake

_P = ParamSpec("_P")
_R = TypeVar("_R")


_not_shown = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, and what breaks or turns a line
# Why what is printed cannot be written. A closed pipe is none of them: who reads has had enough.
_no_output = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def complain(command: str, sentence: str) -> None:
    """One sentence on standard error, after the name of the command."""
    print(f"selion {command}: {sentence}", file=sys.stderr)


def is_terminal(stream: TextIO | None) -> bool:
    """@param stream None where it was closed before the program began."""
    return stream is not None and stream.isatty()


def flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def give_up_output(problem: OSError, speaker: str) -> None:
    """Says why what is printed cannot be written, and lets the interpreter's end write nowhere what
    is left. Raises a problem of another kind again.
    """
    if problem.filename is not None or problem.errno not in _no_output:
        raise problem
    unwritable = [sys.stdout]
    try:
        print(f"{speaker}: The output cannot be written: {problem.strerror}.", file=sys.stderr)
    except OSError:
        unwritable.append(sys.stderr)
    for stream in unwritable:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def answers_mistakes(name: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Makes a command end with a sentence and its exit status where it would raise a Mistake, or
    cannot print."""

    def decorate(command: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(command)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                try:
                    return command(*args, **kwargs)
                finally:
                    flush()
            except Mistake as mistake:
                complain(name, str(mistake))
                raise typer.Exit(mistake.exit_status) from None
            except OSError as problem:
                give_up_output(problem, f"selion {name}")
                raise typer.Exit(Failure.exit_status) from None

        return guarded

    return decorate


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False))


def print_json_lines(rows: Iterable[Any]) -> None:
    for row in rows:
        print(json.dumps(row, ensure_ascii=False), flush=True)


def printable(text: str) -> str:
    """With escapes in place of what would move the cursor, set the title or end the line: names in
    files may be anything. As JSON has them, so that none is mistaken for another name.
    """
    if text.isprintable():
        return text
    return "".join(_escape(each) if unicodedata.category(each) in _not_shown else each
                   for each in text)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def _print_paragraphs(
    columns: Sequence[str], lines: Sequence[Sequence[str]], width: int
) -> None:
    """A table that is wider than the terminal: what stands in a line, with the columns' names."""
    for line in lines:
        cells = (f"{name}={cell}" for name, cell in zip(columns, line, strict=True) if cell)
        print(textwrap.fill("  ".join(cells), width, subsequent_indent="    ",
                            break_long_words=False, break_on_hyphens=False))  # fmt: skip


def print_table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Columns apart by two spaces; numbers to the right. Plain, so that it can be piped."""
    columns = [printable(name) for name in columns]
    lines = [[printable(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in (columns, *lines)) for i in range(len(columns))]
    room = shutil.get_terminal_size().columns
    if is_terminal(sys.stdout) and sum(widths) + 2 * (len(widths) - 1) > room:
        _print_paragraphs(columns, lines, room)
        return
    right = [
        bool(lines) and all(line[i][-1:].isdigit() or line[i] == "" for line in lines)
        for i in range(len(columns))
    ]
    for line in (columns, *lines):
        cells = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        )
        print("  ".join(cells).rstrip())
