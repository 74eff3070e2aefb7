# SPDX-License-Identifier: Apache-2.0
"""scripts/main-job tells what went wrong, and does not leave it to a report to miss something."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from started import root

_script = root / "scripts" / "main-job"


@pytest.fixture
def main_job(tmp_path):
    """The script as a module that takes tmp_path for the project's folder."""
    loader = SourceFileLoader("main_job", str(_script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    module.root = tmp_path
    return module


def program(folder: Path, body: str) -> Path:
    path = folder / "bin" / "em3d"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_field_that_is_not_written_is_told_and_no_old_one_stays(main_job, tmp_path):
    field = tmp_path / "selion-out" / "em3d" / "field.json"
    write = program(tmp_path, 'while [ "$1" != --field ]; do shift; done; echo old >"$2"')
    assert main_job.draw_field(write, tmp_path / "a.ply") == "" and field.read_text() == "old\n"
    fail = program(tmp_path, "echo no room >&2; exit 3")
    assert main_job.draw_field(fail, tmp_path / "a.ply") == "exit status 3\nno room"
    assert not field.exists()


def test_a_folder_that_cannot_be_made_is_told(main_job, tmp_path):
    (tmp_path / "selion-out").touch()
    told = main_job.draw_field(program(tmp_path, ""), tmp_path / "a.ply")
    assert told == "selion-out/em3d/field.json: Not a directory"


def test_a_program_that_cannot_be_started_is_told(main_job, tmp_path):
    (tmp_path / "em3d").touch()
    assert main_job.run_once([str(tmp_path / "em3d")], "threads:1") == (
        None, "it cannot be started: Permission denied")


def test_what_is_interrupted_ends_without_a_word_of_python(tmp_path):
    sleeper = program(tmp_path, f"touch {tmp_path}/begun; exec sleep 60")
    with subprocess.Popen([_script, "--program", sleeper], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as job:
        while not (tmp_path / "begun").exists():
            assert job.poll() is None, job.stderr.read()
        os.killpg(job.pid, signal.SIGINT)
        assert job.communicate()[1] == "" and job.returncode == 130
