# SPDX-License-Identifier: Apache-2.0
"""Programs that measure this host and answer with one JSON object."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from selion import job, launcher, places
from selion.mistake import Failure, Mistake

_usage_status = 2


def ask(program: str, arguments: Sequence[str] = (), **changes: str) -> dict[str, Any]:
    """What a program of the studies answers. What it says beside that goes to standard error.

    @param changes of its environment.
    @error Failure if it is not built or fails, Mistake if it refuses its arguments: its sentence.
    """
    environment = job.environment(changes)
    line = launcher.line_for([str(places.study_program(program)), *arguments], environment)
    child = job.start(line, environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, errors = child.communicate()
    except BaseException:
        job.kill_group(child.pid)
        child.wait()
        raise
    said = errors.decode(errors="replace").strip()
    if child.returncode == _usage_status:
        raise Mistake(said.removeprefix(f"{program}: ").removeprefix("selion: "))
    if child.returncode != 0:
        raise Failure(
            f"The measuring program ended with exit status {job.exit_status(child.returncode)}: "
            f"{said or 'it said nothing'}"
        )
    if said:
        print(said, file=sys.stderr)
    return dict(json.loads(out))
