# SPDX-License-Identifier: Apache-2.0
"""Whole programs on every machine file: the same answer as on threads, twice the same run."""

import re
from pathlib import Path

import pytest

root = Path(__file__).resolve().parents[2]
machines = sorted(path.stem for path in (root / "machines").glob("*.toml"))
graph = ("em3d", "--random", "--nodes", "40", "--graph-processors", "8", "--iterations", "3",
         "--verify")
#: Ranks where a whole machine would take long, and what a small memory needs.
options = {"bluegene-p": ",ranks=64", "epiphany-iii": ",memory.each_rank_kib=4096"}


def checksum(text: str) -> str:
    return re.search(r"checksum\s+(0x[0-9a-f]+)", text)[1]


@pytest.fixture(scope="module")
def expected():
    from conftest import run

    return checksum(run("threads:4", *graph).stdout)


@pytest.mark.parametrize("name", machines)
def test_em3d_computes_what_it_computes_on_threads(on_machine, expected, name):
    done = on_machine(f"sim:{name}{options.get(name, '')}", *graph)
    assert done.returncode == 0, done.stderr
    assert checksum(done.stdout) == expected
    assert "bit for bit" in done.stdout


@pytest.mark.parametrize("machine", ["sim:niagara2,processes=8,threads=8",
                                     "sim:clovertown,processes=2,threads=4",
                                     "sim:bluegene-p,mode=smp,ranks=64",
                                     "sim:crossbar,ranks=1000"])
def test_em3d_on_other_shapes(on_machine, expected, machine):
    done = on_machine(machine, *graph)
    assert done.returncode == 0, done.stderr
    assert checksum(done.stdout) == expected


@pytest.mark.parametrize("name", machines)
def test_equal_runs_print_equal_bytes(on_machine, name):
    machine = f"sim:{name}{options.get(name, '')},explore=random,seed=5"
    first, second = on_machine(machine, *graph), on_machine(machine, *graph)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout


def test_another_seed_is_another_run(on_machine):
    runs = {on_machine(f"sim:crossbar,explore=random,seed={seed}", *graph).stdout
            for seed in (1, 2)}
    assert len(runs) == 2


def test_threads_and_fibers_simulate_the_same(on_machine):
    fibers = on_machine("sim:crossbar", *graph).stdout
    threads = on_machine("sim:crossbar,context=threads", *graph).stdout
    assert fibers.replace("sim:crossbar", "") == threads.replace("sim:crossbar,context=threads", "")


def test_a_straggler_makes_the_job_slower(on_machine):
    def time_us(machine: str) -> float:
        return float(re.search(r"iteration\s+([\d.]+) us", on_machine(machine, *graph).stdout)[1])

    assert time_us("sim:crossbar,slow=3x4") > time_us("sim:crossbar")


def test_a_killed_rank_ends_the_job(on_machine):
    done = on_machine("sim:crossbar,kill=2@100us", *graph)
    assert done.returncode != 0
    assert "rank 2 of 8 was killed" in done.stderr
    assert "deadlock" not in done.stderr


def test_a_death_in_a_deadlock_tells_of_it(on_machine):
    done = on_machine("sim:crossbar,ranks=2,kill=0@1s+1@2s", "test_tracing", "1", "deadlock")
    assert "rank 0 of 2 was killed" in done.stderr
    assert "in a deadlock: nothing else could happen" in done.stderr


def test_the_host_s_time_is_labelled(on_machine):
    done = on_machine("sim:crossbar,compute=measured", *graph)
    assert done.stderr == ("selion: compute=measured: the host's time is spent, so times differ "
                           "from run to run\n")
    assert on_machine("sim:crossbar", *graph).stderr == ""


def test_verbose_says_what_is_simulated(on_machine):
    done = on_machine("sim:crossbar,ranks=3,seed=7", *graph, SELION_VERBOSE="on")
    assert "3 ranks simulated on crossbar in one process, as fibers, in virtual time; seed 7\n" \
        in done.stderr


#: Where a rank sees what others have sent without calling.
@pytest.mark.parametrize("machine", ["sim:crossbar", "sim:crossbar,ranks=2", "sim:niagara2",
                                     "sim:sp-lapi,progress=interrupt",
                                     "sim:bluegene-p,mode=smp,ranks=8",
                                     "sim:epiphany-iii,memory.each_rank_mib=4"])
def test_ranks_use_their_own_memory_in_the_order_of_time(on_machine, machine):
    done = on_machine(machine, "test_own_memory")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_words_on_the_first_stack_cost_the_same_in_each_run(on_machine):
    """The kernel lets that stack begin elsewhere within a line in each run."""
    runs = [on_machine("sim:bluegene-p,ranks=8", "test_main_counters", PADDING="x" * (16 * shift))
            for shift in range(8)]
    assert all(done.returncode == 0 for done in runs)
    assert len({done.stdout for done in runs}) == 1
