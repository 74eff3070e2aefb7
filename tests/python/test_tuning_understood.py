# SPDX-License-Identifier: Apache-2.0
"""Tables with rows that the library does not understand: told, left out, and not checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from selion.tuning import program, table
from selion.tuning.table import Place
from selion.tuning.understood import misunderstood
from studying import needs_tuner

pytestmark = needs_tuner

_good = {Place("all_reduce", "threads", 2, 64): {"slots": 287.0, "lines:k_nomial:2": 300.0},
         Place("scan", "processes", 2, 64): {"board": 9.0}}
_bad = {Place("scan", "threads", 2, 64): {"lines:zigzag:2": 5.0, "slots": 9.0},
        Place("gather", "processes", 2, 64): {"sloots": 9.0},
        Place("broadcast", "fabric/net/2x4", 8, 64): {"messages:k_nomial:99": 9.0}}
_few = ("--time", "5s", "-m", "threads:2", "-c", "barrier", "-o", "table.json")


def test_the_library_tells_which_rows_it_does_not_understand():
    host = program.place().host
    assert misunderstood(_good, host) == misunderstood({}, host) == {}
    found = misunderstood(_good | _bad, host)
    assert found.keys() == _bad.keys()
    assert "zigzag" in found[Place("scan", "threads", 2, 64)]
    assert "sloots" in found[Place("gather", "processes", 2, 64)]


def test_tuning_again_mends_a_table_with_rows_that_are_not_understood(tmp_path: Path, selion):
    path = tmp_path / "table.json"
    table.write(path, program.place().host, _good | _bad, {})
    assert "is ignored" in selion("explain", "scan", "-m", "threads:2",
                                  SELION_TUNING=str(path)).stderr
    done = selion("tune", *_few)
    assert (done.returncode, done.stderr) == (0, "")
    for place in _bad:
        assert f"A row of table.json is left out, {place}: " in done.stdout
    rows = table.read(path, program.place().host)
    assert rows.keys() == {*_good, Place("barrier", "threads", 2, 0)}
    done = selion("explain", "all_reduce", "-m", "threads:2", "--json", SELION_TUNING=str(path))
    assert (json.loads(done.stdout)["reason"], done.stderr) == ("tuned", "")


@pytest.mark.parametrize(("spoil", "why"), [
    (lambda path: table.write(path, program.place().host, _good | _bad, {}),
     "has a row that is not understood: "),
    (lambda path: path.write_text(json.dumps(json.loads(path.read_text()))),
     "is damaged or no tuning table; programs on 'threads:2' ignore it, so there are no choices to "
     "check. 'selion tune' writes it anew.\n"),
])
def test_a_table_that_the_library_ignores_is_not_checked(tmp_path: Path, selion, spoil, why: str):
    path = tmp_path / "table.json"
    table.write(path, program.place().host, _good, {})
    spoil(path)
    done = selion("tune", "--check", *_few)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"selion tune: 'table.json' {why}")
    assert done.stderr.count("\n") == 1
