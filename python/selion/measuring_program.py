# SPDX-License-Identifier: Apache-2.0
"""Programs that measure this host and answer with JSON: an object, or one in each line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from selion import job, launcher, places
from selion.mistake import Failure, Mistake

#: Variables that these programs do not see. A prefix, or meters that go to standard output, would
#: stand before the answer; with a trace ways take other times than without one, and the file that
#: the user has named for a program's would be written over.
withheld = ("SELION_CACHE_TRACE", "SELION_METERS", "SELION_PREFIX", "SELION_TIME",
            "SELION_TRACE")
_usage_status = 2
_most_shown = 60  # characters of an answer that is none


def _output_and_said(program: str, arguments: Sequence[str],
                     **changes: str) -> tuple[bytes, str]:
    """What it answers, and what it says beside that."""
    environment = job.environment(changes)
    for variable in withheld:
        environment.pop(variable, None)
    line = launcher.line_for([str(places.study_program(program)), *arguments], environment)
    child = job.start(line, environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, errors = job.communicate(child)
    except BaseException:
        job.kill_group(child.pid)
        child.wait()
        raise
    said = errors.decode(errors="replace").strip()
    if child.returncode == _usage_status:
        raise Mistake(said.removeprefix(f"{program}: ").removeprefix("selion: "))
    if child.returncode != 0:
        if refusal := launcher.refusal_in(said):
            raise Failure(refusal)
        raise Failure(
            f"The measuring program ended with exit status {job.exit_status(child.returncode)}: "
            f"{said or 'it said nothing'}"
        )
    return out, said


def _output(program: str, arguments: Sequence[str], **changes: str) -> bytes:
    out, said = _output_and_said(program, arguments, **changes)
    if said:
        print(said, file=sys.stderr)
    return out


def said_by(program: str, arguments: Sequence[str], **changes: str) -> str:
    """What a program says beside its answer. @error as `ask`"""
    return _output_and_said(program, arguments, **changes)[1]


def _object(program: str, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    shown = " ".join(text.decode(errors="replace").split())[:_most_shown]
    raise Failure(f"The measuring program '{program}' answers '{shown}'; legal is a JSON object.")


def ask(program: str, arguments: Sequence[str] = (), **changes: str) -> dict[str, Any]:
    """What a program of the studies answers. What it says beside that goes to standard error.

    @param changes of its environment.
    @error Failure if it is not built, fails, or answers with something else; Mistake if it refuses
        its arguments: its sentence.
    """
    return _object(program, _output(program, arguments, **changes))


def ask_for_rows(program: str, arguments: Sequence[str], **changes: str) -> list[dict[str, Any]]:
    """The same of a program that answers with an object in each line, one at least."""
    lines = _output(program, arguments, **changes).splitlines()
    return [_object(program, line) for line in lines or [b""]]
