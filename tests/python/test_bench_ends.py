# SPDX-License-Identifier: Apache-2.0
"""However a benchmark ends, the programs that it has started end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import clean_environment, command, root, seconds, wait_for_end, write_script

# Tells its number, and that it has been asked to end. GRIP: what it does then.
_stubborn = """
    import os, signal, time
    def grip(*_):
        os.write(gate, b"asked\\n")
        GRIP
    gate = os.open("gate", os.O_WRONLY)
    signal.signal(signal.SIGTERM, grip)
    os.write(gate, f"{os.getpid()}\\n".encode())
    while True:
        time.sleep(100)
"""


class Running:
    """A benchmark whose program has begun, and does not end by itself."""

    def __init__(self, folder: Path, line: list[str], grip: str) -> None:
        for program in ("bench_offload", "bench_simulator", "bench_mesh", "bench_interrupt"):
            write_script(folder / "bin" / program, _stubborn.replace("GRIP", grip))
        os.mkfifo(folder / "gate")
        self.process = subprocess.Popen(
            line, cwd=folder, env=clean_environment(SELION_BIN=str(folder / "bin")),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._gate = (folder / "gate").open()
        self.program = int(self._gate.readline())

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def until_asked(self) -> None:
        """Returns when the program has been asked to end."""
        assert self._gate.readline() == "asked\n"

    def end(self) -> tuple[int, str]:
        """Status and what was said, of both when they have ended."""
        _, errors = self.process.communicate(timeout=seconds)
        wait_for_end(self.program)
        return self.process.returncode, errors

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self._gate.close()
        try:
            os.kill(self.program, signal.SIGKILL)
        except ProcessLookupError:
            pass


@pytest.fixture
def run(tmp_path: Path) -> Iterator:
    """Starts a benchmark; nothing of it is left behind."""
    begun: list[Running] = []

    def call(*line: str, grip: str = "pass") -> Running:
        begun.append(Running(tmp_path, list(line), grip))
        return begun[-1]

    yield call
    for each in begun:
        each.close()


def script(name: str, *options: str) -> list[str]:
    return [sys.executable, str(root / "bench" / name), *options]


offload = script("run_offload", "--bin", "bin")
all_scripts = [
    offload,
    script("run_simulator", "--bin", "bin", "--only", "events"),
    script("run", "--bin", "bin", "--program", "interrupt"),
]


def test_who_does_not_heed_is_ended_within_what_the_command_waits(run):
    running = run(*command, "bench", "offload", "--quick")
    running.send(signal.SIGINT)
    status, errors = running.end()
    assert status == 130 and errors.endswith("Interrupted; nothing was written.\n")


@pytest.mark.parametrize("line", all_scripts)
def test_a_second_interrupt_leaves_nobody(run, line):
    running = run(*line)
    running.send(signal.SIGINT)
    running.until_asked()
    running.send(signal.SIGINT)
    assert running.end()[0] == 130


@pytest.mark.parametrize("line", all_scripts)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_told_to_end_ends_its_programs(run, line, number):
    running = run(*line)
    running.send(number)
    status, errors = running.end()
    assert status == 128 + number and "Traceback" not in errors


@pytest.mark.parametrize("line", all_scripts)
def test_who_is_killed_has_its_programs_told(run, line):
    running = run(*line, grip="os._exit(0)")
    running.send(signal.SIGKILL)
    assert running.end()[0] == -signal.SIGKILL
