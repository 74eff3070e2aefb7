# SPDX-License-Identifier: Apache-2.0
"""Runs one heat as one process: its line, and what the process took as a whole."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

from children import end_groups, start
from simulator.figures import Row
from simulator.plan import Heat
from surroundings import inherited_with_table

left_out = ("SELION_",)  # what would change the machine or have the simulator record
most_seconds = 600  # of one process


class Trouble(Exception):
    """Why a heat gave no figure, in words that fit into a table."""


def why_absent(heat: Heat, programs: Path) -> str:
    """Why a rival cannot run; empty if it can."""
    if (programs / heat.program).exists():
        return ""
    asked = ["pkg-config", "--exists", "simgrid"]
    if shutil.which("pkg-config") and subprocess.run(asked, check=False).returncode == 0:
        return f"{heat.program} is not built, although SimGrid is installed: build again"
    return "SimGrid is not installed: apt-get install libsimgrid-dev"


def _environment(machine: str) -> dict[str, str]:
    return {**inherited_with_table(left_out),
            **({"SELION_MACHINE": machine} if machine else {})}


def _end_in_words(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"ended with status {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"


def _run(command: list[str], machine: str, out: IO[bytes], errors: IO[bytes]) -> Row:
    """Times one process, and counts its memory, from its start to its end."""
    begin = time.perf_counter()
    child = start(command, env=_environment(machine), stdin=subprocess.DEVNULL, stdout=out,
                  stderr=errors)
    timer = threading.Timer(most_seconds, child.kill)
    try:
        timer.start()
        _, status, used = os.wait4(child.pid, 0)
        taken = time.perf_counter() - begin
    except BaseException:
        end_groups(child)
        raise
    finally:
        timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    if taken >= most_seconds:
        raise Trouble(f"took more than {most_seconds} s")
    if status != 0:
        raise Trouble(_end_in_words(status))
    return {"process_seconds": taken, "process_cpu_seconds": used.ru_utime + used.ru_stime,
            "most_bytes": used.ru_maxrss * 1024}


def run_heat(heat: Heat, programs: Path) -> Row:
    """The heat's row. @error Trouble, with the program's own words on its second line."""
    command = [str(programs / heat.program), *heat.arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            measured = _run(command, heat.machine, out, errors)
        except Trouble as trouble:
            errors.seek(0)
            words = errors.read().decode(errors="replace").strip()
            raise Trouble(f"{trouble}\n{words}" if words else str(trouble)) from None
        out.seek(0)
        try:
            row = json.loads(out.read())
        except ValueError:
            raise Trouble("did not print one line of JSON") from None
    return {**row, **measured, "operation": heat.operation, "contestant": heat.contestant,
            "ranks": heat.ranks, "arguments": list(heat.arguments)}
