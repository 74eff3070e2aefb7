# SPDX-License-Identifier: Apache-2.0
"""The programs of the pages about Python run, and print what the pages show."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys

import pytest

from conftest import clean_environment, needs_module, root, seconds

pytestmark = needs_module

_pages = {
    name: (root / "docs" / "howto" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("use-python", "use-workers")
}


def programs(page: str) -> dict[str, str]:
    found = re.finditer(r"```python\n# (\w+\.py)\n(.*?)```", page, re.S)
    return {each[1]: each[2] for each in found}


def commands(page: str) -> list[tuple[str, list[str]]]:
    """Command lines that run programs in Python, and what each prints."""
    found = []
    for text in re.findall(r"```console\n(.*?)```", page, re.S):
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            line, *printed = part.rstrip("\n").split("\n")
            if ".py" in line:
                found.append((line, printed))
    return found


_all = [(name, *each) for name, page in _pages.items() for each in commands(page)]


@pytest.mark.parametrize(("page", "line", "printed"), _all, ids=[line for _, line, _ in _all])
def test_commands(tmp_path, page, line, printed):
    for name, text in programs(_pages[page]).items():
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


@pytest.mark.parametrize("page", _pages)
def test_every_program_is_run(page):
    text = _pages[page]
    run = " ".join(line for line, _ in commands(text))
    assert programs(text) and [name for name in programs(text) if name not in run] == []
    assert len(re.findall(r"```python\n", text)) == len(programs(text))


_api = (root / "docs" / "reference" / "python-api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", ["selion", "selion.offload"])
def test_the_api_has_every_public_name(module):
    [row] = re.findall(rf"^\| `{module}` \|(.*)", _api, re.M)
    named = re.findall(r"`(\w+)`", row)
    public = importlib.import_module(module).__all__
    assert sorted(named) == sorted(public)


def test_the_api_tells_what_errors_are():
    import selion

    told = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", _api, re.M))
    errors = {name: kind.__base__.__name__ for name in selion.__all__
              if isinstance(kind := getattr(selion, name), type) and issubclass(kind, Exception)}
    assert errors.items() <= told.items()


def test_modules_of_the_api_are_there():
    named = re.findall(r"^\| `(selion[\w.]*)` \|", _api, re.M)
    assert {"selion", "selion.layout", "selion.calls", "selion.transfers"} < set(named)
    for module in named:
        importlib.import_module(module)
