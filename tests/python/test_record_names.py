# SPDX-License-Identifier: Apache-2.0
"""Jobs of one Python program that record: none replaces the files of another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, needs_module, seconds

pytestmark = needs_module

_head = """
import os, selion
calls = {"first": "barrier", "second": "sync", "third": "all_reduce"}
f = lambda world, name: getattr(world, calls[name])(*[1] * (name == "third"))
"""


def _run(folder: Path, text: str, **changes: str) -> None:
    (folder / "program.py").write_text(_head + text)
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, stdin=subprocess.DEVNULL,
                          env=clean_environment(**changes), capture_output=True, text=True,
                          timeout=seconds)
    assert (done.returncode, done.stderr) == (0, "")


def _names(path: Path) -> set[str]:
    """What the jobs that have written a file have called."""
    names = {json.loads(line).get("name") for line in path.read_text().splitlines()}
    calls = {"barrier": "first", "sync": "second", "all_reduce": "third"}
    return {calls[name] for name in names & set(calls)}


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "program.py")


def test_each_job_has_files_of_its_own(tmp_path):
    _run(tmp_path, """
for name, machine in [("first", "processes:2"), ("second", "sim:crossbar,ranks=2"),
                      ("third", "processes:1")]:
    selion.run(f, name, machine=machine)
""", SELION_METERS="m.jsonl", SELION_TRACE="trace")  # fmt: skip
    assert _files(tmp_path) == ["m.2.jsonl", "m.3.jsonl", "m.jsonl", "trace", "trace.2", "trace.3"]
    assert _names(tmp_path / "m.jsonl") == {"first"}
    assert _names(tmp_path / "m.2.jsonl") == {"second"}
    assert _names(tmp_path / "m.3.jsonl") == {"third"}
    for name in ("trace", "trace.2", "trace.3"):
        assert json.loads((tmp_path / name).read_text())


def test_files_that_the_call_names_are_its_own(tmp_path):
    _run(tmp_path, """
for name in ("first", "second"):
    selion.run(f, name, machine="processes:1", environment={"SELION_METERS": name})
selion.run(f, "third", machine="processes:1", environment={"SELION_METERS": "./second"})
for switch in ("1", "Off"):
    selion.run(f, "first", machine="processes:1", environment={"SELION_METERS": switch})
""")  # fmt: skip
    assert _files(tmp_path) == ["first", "second", "second.2"]
    for file, name in {"first": "first", "second": "second", "second.2": "third"}.items():
        assert _names(tmp_path / file) == {name}


def test_one_file_for_meters_and_trace_is_refused(tmp_path):
    (tmp_path / "program.py").write_text(_head + "selion.run(f, 'first', machine='processes:1')")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True,
                          env=clean_environment(SELION_METERS="m", SELION_TRACE="m"), text=True,
                          timeout=seconds)
    assert f"both name the file {tmp_path}/m; legal are two files" in done.stderr
    assert done.returncode == 1 and _files(tmp_path) == []


def test_a_device_has_one_name(tmp_path):
    (tmp_path / "told").symlink_to("/dev/null")
    _run(tmp_path, """
for _ in range(3):
    selion.run(f, "first", machine="processes:1")
""", SELION_METERS="told")
    assert _files(tmp_path) == ["told"]


def test_a_job_within_a_rank_spares_the_rank_s_files(tmp_path):
    text = """
def outer(world):
    world.barrier()
    selion.run(f, "second", machine="processes:1")
"""
    for call in ("selion.run(outer)", "selion.run(outer, machine='processes:1')"):
        _run(tmp_path, text + call, SELION_MACHINE="processes:1", SELION_METERS="m.jsonl")
        assert _names(tmp_path / "m.jsonl") == {"first"}
        assert _names(tmp_path / "m.rank-0.jsonl") == {"second"}


def test_ranks_may_start_jobs_at_the_same_time(tmp_path):
    _run(tmp_path, """
def outer(world):
    world.barrier()
    for _ in range(2):
        selion.run(f, "second", machine="sim:crossbar,ranks=2")
selion.run(outer)
selion.run(outer)
""", SELION_MACHINE="processes:2", SELION_METERS="m.jsonl")  # fmt: skip
    own = [f"m{job}.rank-{rank}{number}.jsonl" for job in ("", ".2") for rank in (0, 1)
           for number in ("", ".2")]
    assert _files(tmp_path) == sorted(["m.jsonl", "m.2.jsonl", *own])
    assert all(_names(tmp_path / name) == {"second"} for name in own)


@pytest.mark.parametrize("machine", ["processes:2", "sim:crossbar,ranks=2"])
def test_jobs_of_both_kinds_share_their_numbers(tmp_path, machine):
    """Processes of a later job run the program from its beginning, and start the jobs before it
    again: those record nothing."""
    _run(tmp_path, """
for kind in ("first", "second", "first", "third", "first", "second"):
    if kind == "first":
        selion.run(f, kind)
    else:
        selion.run(f, kind, machine="processes:1")
""", SELION_MACHINE=machine, SELION_METERS="m.jsonl", SELION_TRACE="t.json")  # fmt: skip
    numbers = ["", ".2", ".3", ".4", ".5", ".6"]
    assert _files(tmp_path) == sorted(f"{name}" for number in numbers
                                      for name in (f"m{number}.jsonl", f"t{number}.json"))
    found = [_names(tmp_path / f"m{number}.jsonl") for number in numbers]
    assert found == [{"first"}, {"second"}, {"first"}, {"third"}, {"first"}, {"second"}]


def test_a_name_that_is_no_text(tmp_path):
    (tmp_path / "program.py").write_text(_head + """
for _ in range(2):
    selion.run(f, "first", machine="processes:1")
""")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True,
                          env={**clean_environment(), "SELION_METERS": os.fsdecode(b"m\xff")},
                          timeout=seconds)
    assert (done.returncode, done.stderr) == (0, b"")
    assert _files(tmp_path) == [os.fsdecode(b"m\xff"), os.fsdecode(b"m\xff.2")]
