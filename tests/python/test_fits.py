# SPDX-License-Identifier: Apache-2.0
"""The fitted constants of machine files are those that their scripts find."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import root, seconds

_folder = root / "scripts" / "fit"
_scripts = sorted(path for path in _folder.glob("*.py") if path.read_bytes().startswith(b"#!"))
sys.path.append(str(_folder))

import machine_file  # noqa: E402
from minimax import minimax  # noqa: E402


@pytest.mark.parametrize("script", _scripts, ids=lambda path: path.stem)
def test_the_file_has_what_the_fit_gives(script: Path):
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=seconds, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "constants of machines/" in done.stdout


def test_every_machine_with_fitted_constants_has_a_script():
    fitted = {
        path.stem.replace("-", "_")
        for path in (root / "machines").glob("*.toml")
        if 'source = "fitted on' in path.read_text(encoding="utf-8")
    }
    assert fitted == {path.stem for path in _scripts}


def test_another_constant_is_noticed():
    key = "reception.dispatch_us"
    written = machine_file.constant("sp-lapi", key)
    assert machine_file.differences("sp-lapi", {key: written + 0.004}, digits=2) == []
    wrong = machine_file.differences("sp-lapi", {key: written + 0.02}, digits=2)
    assert wrong == [f"sp-lapi: {key} is {written}, and the fit gives {written + 0.02:.2f}"]


def test_the_largest_error_is_smallest():
    """A parabola by a line: errors are equal at both ends and in the middle."""
    points = [0, 0.25, 0.5, 0.75, 1]
    start, slope = minimax([[1, x] for x in points], [x * x for x in points], [1] * len(points))
    assert start == pytest.approx(-0.125, abs=1e-3)
    assert slope == pytest.approx(1, abs=1e-3)
