# SPDX-License-Identifier: Apache-2.0
"""`pip install .` makes a package that needs nothing of the source tree.

It is built in build/release, as ./quickstart builds it, so that the library is not compiled again,
and installed into a folder of its own, away from the editable one of .venv."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

_source = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.timeout(600)  # compiles


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("package")
    done = subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps",
            "--config-settings=build-dir=build/release",
            "--config-settings=cmake.define.SELION_EXAMPLES=AUTO",
            "--config-settings=cmake.define.SELION_BENCH=AUTO",
            "--target", target, _source,
        ],
        cwd=_source, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def selion(folder: Path, *arguments: str) -> str:
    """Output of the command line of the installed package, run elsewhere."""
    # -S leaves out the hooks of .venv, which would find the editable package first.
    done = subprocess.run(
        [sys.executable, "-S", "-c", "from selion.cli import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}:{sysconfig.get_path('purelib')}"},
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_command_is_installed(folder):
    assert os.access(folder / "bin" / "selion", os.X_OK)
    version = selion(folder, "--version")
    assert version.split()[-1] in (_source / "CMakeLists.txt").read_text()


def test_machines(folder):
    assert "threads:N@C" in selion(folder, "machines")


def test_a_study_runs_without_the_source_tree(folder):
    assert (folder / "selion" / "studies" / "host" / "study.toml").is_file()
    assert os.access(folder / "selion" / "bin" / "study_host", os.X_OK)
    assert "host" in selion(folder, "study")
