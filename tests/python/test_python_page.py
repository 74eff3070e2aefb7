# SPDX-License-Identifier: Apache-2.0
"""The programs of the pages about Python run, and print what the pages show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, needs_module, root, seconds

pytestmark = needs_module

_page = (root / "docs" / "howto" / "use-python.md").read_text(encoding="utf-8")
_programs = dict(
    (found[1], found[2])
    for found in re.finditer(r"```python\n# (\w+\.py)\n(.*?)```", _page, re.S)
)
_consoles = re.findall(r"```console\n(.*?)```", _page, re.S)


def commands() -> list[tuple[str, list[str]]]:
    """Command lines, and what each prints."""
    found = []
    for text in _consoles:
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            line, *printed = part.rstrip("\n").split("\n")
            found.append((line, printed))
    return found


@pytest.mark.parametrize(("line", "printed"), commands(), ids=[line for line, _ in commands()])
def test_commands(tmp_path, line, printed):
    for name, text in _programs.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    for name, command in {"python": [], "selion": ["-m", "selion"]}.items():
        script = tmp_path / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {" ".join([sys.executable, *command])} "$@"\n')
        script.chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=clean_environment(PATH=path),
                          capture_output=True, text=True, timeout=seconds)
    assert (done.returncode, done.stderr) == (0, "")
    # Ranks print when they like.
    assert sorted(done.stdout.splitlines()) == sorted(printed)


def test_every_program_is_run():
    run = " ".join(line for line, _ in commands())
    assert _programs and [name for name in _programs if name not in run] == []
    assert len(re.findall(r"```python\n", _page)) == len(_programs)
    assert Path(root / "docs" / "howto" / "use-collectives.md").exists()
