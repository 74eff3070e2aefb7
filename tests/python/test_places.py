# SPDX-License-Identifier: Apache-2.0
"""Where studies and their programs are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import write_script
from selion import places
from selion.mistake import Failure


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree without an installed package."""
    monkeypatch.delenv("SELION_BIN", raising=False)
    monkeypatch.setattr(places, "source_tree", lambda: tmp_path)
    monkeypatch.setattr(places.native, "try_load", lambda: (None, ""))
    return tmp_path


def build(folder: Path, age: int) -> Path:
    program = write_script(folder / "bin" / "study_x", "")
    os.utime(program, (10**9 - age, 10**9 - age))
    return program


def test_the_newest_build_for_measuring_is_used(tree):
    build(tree / "build" / "dev", age=0)
    older = build(tree / "build" / "release", age=20)
    assert places.study_program("study_x") == older
    newer = build(tree / "build" / "python", age=10)
    assert places.study_program("study_x") == newer


def test_another_build_is_better_than_none(tree):
    only = build(tree / "build" / "dev", age=0)
    assert places.study_program("study_x") == only


def test_the_named_folder_is_used(tree, monkeypatch):
    build(tree / "build" / "release", age=0)
    first, second = build(tree / "a", age=20), build(tree / "b", age=10)
    monkeypatch.setenv("SELION_BIN", f"{second.parent}:{first.parent}")
    assert places.study_program("study_x") == second


def test_none_is_found(tree):
    with pytest.raises(Failure, match="cmake --build build/release"):
        places.study_program("study_x")
