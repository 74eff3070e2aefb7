# SPDX-License-Identifier: Apache-2.0
"""The page about the examples shows what they print."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest
from started import clean_environment, programs, root

sys.path.insert(0, str(root / "tests" / "docs"))
from pages import Block, Page  # noqa: E402

_name = "docs/howto/read-the-examples.md"
_page = Page(_name, (root / _name).read_text(encoding="utf-8"))
_consoles = [block for block in _page.blocks if block.language == "console"]


def without_numbers(lines: list[str]) -> list[str]:
    return [re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "N", line) for line in lines]


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A folder where the page's commands find what they name, and may write."""
    (tmp_path / "build" / "release").mkdir(parents=True)
    (tmp_path / "build" / "release" / "bin").symlink_to(programs)
    for name in ("examples", "scripts", ".venv"):
        (tmp_path / name).symlink_to(root / name)
    return tmp_path


def missing_package(block: Block) -> bool:
    try:
        importlib.metadata.distribution("pyamg")
    except importlib.metadata.PackageNotFoundError:
        return "pyamg" in block.text
    return False


@pytest.mark.parametrize("block", _consoles, ids=lambda block: block.text.split("\n")[0])
def test_the_page_shows_what_is_printed(block, checkout):
    if missing_package(block):
        pytest.skip("the package pyamg, which ships matrices, is missing")
    lines = block.text.splitlines()
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    done = subprocess.run(
        ["bash", "-c", "\n".join(["set -e", *commands])], cwd=checkout, env=clean_environment(),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = [line for line in lines if not line.startswith("$ ")]
    printed = done.stdout.splitlines()
    if "output varies" in block.mark:
        shown, printed = without_numbers(shown), without_numbers(printed)
    assert printed == shown


def test_the_page_has_every_program():
    text = "\n".join(block.text for block in _consoles)
    names = {path.stem for path in (root / "examples").glob("*.cpp")} - {"spc_host", "spc_slave"}
    assert [name for name in sorted(names) if f"/bin/{name}" not in text] == []
