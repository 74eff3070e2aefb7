# SPDX-License-Identifier: Apache-2.0
"""`selion explore`: what it refuses, and how its runs end. The programs here are scripts; what it
finds in programs of ranks is in tests/sim/test_exploration.py."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import clean_environment, command, seconds, wait_for_end, write_script

# Notes its process id and the id of a child in the same group, then waits for ever.
_sleeper = """
import os, signal
child = os.fork()
if child:
    with open("pids.new", "w") as file:
        file.write(f"{os.getpid()} {child}")
    os.rename("pids.new", "pids")
while True:
    signal.pause()
"""


def _pids(folder: Path) -> list[int]:
    return [int(word) for word in (folder / "pids").read_text().split()]


def test_every_seed_is_run(selion, tmp_path):
    write_script(tmp_path / "noting", """
        import os
        open("log", "a").write(os.environ["SELION_MACHINE"] + "\\n")
    """)
    done = selion("explore", "--seeds", "7-9", "--mode", "delays", "./noting")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "3 runs, seeds 7 to 9: none fails.\n"
    assert (tmp_path / "log").read_text().splitlines() == [
        f"sim:crossbar,explore=delays,seed={seed}" for seed in (7, 8, 9)]


def test_a_python_file_needs_no_python(selion, tmp_path):
    """As with `selion run`, whether or not it is executable."""
    (tmp_path / "racing.py").write_text("import sys\nprint(sys.argv[1:])\nsys.exit(3)\n")
    for name in ("racing.py", "./racing.py"):
        done = selion("explore", "--seeds", "5", name, "a b")
        assert (done.returncode, done.stderr) == (1, "")
        found, _, replay = done.stdout.splitlines()
        assert found == "['a b']"
        assert replay.endswith(shlex.join([sys.executable, name, "a b"]))
    (tmp_path / "silent.py").write_text("raise SystemExit(2)\n")
    done = selion("explore", "silent.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'silent.py' ended with status 2 at the first seed" in done.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--time-limit", "-5"), "The time limit is -5.0 seconds; legal: finite, above 0."),
        (("--time-limit", "0"), "The time limit is 0.0 seconds; legal: finite, above 0."),
        (("--time-limit", "inf"), "The time limit is inf seconds; legal: finite, above 0."),
        (("--time-limit", "nan"), "The time limit is nan seconds; legal: finite, above 0."),
        (
            ("-m", "sim:crossbar,seed=4"),
            "The machine 'sim:crossbar,seed=4' has 'seed=4', which selion explore chooses; leave "
            "it out, or write --seeds 4.",
        ),
        (("-m", "sim:crossbar,explore=delays"), "leave it out, or write --mode delays."),
        (("-m", "sim:crossbar,explore=off"), "'explore=off', which selion explore chooses; leave "
                                             "it out.\n"),
        (
            ("-m", "sim:crossbar,compute=measuredx2"),
            "The machine 'sim:crossbar,compute=measuredx2' has 'compute=measuredx2', with which no "
            "run is like another, so no seed replays a failure; leave it out.",
        ),
        (("--seeds", "9-1"), "'9-1' is not a range of seeds such as 1-1000; legal: 0 to "),
        (("--seeds", "9" * 5000), "9' is not a range of seeds such as 1-1000; legal: 0 to "),
        (("--seeds", "1-" + "9" * 5000), "9' is not a range of seeds such as 1-1000; legal: 0 to "),
        (("--seeds", str(2**64)), "'18446744073709551616' is not a range of seeds such as 1-1000"),
    ],
)
def test_bad_options(selion, options, sentence):
    done = selion("explore", *options, "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_time_limit_of_any_length_is_legal(selion):
    done = selion("explore", "--time-limit", "1e300", "--seeds", "1-2", "true")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_that_is_no_program(selion, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    done = selion("explore", "./text")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("selion explore: './text' is neither a binary of this machine nor a "
                           "script with a '#!' line.\n")


@pytest.mark.parametrize(
    ("script", "status"), [("echo lost; exit 3", 3), ("echo lost; kill -SEGV $$", 139)]
)
def test_the_first_that_fails_is_told_with_its_status(selion, script, status):
    done = selion("explore", "--seeds", "5-9", "sh", "-c", script)
    assert (done.returncode, done.stderr) == (1, "")
    lost, told, replay = done.stdout.splitlines()
    assert (lost, told) == ("lost", f"seed 5 fails with status {status} after 1 run.")
    assert replay.startswith("Replay it: env SELION_MACHINE=sim:crossbar,explore=random,seed=5 ")


def test_a_first_run_that_refuses_is_no_find(selion, tmp_path, monkeypatch):
    """It may be one, and is told as such, too."""
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    write_script(tmp_path / "refusing", "raise SystemExit(print('no such machine') or 2)")
    done = selion("explore", "--seeds", "4-9", "./refusing")
    assert (done.returncode, done.stdout) == (2, "")
    said, told = done.stderr.splitlines()
    assert said == "no such machine"
    assert told == ("selion explore: './refusing' ended with status 2 at the first seed, 4; 2 "
                    "counts as a mistake in how it is run. If it is none, seed 4 fails; replay it: "
                    "env SELION_MACHINE=sim:crossbar,explore=random,seed=4 PYTHONHASHSEED=0 "
                    "./refusing")


def test_a_program_s_own_124_is_no_time_that_is_over(selion):
    done = selion("explore", "--seeds", "1", "sh", "-c", "exit 124")
    assert done.stdout.splitlines()[0] == "seed 1 fails with status 124 after 1 run."


def replayed(line: str, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(shlex.split(line.removeprefix("Replay it: ")), cwd=folder,
                          env=clean_environment(), capture_output=True, text=True, timeout=seconds)


def test_sets_of_python_have_one_order(selion, tmp_path, monkeypatch):
    """Else a failure that hangs on that could not be replayed."""
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    (tmp_path / "sets.py").write_text(
        "print(list({'apple', 'pear', 'plum', 'fig', 'quince', 'sloe'}))\nraise SystemExit(1)\n")
    done = selion("explore", "--seeds", "1", "sets.py")
    order, _, replay = done.stdout.splitlines()
    for _ in range(3):
        assert replayed(replay, tmp_path).stdout.splitlines() == [order]


def test_an_order_of_sets_that_the_user_has_chosen_stays(selion):
    done = selion("explore", "--seeds", "1", "sh", "-c", 'echo "$PYTHONHASHSEED"; exit 1',
                  PYTHONHASHSEED="7")
    seed, _, replay = done.stdout.splitlines()
    assert seed == "7"
    assert "PYTHONHASHSEED=" not in replay


def test_the_program_reads_no_input(tmp_path):
    done = subprocess.run(
        [*command, "explore", "--seeds", "1-2", "sh", "-c", "read line; test -z \"$line\""],
        env=clean_environment(), input=b"a\nb\n", capture_output=True, timeout=seconds)
    assert done.returncode == 0, done.stdout


def test_the_time_limit_ends_a_run_with_its_children(selion, tmp_path):
    write_script(tmp_path / "sleeper", f"print('waits', flush=True){_sleeper}")
    for limit in ("1", "4", "16"):  # on a slow host it may be over before the program has begun
        done = selion("explore", "--time-limit", limit, "./sleeper")
        if (tmp_path / "pids").exists():
            break
    assert (done.returncode, done.stderr) == (1, "")
    told = f"seed 1 fails with status 124, its {limit} s are over, after 1 run."
    assert done.stdout.startswith(f"waits\n{told}\n")
    for pid in _pids(tmp_path):
        wait_for_end(pid)


def test_of_much_output_two_ends_are_kept(selion):
    """Also of the kernel's memory no more is taken, however much is printed."""
    script = "echo first; yes the same line | head -c 28000000; echo last; exit 3"
    done = selion("explore", "--seeds", "1", "sh", "-c", script)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-3]) == ("first", "last")
    [told] = [line for line in lines if line.endswith(" bytes left out]")]
    left_out = int(told[1:].split()[0].replace(",", ""))
    kept = sum(len(line) + 1 for line in lines[:-2] if line != told)
    assert left_out + kept == len("first\n") + 28_000_000 + len("last\n")
    assert 256 * 1024 < kept <= 512 * 1024


