# SPDX-License-Identifier: Apache-2.0
"""Names of the files into which the jobs of one program record: no job replaces another's."""

from __future__ import annotations

import os
from collections.abc import Mapping

from selion import native

_variables = ("SELION_METERS", "SELION_TRACE")


def of_next_job(environment: Mapping[str, str]) -> dict[str, str]:
    """What is to be changed in the environment of a job that this process starts in others, so that
    it writes files of its own. The library counts those that run in this one."""
    told = {variable: environment[variable] for variable in _variables if environment.get(variable)}
    name_of = native.load().name_for_other_job
    names = {name: os.fsdecode(name_of(os.fsencode(name))) for name in set(told.values())}
    return {variable: names[name] for variable, name in told.items()}
