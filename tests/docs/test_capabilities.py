# SPDX-License-Identifier: Apache-2.0
"""The page of scripts/capability-matrix has the machines and suites that there are. What happened
on them is the conformance tests' own business."""

import importlib.util
import re
import sys
from importlib.machinery import SourceFileLoader

import pytest
from pages import root

_page = (root / "docs/reference/capabilities.md").read_text(encoding="utf-8")
_cure = "run scripts/capability-matrix again"


def load_script():
    loader = SourceFileLoader("capability_matrix", str(root / "scripts/capability-matrix"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


_script = load_script()


def test_the_page_has_all_suites():
    rows = re.findall(r"^\| `(\w+)` \|", _page, re.M)
    assert rows == _script.suites(), _cure


def test_the_page_has_all_machines():
    shown = _page.partition("\n## The machines\n")[2]
    assert sorted(re.findall(r"`([^`]+:[^`]+)`", shown)) == sorted(_script.machines()), _cure


def test_the_page_has_all_networks():
    runs = {run.name for run in _script.network_runs()}
    if not runs:
        pytest.skip("no tests on networks are built")
    shown = _page.partition("\n| fabric |")[2].partition("\n")[0]
    assert set(re.findall(r"`([^`]+)`", shown)) == runs, _cure
    assert not any("meters" in name for name in runs)


def test_there_are_machines_and_suites():
    assert {"threads:4", "processes:2x2", "sim:crossbar,ranks=4"} <= set(_script.machines())
    assert {"put_get", "litmus", "team"} <= set(_script.suites())


def test_machines_of_a_kind_share_a_column():
    columns = {spec: _script.column_of(spec) for spec in _script.machines()}
    assert columns["threads:3"] == "threads" and columns["threads:8@2"] == "fibers"
    assert columns["sim:crossbar,explore=delays,seed=5"] == "sim:crossbar"
    assert columns["threads:4,direct=off"] == "direct=off"


def test_cells_say_what_happened():
    passed, skipped = _script.Cell(passed=2), _script.Cell()
    skipped.reasons["time is real"] = 1
    letters = {"time is real": "a"}
    assert _script.shown(passed, letters) == "✓"
    assert _script.shown(skipped, letters) == "a"
    assert _script.shown(None, letters) == "–"
    assert _script.shown(_script.Cell(passed=1, failed=2), letters) == "2 failed"