def test_who_has_left_the_group_keeps_nobody_waiting(selion, tmp_path):
    """It still has the pipe, and prints for ever."""
    script = "setsid sh -c 'echo $$ >pid; exec yes' & while ! [ -s pid ]; do :; done; exit 3"
    done = selion("explore", "--seeds", "1", "sh", "-c", script)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2] == "seed 1 fails with status 3 after 1 run."
    wait_for_end(int((tmp_path / "pid").read_text()))  # nobody reads what it prints


def test_children_do_not_outlive_a_run_that_ends(selion, tmp_path):
    write_script(tmp_path / "parent", _sleeper.replace("while", "    raise SystemExit\nwhile"))
    done = selion("explore", "--seeds", "1", "./parent")
    assert (done.returncode, done.stderr) == (0, "")
    for pid in _pids(tmp_path):
        wait_for_end(pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_run_too(tmp_path, number):
    write_script(tmp_path / "sleeper", _sleeper)
    running = subprocess.Popen([*command, "explore", "./sleeper"], cwd=tmp_path,
                               env=clean_environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "pids").exists():
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    out, errors = running.communicate(timeout=seconds)
    assert (running.returncode, out) == (128 + number, "")
    assert errors == "selion explore: Interrupted at seed 1; none before it fails.\n"
    for pid in _pids(tmp_path):
        wait_for_end(pid)
