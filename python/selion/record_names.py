# SPDX-License-Identifier: Apache-2.0
"""Names of the files into which the jobs of one program record: no job replaces another's."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping

_variables = ("SELION_METERS", "SELION_TRACE")
_switches = ("on", "1", "yes", "true", "off", "0", "no", "false")  # which name no file

_lock = threading.Lock()
_jobs: Counter[str] = Counter()  # of this process, by the file that they were told to write


def _numbered(name: str, number: int) -> str:
    """As the library names the files of a later job: "all.json", "all.2.json", and so on."""
    stem, suffix = os.path.splitext(name)
    return name if number == 1 else f"{stem}.{number}{suffix}"


def of_next_job(environment: Mapping[str, str]) -> dict[str, str]:
    """What is to be changed in the environment of a job that begins now, in other processes or in
    this one, so that it writes files of its own."""
    changes = {}
    for variable in _variables:
        name = environment.get(variable, "")
        if not name or name.lower() in _switches:
            continue
        path = os.path.abspath(name)
        if os.path.exists(path) and not os.path.isfile(path):
            continue  # a device takes what all jobs write
        with _lock:
            _jobs[path] += 1
            number = _jobs[path]
        if number > 1:
            changes[variable] = _numbered(name, number)
    return changes
