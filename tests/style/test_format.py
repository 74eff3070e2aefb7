# SPDX-License-Identifier: Apache-2.0
"""C++ is laid out as the pinned clang-format does it: .venv/bin/clang-format -i FILE..."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from project_files import cpp_files, read, root

_tool = Path(sys.executable).parent / "clang-format"


def badly_laid_out(*arguments: str, text: str | None = None) -> list[str]:
    """Files (or the text) that clang-format would change."""
    done = subprocess.run(
        [_tool, "--dry-run", *arguments], cwd=root, input=text, capture_output=True, text=True
    )
    return sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning", done.stderr, re.M)))


@pytest.fixture(autouse=True)
def needs_clang_format():
    if not _tool.exists():
        pytest.skip(f"{_tool.name} is not in .venv; ./quickstart --setup-only installs it")


def test_layout():
    assert badly_laid_out(*cpp_files()) == []


def test_the_pinned_version_is_used():
    pins = read("scripts/setup/python-requirements.txt")
    pinned = re.search(r"^clang-format==(\S+)", pins, re.M).group(1)
    found = subprocess.run([_tool, "--version"], capture_output=True, text=True).stdout
    assert pinned in found


def test_a_bad_layout_is_found():
    assert badly_laid_out("--assume-filename=a.cpp", text="int  f( ){return 1 ;}\n") == ["a.cpp"]
    assert badly_laid_out("--assume-filename=a.cpp", text="int f() { return 1; }\n") == []
