# SPDX-License-Identifier: Apache-2.0
"""What the tests of studies share: where a study's program is, and its rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import Selion, root
from selion import places
from selion.mistake import Failure

Rows = list[dict[str, Any]]


def where_is(program: str) -> dict[str, str]:
    """The environment in which a study finds its program, or a skip where that is not built. The
    builds that are for testing do not make it: it is that of the package."""
    try:
        found = places.study_program(program).parent
    except Failure as failure:
        pytest.skip(str(failure))
    return {"SELION_BIN": str(found), "SELION_STUDIES": str(root / "studies")}


def _is_built(program: str) -> bool:
    try:
        places.study_program(program)
    except Failure:
        return False
    return True


needs_tuner = pytest.mark.skipif(not _is_built("study_tune"), reason="study_tune is not built")


class Study:
    """An installed study, as a user runs it."""

    def __init__(self, selion: Selion, name: str, where: dict[str, str]) -> None:
        self._selion, self._name, self._where = selion, name, where

    def __call__(
        self, experiment: str, *settings: str, machine: str | None = None, repetitions: int = 1
    ) -> Rows:
        """Rows of an experiment; further arguments are settings."""
        on = ("--machine", machine) if machine else ()
        on += ("--repetitions", str(repetitions))
        axes = [part for setting in settings for part in ("--set", setting)]
        asked = ("study", self._name, "--experiment", experiment, "--json", *axes, *on)
        done = self._selion(*asked, **self._where)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


def values(rows: Rows, metric: str, *keys: str) -> dict[Any, Any]:
    """By the params `keys`, or by one of them alone."""
    found = {}
    for row in rows:
        if row["metric"] == metric:
            place = tuple(row["params"][key] for key in keys)
            found[place if len(keys) > 1 else place[0]] = row["value"]
    return found
