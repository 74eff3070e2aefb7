# SPDX-License-Identifier: Apache-2.0
"""Other orders of messages find mistakes that the machine's own order hides, and replay them."""

import re
import subprocess
import sys
import time

import pytest

from conftest import programs, run

mistakes = {"lost_wake_up": "deadlock", "wrong_counter": "a letter is lost"}


_polls = "sim:crossbar,ranks=4"
_interrupted = "sim:sp-lapi,ranks=4,progress=interrupt"  # a thread of each task serves messages


def first_failure(what: str, mode: str, seeds: range, machine: str = _polls):
    for seed in seeds:
        done = run(f"{machine},explore={mode},seed={seed}", "test_mailbox", what)
        if done.returncode != 0:
            return seed, done
    return None, None


@pytest.mark.parametrize("what", mistakes)
def test_the_machine_s_own_order_hides_the_mistake(on_machine, what):
    assert on_machine("sim:crossbar,ranks=4", "test_mailbox", what).returncode == 0


@pytest.mark.parametrize(
    ("what", "machine", "mode"),
    [(what, machine, mode) for what in mistakes for machine in (_polls, _interrupted)
     for mode in ("random", "delays")
     # Delays of messages hardly ever hit what lies within one task.
     if (what, machine, mode) != ("lost_wake_up", _interrupted, "delays")])
def test_exploration_finds_a_seeded_mistake_and_replays_it(on_machine, what, machine, mode):
    start = time.monotonic()
    seed, failure = first_failure(what, mode, range(1, 3000), machine)
    assert failure is not None, "no seed found it"
    assert time.monotonic() - start < 60
    assert mistakes[what] in failure.stderr
    again = on_machine(f"{machine},explore={mode},seed={seed}", "test_mailbox", what)
    assert (again.returncode, again.stderr) == (failure.returncode, failure.stderr)


@pytest.mark.parametrize("mode", ["random", "delays"])
@pytest.mark.parametrize("machine", ["sim:clovertown", "sim:bluegene-p,nodes=1,mode=smp"])
def test_exploration_moves_accesses_to_shared_memory(on_machine, machine, mode):
    assert on_machine(machine, "test_mailbox", "lost_wake_up").returncode == 0
    for seed in range(1, 1000):
        done = on_machine(f"{machine},explore={mode},seed={seed}", "test_mailbox", "lost_wake_up")
        if done.returncode != 0:
            break
    assert mistakes["lost_wake_up"] in done.stderr, "no seed found it"


@pytest.mark.parametrize("mode", ["random", "delays"])
@pytest.mark.parametrize("machine", [_polls, _interrupted], ids=["polling", "interrupt"])
def test_exploration_finds_nothing_in_the_right_protocol(machine, mode):
    seed, failure = first_failure("right", mode, range(1, 100), machine)
    assert failure is None, f"seed {seed}: {failure.stderr}"


def explore(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "selion", "explore", *arguments],
                          capture_output=True, text=True, timeout=300)


def test_the_command_prints_the_seed_and_the_line_that_replays_it():
    done = explore("-m", "sim:crossbar,ranks=4", str(programs / "test_mailbox"), "wrong_counter")
    assert done.returncode == 1, done.stderr
    found = re.search(r"seed (\d+)", done.stdout)
    assert found, done.stdout
    assert f"explore=random,seed={found[1]}" in done.stdout


def test_the_command_says_when_nothing_was_found():
    done = explore("-m", "sim:crossbar,ranks=4", "--seeds", "1-5", str(programs / "test_mailbox"),
                   "right")
    assert done.returncode == 0, done.stderr
    assert "5 runs" in done.stdout


@pytest.mark.parametrize("arguments,words", [
    (["-m", "threads:4", "true"], ["sim:"]),
    (["-m", "sim:crossbar", "--seeds", "9-1", "true"], ["9-1"]),
    (["-m", "sim:crossbar", "--mode", "all", "true"], ["all", "random", "delays"]),
    (["-m", "sim:crossbar", "no-such-program"], ["no-such-program"]),
    (["-m", "sim:crossbar,seed=4", "true"], ["seed", "--seeds"]),
    (["-m", "sim:crossbar,explore=off", "true"], ["explore=off", "leave it out"]),
    (["-m", "sim:crossbar,compute=measured", "true"], ["compute=measured", "no seed replays"]),
    (["-m", "sim:crossbar", "sh", "-c", "exit 2"], ["status 2", "said nothing"]),
])
def test_mistakes_of_the_command(arguments, words):
    done = explore(*arguments)
    assert done.returncode == 2, done.stdout
    for word in words:
        assert word in done.stderr


def lost_puts(how: str, seeds: range) -> int:
    """Orders of messages in which a put behind a broadcast is lost."""
    count = 0
    for seed in seeds:
        done = run(f"sim:crossbar,ranks=5,explore=delays,seed={seed}", "test_lost_put", how)
        if done.returncode != 0:
            assert "lost_put: x is 1, not 5" in done.stderr
            count += 1
    return count


def test_a_put_behind_a_loose_broadcast_can_be_lost():
    assert lost_puts("loose", range(1, 200)) > 0


@pytest.mark.parametrize("how", ["strict", "exit"])
def test_a_put_behind_a_strict_broadcast_is_never_lost(how):
    assert lost_puts(how, range(1, 200)) == 0
