# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks do alike with what a user asks for: it is checked before anything is
measured, and Ctrl-C ends it with a sentence."""

import argparse
import contextlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

interrupted = 130


def whole_number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 on")
    return int(text)


def count(text: str) -> int:
    if not text.isdecimal() or int(text) > 1024:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 to 1024")
    return int(text)


def typed(name: str, shown_as: str | None = None) -> str:
    """The line that was typed. @param shown_as it, where another program has started this one."""
    return shown_as or shlex.join([name, *sys.argv[1:]])


def check_files(parser: argparse.ArgumentParser, *files: Path | None) -> None:
    """Ends with a sentence if one cannot be written; where there was none, there is none yet."""
    for file in filter(None, files):
        is_new = not os.path.lexists(file)
        try:
            file.open("a").close()
        except OSError as problem:
            parser.error(f"{file} cannot be written: {problem.strerror}")
        if is_new:
            file.unlink()


def trouble_writing(file: Path | None, text: str) -> str:
    """Writes a file, if one is wanted, so that it is whole or as it was. @return a sentence if that
    cannot be done: what was measured can still be printed."""
    if file is None:
        return ""
    target = file.resolve()
    is_file = target.is_file() or not target.exists()
    can_be_new = is_file and os.access(target.parent, os.W_OK)
    new = target.with_name(f".{target.name}.{os.getpid()}") if can_be_new else None
    try:
        (new or target).write_text(text, encoding="utf-8")
        if new:
            new.replace(target)
    except OSError as problem:
        if new:
            new.unlink(missing_ok=True)
        return f"{file} could not be written: {problem.strerror}"
    return ""


def json_lines(rows: Iterable[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _keep_part(file: Path | None, header: dict, rows: list[dict]) -> str:
    """Writes what there is. @return a sentence about it; nothing if there is none, or no file."""
    if file is None or not rows:
        return ""
    trouble = trouble_writing(file, json_lines([{**header, "complete": False}, *rows]))
    return trouble or f"what was measured until then is in {file}, which says that it is not all"


@contextlib.contextmanager
def kept(file: Path | None, header: dict, rows: list[dict]) -> Iterator[None]:
    """While rows are measured: if that is cut short, by a program that fails or by whoever ends it,
    those that there are get into the file.

    @param header as it is then. @param rows to which those that are measured are added."""
    try:
        yield
    except KeyboardInterrupt:
        part = _keep_part(file, header, rows)
        if not part:
            raise
        print(f"Interrupted; {part}.", file=sys.stderr)
        sys.exit(interrupted)
    except BaseException:
        if part := _keep_part(file, header, rows):
            print(f"{part[0].upper()}{part[1:]}.", file=sys.stderr)
        raise


def whole(header: dict, rows: Iterable[dict]) -> str:
    """Lines of a file with all that was to be measured."""
    return json_lines([{**header, "complete": True}, *rows])


def check_names(only: str, operations: Iterable[str]) -> None:
    """Ends with a sentence if no operation is wanted."""
    names = list(dict.fromkeys(operations))
    if not any(only in name for name in names):
        sys.exit(f"No operation has '{only}' in its name; there are: {', '.join(names)}")


def run(main: Callable[[], None]) -> None:
    """Also when it is told to end, or its terminal is closed, it leaves nothing behind that it has
    started."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
            signal.signal(number, lambda which, _: sys.exit(128 + which))
    try:
        main()
    except KeyboardInterrupt:
        print("Interrupted; nothing was written.", file=sys.stderr)
        sys.exit(interrupted)
