# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: running the command, and a study that is a script."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

root = Path(__file__).resolve().parents[2]
package_parent = root / "python"
if str(package_parent) not in sys.path:  # behind an installed package, which may bring its module
    sys.path.append(str(package_parent))

from selion import native, schedules  # noqa: E402

# What runs in the background of a script ignores the signal of Ctrl-C, and so would all that is
# started here; many tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

seconds = 60  # for anything that must end; far more than it takes
#: Times that so long may pass: a host may take its processors away for a minute or two.
stand_stills = 4

needs_module = pytest.mark.skipif(
    native.try_load()[0] is None,
    reason="the compiled module is not built: pip install --editable .",
)


def clean_environment(**changes: str) -> dict[str, str]:
    """Ours without variables of Selion and what was tuned on this host, with `changes`."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("SELION_")}
    path = os.pathsep.join(filter(None, (inherited.get("PYTHONPATH"), str(package_parent))))
    return {**inherited, "PYTHONPATH": path, "COLUMNS": "100", "XDG_CACHE_HOME": "/proc/none",
            **changes}


command = [sys.executable, "-m", "selion"]


@pytest.fixture
def for_mpirun() -> Iterator[dict[str, str]]:
    """What Open MPI's launcher needs here: root, more ranks than processors, and for its files a
    folder that no other job has. Its name is short, as those of sockets have to be."""
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_orte_tmpdir_base": folder,
        }


Selion = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def selion(tmp_path: Path) -> Selion:
    """Runs the command in an empty folder to its end."""

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        line = [*command, *arguments]
        with subprocess.Popen(
            line,
            cwd=tmp_path,
            env=clean_environment(**changes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            for _ in range(stand_stills):
                try:
                    out, errors = child.communicate(timeout=seconds)
                    break
                except subprocess.TimeoutExpired:
                    family = where_each_is(child.pid)
            else:
                child.kill()  # what it has started ends with it
                pytest.fail(f"{line} goes on after {stand_stills} times {seconds} s:\n{family}")
        return subprocess.CompletedProcess(line, child.returncode, out, errors)

    return run


def where_each_is(ancestor: int) -> str:
    """Of a process and all that descend from it: state, processor time in ticks, and where in the
    kernel each waits."""
    told, family = [], [ancestor]
    for pid in family:
        of_kernel = Path(f"/proc/{pid}")
        with contextlib.suppress(OSError):  # it ends meanwhile
            for task in (of_kernel / "task").iterdir():
                family += map(int, (task / "children").read_text().split())
                state = (task / "stat").read_text().rpartition(") ")[2].split()
                told.append(
                    f"{pid}/{task.name} {(of_kernel / 'cmdline').read_bytes()!r}: {state[0]}, "
                    f"ticks {state[11]} + {state[12]}, {(task / 'wchan').read_text()}, "
                    f"{(task / 'syscall').read_text().strip()}"
                )
    return "\n".join(told)


def wait_for_end(pid: int) -> None:
    """Returns when a process that may be nobody's child has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], seconds)[0], f"process {pid} goes on"
    finally:
        os.close(descriptor)


def every_schedule(ranks: int) -> list[schedules.Request]:
    """A request for every algorithm of every collective."""
    return [
        schedules.Request(collective, algorithm, ranks)
        for collective in schedules.collectives()
        for algorithm in schedules.algorithms(collective)
    ]


def write_script(path: Path, text: str) -> Path:
    """An executable Python script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{textwrap.dedent(text)}", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


_fake_study = """
    title = "A study for tests"
    program = "fake"
    machine = "threads:2"
    ranks = 2

    [axis.op]
    type = "string"
    default = ["put", "get"]
    quick = ["put"]
    legal = ["put", "get", "barrier"]

    [axis.bytes]
    type = "int"
    unit = "bytes"
    default = [8, 64]
    legal = { min = 0, max = 1048576 }

    [[rule]]
    when = { op = "barrier" }
    then = { bytes = 0 }

    [experiment.speed]
    summary = "two metrics"
    axes = ["op", "bytes"]

    [experiment.speed.metric.latency_ns]
    unit = "ns"
    tolerance = 0.1

    [experiment.speed.metric.count]
    unit = "calls"

    [experiment.links]
    summary = "several rows for a point"
    axes = ["bytes"]

    [experiment.links.metric.link_bytes]
    unit = "bytes"
    extra = ["from", "to"]
