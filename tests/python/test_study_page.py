# SPDX-License-Identifier: Apache-2.0
"""The study of the page about writing one is a study, word for word."""

from __future__ import annotations

import json
import re

import pytest

from conftest import root
from selion.study import catalog, plan
from studying import where_is

_page = (root / "docs/howto/write-a-study.md").read_text(encoding="utf-8")


@pytest.fixture
def studies(tmp_path):
    """A folder with the page's study as `own`."""
    example = re.search(r"^## study\.toml$\n+```toml\n(.*?)^```$", _page, re.M | re.S)[1]
    (tmp_path / "studies" / "own").mkdir(parents=True)
    (tmp_path / "studies" / "own" / "study.toml").write_text(example, encoding="utf-8")
    return tmp_path / "studies"


def test_the_example_is_read_and_has_points(studies):
    study = catalog.read_study(studies / "own")
    found = {(point.params["op"], point.params["bytes"])
             for point in plan.points(study, plan.Request())}
    assert found == {("fetch_add", 8), *((op, size) for op in ("put", "get")
                                         for size in (8, 64, 4096))}
    assert study.experiments["latency"].metrics["link_bytes"].without == {"bytes": 8}


def test_the_example_runs(studies, selion):
    where = {**where_is("study_host"), "SELION_STUDIES": str(studies)}
    done = selion("study", "own", "--quick", "--json", "--set", "op=put,fetch_add",
                  "--machine", "threads:2", **where)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["params"]["op"] for row in rows] == ["put", "fetch_add"]
