# SPDX-License-Identifier: Apache-2.0
"""`selion run`: what it passes on, and how jobs end."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import (
    clean_environment,
    command,
    needs_module,
    seconds,
    wait_for_end,
    write_script,
)

# Prints its process id and the id of a child in the same group, then waits for ever.
_sleeper = """
import os, signal, sys
child = os.fork()
if child:
    print(os.getpid(), child, flush=True)
while True:
    signal.pause()
"""
_deaf_sleeper = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)" + _sleeper


def test_without_a_program_the_usage_is_shown(selion):
    done = selion("run")
    assert done.returncode == 2
    assert "Missing argument" in done.stderr


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("./absent", "The program './absent' does not exist."),
        ("surely-no-such-program", "There is no program 'surely-no-such-program' on the PATH."),
        ("/", "'/' is a directory, not a program."),
    ],
)
def test_a_program_that_is_not_there(selion, program, sentence):
    done = selion("run", program)
    assert (done.returncode, done.stderr) == (2, f"selion run: {sentence}\n")


def test_a_program_in_this_folder_is_hinted_at(selion, tmp_path):
    write_script(tmp_path / "mine", "")
    done = selion("run", "mine")
    assert done.returncode == 2
    assert "./mine exists: did you mean that?" in done.stderr


def test_a_file_that_is_not_executable(selion, tmp_path):
    (tmp_path / "job").write_text("print(1)\n")
    done = selion("run", "./job")
    assert done.returncode == 2
    assert done.stderr == (
        "selion run: The program './job' is not executable; cure: chmod +x ./job\n"
    )


@pytest.mark.parametrize("name", ["run", "explore", "cache-advice"])
def test_source_code(selion, tmp_path, name):
    (tmp_path / "job.cpp").write_text("int main() {}\n")
    done = selion(name, "./job.cpp")
    assert (done.returncode, done.stderr) == (
        2,
        f"selion {name}: './job.cpp' is source code; compile it, and name the program that this "
        "makes.\n",
    )


def test_a_file_that_is_no_program(selion, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    done = selion("run", "./text")
    assert done.returncode == 2
    assert "neither a binary of this machine nor a script" in done.stderr


@pytest.mark.parametrize("status", [0, 1, 2, 77, 255])
def test_the_exit_status_is_passed_on(selion, status):
    assert selion("run", "sh", "-c", f"exit {status}").returncode == status


def test_a_signal_becomes_a_status(selion):
    assert selion("run", "sh", "-c", "kill -SEGV $$").returncode == 128 + signal.SIGSEGV


def test_output_arguments_and_input_are_passed_unchanged():
    script = (
        "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[::-1]);"
        "sys.stderr.write(repr(sys.argv[1:]))"
    )
    done = subprocess.run(
        [*command, "run", "-m", "threads", sys.executable, "-c", script, "-n", "3", "--", "-v"],
        env=clean_environment(),
        input=b"\xff\x00a",
        capture_output=True,
        timeout=seconds,
    )
    assert (done.returncode, done.stdout) == (0, b"a\x00\xff")
    assert done.stderr == b"['-n', '3', '--', '-v']"


@needs_module
def test_output_that_cannot_be_written_ends_the_job(job):
    script = job.write("for i in range(3): print('line', i)")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*command, "run", "-m", "processes:2", script],
            env=clean_environment(), stdout=full, stderr=subprocess.PIPE, text=True,
            timeout=seconds,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "selion: the output of the ranks cannot be written (No space left on device); the job "
        "ends\n",
    )


@needs_module
def test_ranks_see_that_nobody_reads_their_output(job):
    script = job.write(
        """
        try:
            while True:
                print("line")
        except BrokenPipeError:
            import os
            os._exit(7)
        """
    )
    with subprocess.Popen(
        [*command, "run", "-m", "processes:1", script],
        env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as run:  # fmt: skip
        assert run.stdout is not None and run.stdout.readline() == b"[0] line\n"
        run.stdout.close()
        assert run.wait(seconds) == 7


def _variables(selion, *options: str, **changes: str) -> dict[str, str]:
    done = selion("run", *options, "env", **changes)
    assert done.returncode == 0, done.stderr
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return {key: value for key, _, value in pairs if key.startswith("SELION_")}


@pytest.mark.parametrize(
    ("options", "machine"),
    [
        (("-m", "processes:4"), "processes:4"),
        (("-m", "processes", "-n", "4"), "processes:4"),
        (("-m", "processes,direct=off", "-n", "4"), "processes:4,direct=off"),
        (("-m", "processes:2x4", "-n", "8"), "processes:2x4"),
        (("-m", "threads:8@2", "-n", "8"), "threads:8@2"),
        (("-m", "threads@2", "-n", "8"), "threads:8@2"),
        (("-m", "threads:@2,direct=off", "-n", "8"), "threads:8@2,direct=off"),
        (("-n", "3"), "threads:3"),
    ],
)
def test_the_machine(selion, options, machine):
    assert _variables(selion, *options) == {"SELION_MACHINE": machine, "SELION_PREFIX": "1"}


def test_the_environment_is_the_default(selion):
    assert _variables(selion, SELION_MACHINE="threads:2")["SELION_MACHINE"] == "threads:2"
    found = _variables(selion, "-n", "4", SELION_MACHINE="processes")
    assert found["SELION_MACHINE"] == "processes:4"
    assert "SELION_MACHINE" not in _variables(selion)


def test_a_simulated_machine_has_so_many_ranks(selion):
    found = _variables(selion, "-n", "4", "-m", "sim:crossbar,context=threads")
    assert found["SELION_MACHINE"] == "sim:crossbar,context=threads,ranks=4"
    found = _variables(selion, "-n", "4", "-m", "sim:crossbar,ranks=4")
    assert found["SELION_MACHINE"] == "sim:crossbar,ranks=4"


def test_other_options(selion, tmp_path):
    found = _variables(selion, "-v", "--trace", "t.json", "--no-prefix")
    assert found == {
        "SELION_VERBOSE": "1",
        "SELION_TRACE": str(tmp_path / "t.json"),
        "SELION_PREFIX": "0",
    }


def test_what_only_the_package_reads_is_kept_from_the_program(selion):
    assert "SELION_BIN" not in _variables(selion, SELION_BIN="/nowhere")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("-m", "processes:2", "-n", "4"),
            "The machine 'processes:2' has 2 ranks but -n asks for 4; "
            "leave out one of them, or write 'processes:4'.",
        ),
        (
            ("-m", "sim:crossbar,ranks=2", "-n", "4"),
            "The machine 'sim:crossbar,ranks=2' has 2 ranks but -n asks for 4; "
            "leave out one of them.",
        ),
        *(
            (("-n", "3", "-m", machine), f"'{'9' * 5000}' is not a number of ranks; legal: 1 to "
                                         "4294967295.")
            for machine in (f"sim:crossbar,ranks={'9' * 5000}", f"threads:{'9' * 5000}",
                            f"processes:2x{'9' * 5000}")
        ),
        (("-n", "0"), "0 ranks were asked for; legal is 1 or more."),
        (("--time-limit", "0"), "The time limit is 0.0 seconds; legal: finite, above 0."),
        (("--time-limit", "nan"), "The time limit is nan seconds; legal: finite, above 0."),
    ],
)
def test_bad_options(selion, options, sentence):
    done = selion("run", *options, "true")
    assert (done.returncode, done.stderr) == (2, f"selion run: {sentence}\n")


def test_show_runs_nothing(selion, tmp_path):
    done = selion("run", "--show", "-m", "processes:2", "touch", "a file")
    assert done.returncode == 0
    assert "SELION_MACHINE=processes:2" in done.stdout
    assert done.stdout.endswith("touch 'a file'\n")
    assert not (tmp_path / "a file").exists()


@needs_module
def test_the_command_runs_python_files(selion, job):
    path = job.write("print(sys.argv[1], world.machine)")
    done = selion("run", "-m", "processes:2", str(path), "-x")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["[0] -x processes:2", "[1] -x processes:2"]
    done = selion("run", "-n", "3", "--no-prefix", str(path), "y")
    assert done.stdout.splitlines() == ["y processes:3"] * 3
    shown = selion("run", "--show", "-m", "processes:2", str(path)).stdout.split()
    assert shown[-2:] == [sys.executable, str(path)]


def _start(tmp_path: Path, *options: str, program: str = _sleeper) -> subprocess.Popen[str]:
    script = write_script(tmp_path / "sleeper", program)
    return subprocess.Popen(
        [*command, "run", *options, str(script)],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _pids(running: subprocess.Popen[str]) -> list[int]:
    assert running.stdout is not None
    return [int(word) for word in running.stdout.readline().split()]


@pytest.mark.parametrize("program", [_sleeper, _deaf_sleeper], ids=["listens", "deaf"])
def test_the_time_limit_ends_the_whole_job(tmp_path, program):
    for limit in ("0.2", "2", "20"):  # on a slow host it may be over before the program has begun
        running = _start(tmp_path, "--time-limit", limit, program=program)
        pids = _pids(running)
        _, errors = running.communicate(timeout=seconds)
        assert running.returncode == 124
        assert errors == f"selion run: The time limit of {limit} s is over; the job was ended.\n"
        for pid in pids:
            wait_for_end(pid)
        if pids:
            break
    assert len(pids) == 2


@pytest.mark.parametrize("limit", ["50", "1e300"])
def test_a_job_within_its_time_limit(selion, limit):
    assert selion("run", "--time-limit", limit, "sh", "-c", "exit 5").returncode == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_job(tmp_path, number):
    running = _start(tmp_path)
    pids = _pids(running)
    running.send_signal(number)
    running.communicate(timeout=seconds)
    assert running.returncode == 128 + number
    for pid in pids:
        wait_for_end(pid)


def test_a_program_may_answer_ctrl_c_itself(tmp_path):
    polite = """
        import signal, sys
        signal.signal(signal.SIGINT, lambda *_: sys.exit(9))
        print(1, flush=True)
        signal.pause()
    """
    running = _start(tmp_path, program=polite)
    _pids(running)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=seconds)
    assert running.returncode == 9


def test_the_program_dies_with_the_command(tmp_path):
    alone = "import os, signal\nprint(os.getpid(), flush=True)\nsignal.pause()"
    running = _start(tmp_path, program=alone)
    (program,) = _pids(running)
    running.kill()
    running.wait(timeout=seconds)
    wait_for_end(program)


# --- on a terminal --------------------------------------------------------------------------------


class _Terminal:
    """The command run by a session of its own on a new terminal."""

    def __init__(self, *arguments: str) -> None:
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [*command, *arguments], clean_environment())

    def read_until(self, text: str) -> str:
        seen = ""
        while text not in seen:
            assert select.select([self.descriptor], [], [], seconds)[0], seen
            seen += os.read(self.descriptor, 4096).decode()
        return seen

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def end(self) -> int:
        """The exit status."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(status)


def test_ctrl_c_on_a_terminal(tmp_path):
    script = write_script(tmp_path / "sleeper", _sleeper)
    terminal = _Terminal("run", str(script))
    pids = [int(word) for word in terminal.read_until("\n").split()]
    terminal.type("\x03")
    assert terminal.end() == 128 + signal.SIGINT
    for pid in pids:
        wait_for_end(pid)


def test_ctrl_z_stops_the_command_with_its_job(tmp_path):
    script = write_script(tmp_path / "reader", "print('name?', flush=True)\nprint(input()[::-1])")
    terminal = _Terminal("run", str(script))
    terminal.read_until("name?")
    terminal.type("\x1a")
    _, status = os.waitpid(terminal.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.type("nolies\n")
    terminal.read_until("seilon")
    assert terminal.end() == 0


def test_the_program_may_read_from_the_terminal(tmp_path):
    script = write_script(tmp_path / "reader", "print('name?', flush=True)\nprint(input()[::-1])")
    terminal = _Terminal("run", str(script))
    terminal.read_until("name?")
    terminal.type("nolies\n")
    terminal.read_until("seilon")
    assert terminal.end() == 0