"""

# Prints what its study declares. FAKE_LOG: file that notes each run. FAKE_STALL: a point at which
# it prints one row, then waits on FAKE_GATE for ever. FAKE_FAULT: how to go wrong, and
# FAKE_FAULTY: at which experiment; none: at all.
_fake_program = r"""
    import json, os, sys
    given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    params = json.loads(given["--params"])
    name = given["--experiment"] + given["--params"]
    is_faulty = os.environ.get("FAKE_FAULTY") in (None, given["--experiment"])
    fault = os.environ.get("FAKE_FAULT", "") if is_faulty else ""

    def row(metric, value, unit, repetition, **extra):
        print(json.dumps({"params": {**params, **extra}, "metric": metric, "value": value,
                          "unit": unit, "repetition": repetition}), flush=True)

    if "FAKE_LOG" in os.environ:
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(name + " on " + os.environ["SELION_MACHINE"] + "\n")
    if fault == "skip":
        print(json.dumps({"skipped": "no such thing here"}))
        sys.exit()
    for repetition in range(int(given["--repetitions"])):
        if given["--experiment"] == "links":
            row("link_bytes", params["bytes"], "bytes", repetition, **{"from": 0, "to": 1})
            if os.environ.get("FAKE_STALL") == name:
                open(os.environ["FAKE_GATE"]).read()
            row("link_bytes", 2 * params["bytes"], "bytes", repetition, **{"from": 1, "to": 0})
            continue
        row("latency_ns", params["bytes"] + 0.5, "s" if fault == "unit" else "ns", repetition)
        if os.environ.get("FAKE_STALL") == name:
            open(os.environ["FAKE_GATE"]).read()
        if fault == "exit":
            sys.exit("it is broken")
        if fault == "refusal":
            sys.exit("-----\\nmpirun has detected an attempt to run as root.\\n\\nMore words.")
        if fault == "noise":
            print("hello")
        if fault == "metric":
            row("colour", 1, "calls", repetition)
        if fault != "missing":
            row("count", 3, "calls", repetition)
"""


class FakeStudy:
    """A folder with a study `fake` and its program, and runs of `selion study fake` on it."""

    def __init__(self, folder: Path, selion: Selion) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.gate = folder / "gate"
        self.results = folder / "selion-out" / "fake" / "results.jsonl"
        self._selion = selion
        study = folder / "studies" / "fake"
        study.mkdir(parents=True)
        (study / "study.toml").write_text(textwrap.dedent(_fake_study), encoding="utf-8")
        self.published = study / "published.csv"
        self.published.write_text("study,experiment,params,metric,value,unit\n")
        write_script(folder / "bin" / "fake", _fake_program)

    def environment(self, **changes: str) -> dict[str, str]:
        return {
            "SELION_STUDIES": str(self.folder / "studies"),
            "SELION_BIN": str(self.folder / "bin"),
            "FAKE_LOG": str(self.log),
            "FAKE_GATE": str(self.gate),
            **changes,
        }

    def run(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return self._selion("study", "fake", *arguments, **self.environment(**changes))

    def rows(self, path: Path | None = None) -> list[dict[str, Any]]:
        """The rows of the results file without its headers."""
        return [line for line in self._lines(path or self.results) if "metric" in line]

    def headers(self) -> list[dict[str, Any]]:
        return [line for line in self._lines(self.results) if "metric" not in line]

    @staticmethod
    def _lines(path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def runs(self) -> list[str]:
        """The points that the program was run for, since the last call."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def fake(tmp_path: Path, selion: Selion) -> FakeStudy:
    return FakeStudy(tmp_path, selion)


# --- ranks in Python ------------------------------------------------------------------------------

_job_head = """
import os, signal, sys, threading
import numpy as np
import selion
"""


class Job:
    """Runs the body of a rank's function as a program."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.variables: dict[str, str] = {}
        """Of the environment, beside SELION_MACHINE."""

    def write(self, body: str, after: str = "", options: str = "", before: str = "") -> Path:
        path = self._folder / "program.py"
        function = "def main(world):\n" + textwrap.indent(textwrap.dedent(body), "    ")
        run = f"selion.run(main{options})"
        path.write_text(f"{_job_head}\n{before}\n{function}\n{run}\n{after}\n")
        return path

    def start(self, body: str, machine: str, **parts: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(self.write(body, **parts))],
            env=clean_environment(SELION_MACHINE=machine, JOB_FOLDER=str(self._folder),
                                  **self.variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, body: str, machine: str = "processes:2", **parts: str) -> tuple[int, str, str]:
        """Exit status, standard output, standard error."""
        running = self.start(body, machine, **parts)
        out, errors = running.communicate(timeout=seconds)
        return running.returncode, out, errors

    def expect_no_fault(self, body: str, machine: str = "processes:2", **parts: str) -> str:
        status, out, errors = self.run(body, machine, **parts)
        assert (status, errors) == (0, ""), errors
        return out


    def expect_refusals(self, given: str, refused: Mapping[str, str]) -> None:
        """Each expression raises; what it says begins as told: "TypeError: ..."."""
        body = textwrap.dedent(given) + textwrap.dedent(
            f"""
            for call in {list(refused)!r}:
                try:
                    eval(call)
                except Exception as error:
                    print(f"{{type(error).__name__}}: {{error}}")
                else:
                    print("nothing")
            """
        )
        out = self.expect_no_fault(body, "processes:1")
        for line, (call, sentence) in zip(out.splitlines(), refused.items(), strict=True):
            assert line.startswith(sentence), (call, line)


@pytest.fixture
def job(tmp_path) -> Job:
    return Job(tmp_path)
