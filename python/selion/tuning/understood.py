# SPDX-License-Identifier: Apache-2.0
"""Rows of a table that the library understands: one that it does not makes it ignore all others."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from selion.tuning import program, table
from selion.tuning.table import Place, Row

_before_reason = "has a row that is not understood: "
_kind = "threads"
_asked_on = "threads:1"


class _Asking:
    """@param path of a table that is made to ask the library about some rows."""

    def __init__(self, rows: Mapping[Place, Row], host: str, path: Path) -> None:
        self._rows = rows
        self._host = host
        self._path = path

    def misunderstood(self, places: Sequence[Place]) -> dict[Place, str]:
        """@pre all are of one machine."""
        # Of another machine than its own a job does not look at rows, so all are called its own.
        some = {replace(place, machine=_kind): self._rows[place] for place in places}
        table.write(self._path, self._host, some, {})
        trouble = program.trouble_with(self._path, _asked_on)
        if not trouble:
            return {}
        if len(places) == 1:
            return {places[0]: trouble.removeprefix(_before_reason)}
        half = len(places) // 2
        return {**self.misunderstood(places[:half]), **self.misunderstood(places[half:])}


def misunderstood(rows: Mapping[Place, Row], host: str) -> dict[Place, str]:
    """Rows for which the library ignores a table, such as those of a version that knew other ways,
    with what it says. It is asked: once for each machine, if it understands all."""
    found: dict[Place, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        asking = _Asking(rows, host, Path(folder) / "table.json")
        for machine in dict.fromkeys(place.machine for place in rows):
            found |= asking.misunderstood([each for each in rows if each.machine == machine])
    return found
