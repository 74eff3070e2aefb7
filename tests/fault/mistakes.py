# SPDX-License-Identifier: Apache-2.0
"""A bug of the program misusing, and the one complaint that ends its job."""

from __future__ import annotations

import re

from jobs import run, site

machines = {"threads:3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4,
            "threads:3,direct=off": 3}


def complaint(machine: str, what: str, **settings: str) -> list[str]:
    """The lines of the one complaint that ends the job."""
    outcome = run("misusing", what, machine=machine, **settings)
    assert outcome.status == 1, outcome.err
    assert outcome.out == ""
    assert len(outcome.sentences()) == 1
    return outcome.err.rstrip("\n").split("\n")


def expect(machine: str, what: str, pattern: str, who: str) -> None:
    first, second = complaint(machine, what)
    assert re.match(rf"selion: {who}: ", first)
    ranks = machines[machine]
    assert re.search(pattern.format(last=ranks - 1, next=ranks), first)
    mark = "counts" if what in ("lengths", "sum") else what
    assert second == f"  called at {site('misusing*', mark)}"
