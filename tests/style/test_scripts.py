# SPDX-License-Identifier: Apache-2.0
"""The two commands understand their options, and ./run-tests counts right."""

import importlib.util
import os
import subprocess
import xml.etree.ElementTree
from importlib.machinery import SourceFileLoader

import pytest

from project_files import all_files, is_script, read, root


def run(*command: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=root, capture_output=True, text=True, **options)


def load_counter():
    loader = SourceFileLoader("count_tests", str(root / "scripts" / "ci" / "count-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_scripts_parse_and_may_be_run():
    scripts = [name for name in all_files() if is_script(name)]
    assert {"quickstart", "run-tests", ".ci/run", "scripts/ci/fresh-machine"} <= set(scripts)
    assert [name for name in scripts if not os.access(root / name, os.X_OK)] == []
    for name in [*scripts, "scripts/setup/steps.sh"]:
        if "bash" in read(name).split("\n")[0] or name.endswith(".sh"):
            assert run("bash", "-n", name).stderr == "", name


@pytest.mark.parametrize("script", ["./quickstart", "./run-tests", "scripts/ci/fresh-machine"])
def test_options(script):
    assert run(script, "--help").stdout.startswith("Usage: ")
    refused = run(script, "--sideways")
    assert refused.returncode == 2 and refused.stdout == ""
    assert "'--sideways'" in refused.stderr and "--help" in refused.stderr


def test_fast_takes_no_presets():
    refused = run("./run-tests", "--fast", "asan")
    assert refused.returncode == 2 and "'asan'" in refused.stderr


def test_without_root_the_line_to_run_is_printed(tmp_path):
    for name, body in {
        "dpkg-query": "printf 'installed g++\\ninstalled cmake\\n'",
        "id": "echo 1000",
        "sudo": "exit 1",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    stopped = run("./quickstart", env=env, stdin=subprocess.DEVNULL)
    assert stopped.returncode == 1
    line = stopped.stderr.strip()
    assert line.startswith("apt-get update && apt-get install") and "ninja-build" in line
    assert "g++" not in line and "cmake" not in line.split()


_report = """<testsuite>
<testcase name="a" status="run"><system-out>[  PASSED  ] 5 tests.
[  SKIPPED ] 2 tests, listed below:</system-out></testcase>
<testcase name="b" status="run"><system-out>...s
3 passed, 1 skipped in 0.35s</system-out></testcase>
<testcase name="c" status="run"><system-out>fine</system-out></testcase>
<testcase name="d" status="notrun"><system-out>[  SKIPPED ] 1 test</system-out></testcase>
{more}</testsuite>"""


def count(more: str, tmp_path) -> tuple[int, str]:
    path = tmp_path / "report.xml"
    path.write_text(_report.format(more=more))
    done = run("scripts/ci/count-tests", str(path))
    return done.returncode, done.stdout


def test_cases_are_counted(tmp_path):
    assert count("", tmp_path) == (0, "9 passed, 0 failed, 4 skipped\n")


def test_failures_are_counted(tmp_path):
    failed = '<testcase name="e" status="fail"><system-out>{}</system-out></testcase>'
    assert count(failed.format("crash"), tmp_path) == (1, "9 passed, 1 failed, 4 skipped\n")
    some = "[  PASSED  ] 1 test.\n[  FAILED  ] 2 tests, listed below:"
    assert count(failed.format(some), tmp_path) == (1, "10 passed, 2 failed, 4 skipped\n")
    errors = "1 failed, 1 passed, 2 errors in 1.00s"
    assert count(failed.format(errors), tmp_path) == (1, "10 passed, 3 failed, 4 skipped\n")


def test_a_missing_or_empty_report_is_a_failure(tmp_path):
    assert run("scripts/ci/count-tests", str(tmp_path / "none.xml")).returncode == 1
    (tmp_path / "empty.xml").write_text("<testsuite></testsuite>")
    assert run("scripts/ci/count-tests", str(tmp_path / "empty.xml")).returncode == 1


def test_a_failed_test_is_named():
    test = xml.etree.ElementTree.fromstring('<testcase name="x" status="fail"/>')
    assert load_counter().outcome(test)["failed"] == 1
