# SPDX-License-Identifier: Apache-2.0
"""What a job says of hangs, deaths and calls that disagree: it names lines of the program."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, command, needs_module, seconds

pytestmark = needs_module


def _place(folder: Path, mark: str) -> str:
    """`file:line` of the statement of the program that is marked so."""
    path = folder / "program.py"
    lines = path.read_text().splitlines()
    [number] = [n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}")]
    return f"{path}:{number}"


def _places(folder: Path, *marks: str) -> list[str]:
    """As much of them as reports have room for."""
    return [_place(folder, mark)[-127:] for mark in marks]


@pytest.mark.parametrize(("call", "name"), [("world.all_reduce(1)", "all_reduce"),
                                            ("world.allocate(4)", "allocate"),
                                            ("world.scatter(None, 1)", "broadcast")])
def test_a_hang_is_told_with_lines_of_the_program(job, tmp_path, call, name):
    """Also where functions of the package lie between."""
    body = f"""
        world.barrier()  # before
        world.progress()
        world.quiet()
        if world.rank == 0:
            {call}  # waits
        else:
            signal.pause()
    """
    for limit in ("0.5", "4", "16"):  # on a slow host the ranks may not have come so far
        job.variables = {"SELION_HANG_TIMEOUT": limit, "SELION_HANG_ACTION": "abort"}
        status, _, errors = job.run(body, "processes:2")
        waits, before = _places(tmp_path, "waits", "before")
        told = (f"rank 0 waits in {name} #2 at {waits}",
                f"absent: rank 1: in its own code, after barrier #1 at {before}")
        if all(each in errors for each in told):
            break
    assert status == 1
    for each in told:
        assert each in errors


def test_a_loop_of_tests_and_a_return_are_told_without_places_of_other_calls(job, tmp_path):
    body = """
        signals = world.signal()
        if world.rank == 0:
            while not signals.test(1): pass  # tests
        if world.rank == 1:
            world.barrier()
    """
    for limit in ("0.5", "4", "16"):
        job.variables = {"SELION_HANG_TIMEOUT": limit, "SELION_HANG_ACTION": "abort"}
        status, _, errors = job.run(body, "processes:3")
        [tests] = _places(tmp_path, "tests")
        told = (f"rank 0 does not wait; last known call: test at {tests} for a signal of at least "
                "1; it is 0\n",
                "rank 2 waits in the end of run: its function has returned\n")
        if all(each in errors for each in told):
            break
    assert status == 1
    for each in told:
        assert each in errors


@pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")
@pytest.mark.parametrize("call", ["part.item(1)", "part.fetch_add(1, 0, 1)"])
def test_a_hang_of_an_access_is_told_with_its_line(job, tmp_path, for_mpirun, call):
    """Where ranks do not map each other, it waits for the target."""
    program = job.write(f"""
        import time
        from pathlib import Path
        part = world.allocate(40000)
        away = Path({str(tmp_path / "away")!r})
        world.barrier()
        if world.rank == 0:
            while not away.exists(): time.sleep(0.01)
            {call}  # waits
        else:
            away.touch()
            while True: time.sleep(1)
    """)
    done = subprocess.run(
        [*command, "run", "-m", "fabric:2,direct=off", str(program)],
        env=clean_environment(SELION_HANG_TIMEOUT="2", SELION_HANG_ACTION="abort", **for_mpirun),
        capture_output=True, text=True, timeout=seconds)
    [waits] = _places(tmp_path, "waits")
    assert f"at {waits}" in done.stdout + done.stderr


def test_a_death_is_told_with_a_line_of_the_program(job, tmp_path):
    _, _, errors = job.run(
        """
        world.barrier()  # before
        if world.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        world.barrier()
        """
    )
    assert f"at {_places(tmp_path, 'before')[0]}" in errors


@pytest.mark.parametrize("machine", ["processes:2", "processes:2,direct=off"])
def test_calls_are_compared_also_where_a_thread_has_joined(job, machine):
    """The lines of its calls are not known."""
    job.variables = {"SELION_CHECK_CALLS": "on"}
    body = """
    def total():
        with world.joined_thread():
            world.all_reduce(1)
    if world.rank == 1:
        thread = threading.Thread(target=total)
        thread.start()
        thread.join()
    else:
        world.all_reduce({value})
    world.barrier()
    """
    options = ", thread_level='multiple'"
    job.expect_no_fault(body.format(value=1), machine, options=options)
    status, _, errors = job.run(body.format(value="np.ones(2)"), machine, options=options)
    assert status == 1
    assert "rank 1 calls all_reduce of 1 element of 16 bytes at an unknown place, rank 0 calls " \
        in errors


@pytest.mark.parametrize("machine", ["processes:2", "processes:2,direct=off",
                                     "sim:crossbar,ranks=2"])
def test_what_all_ranks_allocate_is_compared(job, machine):
    job.variables = {"SELION_CHECK_CALLS": "on"}
    status, _, errors = job.run(
        """
        if world.rank == 1:
            world.allocate(4)
        world.barrier()
        """,
        machine,
    )
    assert status == 1
    [line] = [line for line in errors.splitlines() if "disagree" in line]
    assert "rank 1 calls allocate at " in line and "rank 0 calls barrier at " in line


def test_who_has_only_arrived_is_not_taken_for_somebody_else(job):
    job.variables = {"SELION_CHECK_CALLS": "on"}
    status, _, errors = job.run(
        """
        world.all_reduce(1)
        if world.rank == 0:
            world.arrive()
            world.wait()
        else:
            world.barrier()
        """
    )
    assert status == 1
    assert "rank 1 calls barrier at " in errors
    assert "rank 0 something that is not compared, such as arrive() or a split" in errors


@pytest.mark.parametrize("machine", ["processes:2", "processes:2,direct=off",
                                     "sim:crossbar,ranks=2"])
@pytest.mark.parametrize(("given", "taken"), [
    (("world.all_reduce(np.array([1]))", "world.all_reduce(np.array([1.5]))"),
     ("all_reduce of 1 element of 8 bytes", "all_reduce of 1 element of 8 bytes")),
    (("world.all_reduce(np.zeros(2))", "world.all_reduce(np.zeros(3))"),
     ("all_reduce of 2 elements of 8 bytes", "all_reduce of 3 elements of 8 bytes")),
    (("world.barrier()", "world.all_reduce(1)"),
     ("barrier", "all_reduce of 1 element of 16 bytes")),
    (("world.all_gather(np.array([1.5]))", "world.all_gather(np.array([7]))"),
     ("all_gather of 8 elements of 1 byte",) * 2),
    (("world.exchange(np.zeros(2))", "world.exchange(np.zeros(2, 'i8'))"),
     ("exchange of 8 elements of 1 byte",) * 2),
    (("world.gather(np.zeros(2))", "world.gather(np.zeros(2, 'i8'))"),
     ("gather of 16 elements of 1 byte at root 0",) * 2),
])
def test_ranks_that_disagree_are_told_with_lines_of_the_program(job, tmp_path, machine, given,
                                                                taken):
    """Simulated ranks compare unasked."""
    if not machine.startswith("sim"):
        job.variables = {"SELION_CHECK_CALLS": "on"}
    status, _, errors = job.run(
        f"""
        if world.rank == 0:
            {given[0]}  # zero
        else:
            {given[1]}  # one
        """,
        machine,
    )
    assert status == 1
    [line] = [line for line in errors.splitlines() if "disagree" in line]
    for rank, mark in enumerate(("zero", "one")):
        found = re.search(rf"rank {rank} calls (.*?) at (\S+:\d+)", line)
        assert found, line
        assert found[1] == taken[rank]
        assert _place(tmp_path, mark).endswith(found[2].removeprefix("..."))


@pytest.mark.parametrize("machine", ["processes:2", "processes:2,direct=off",
                                     "sim:crossbar,ranks=2"])
@pytest.mark.parametrize(("given", "told"), [
    (("all_reduce(np.zeros(3))", "all_reduce(np.zeros(4))"), ""),
    (("all_reduce(np.zeros(1))", "all_reduce(1)"), "; types or operations differ"),
    (("broadcast(np.zeros(2), 0)", "broadcast(np.zeros(2, 'i8'), 0)"),
     "; types or operations differ"),
])
def test_started_collectives_that_disagree_are_told_with_lines(job, tmp_path, machine, given, told):
    status, _, errors = job.run(
        f"""
        if world.rank == 0:
            world.split_phase.{given[0]}.result()  # zero
        else:
            world.split_phase.{given[1]}.result()  # one
        """,
        machine,
    )
    assert status == 1
    [line] = [line for line in errors.splitlines() if "disagree" in line]
    for rank, mark in enumerate(("zero", "one")):
        found = re.search(rf"rank {rank} starts .*? at (\S+:\d+)", line)
        assert found, line
        assert _place(tmp_path, mark).endswith(found[1].removeprefix("..."))
    assert line.endswith(told)


@pytest.mark.parametrize("machine", ["processes:2", "processes:3,direct=off"])
def test_started_collectives_that_all_wait_are_told_where_calls_are_compared(job, tmp_path,
                                                                             machine):
    job.variables = {"SELION_CHECK_CALLS": "on"}
    status, _, errors = job.run(
        """
        if world.rank == 0:
            world.split_phase.broadcast(np.zeros(2), 1).result()  # zero
        else:
            world.split_phase.broadcast(np.zeros(2), 0).result()  # one
        """,
        machine,
    )
    assert status == 1
    [line] = [line for line in errors.splitlines() if "disagree" in line]
    for root, mark in ((1, "zero"), (0, "one")):
        found = re.search(rf"starts broadcast of 16 bytes from root {root} at (\S+:\d+)", line)
        assert found, line
        assert _place(tmp_path, mark).endswith(found[1].removeprefix("..."))


def test_lines_of_several_files_are_told_apart(job, tmp_path):
    (tmp_path / "others.py").write_text("def start(world, np):\n"
                                        "    world.split_phase.all_reduce(np.ones(1)).result()\n")
    _, _, errors = job.run(
        """
        if world.rank == 0:
            sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
            import others
            others.start(world, np)
        else:
            world.split_phase.all_reduce(np.ones(2)).result()  # one
        """,
        "processes:2",
    )
    [line] = [line for line in errors.splitlines() if "disagree" in line]
    pattern = r"rank (\d) starts .*? at (\S+:\d+|line.*file)"
    [(teller, place), (_, other)] = re.findall(pattern, line)
    number = _place(tmp_path, "one").rpartition(":")[2]
    expected = ("others.py:2", f"line {number} of another file") if teller == "0" else (
        f"program.py:{number}", "line 2 of another file")
    assert place.endswith(expected[0]) and other == expected[1], line


def test_what_a_rank_has_started_last_is_told_with_its_line(job, tmp_path):
    _, _, errors = job.run(
        """
        world.barrier()
        world.split_phase.barrier()  # starts
        if world.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        world.barrier()
        """
    )
    assert f"in its own code, after barrier at {_places(tmp_path, 'starts')[0]}; " in errors


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")
@pytest.mark.parametrize("first", ["on", "off"])
def test_on_a_network_the_first_rank_decides_whether_calls_are_compared(job, tmp_path, first,
                                                                        for_mpirun):
    """The others take its word, whatever their hosts' environments say."""
    path = job.write("""
    print("total", world.all_reduce(np.array([1 if world.rank == 0 else 1.5])))  # differ
    """)
    second = "off" if first == "on" else "on"
    done = subprocess.run(
        ["mpirun", "-n", "1", "-x", f"SELION_CHECK_CALLS={first}", sys.executable, str(path),
         ":", "-n", "1", "-x", f"SELION_CHECK_CALLS={second}", sys.executable, str(path)],
        env=clean_environment(SELION_MACHINE="fabric,direct=off", **for_mpirun),
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
    if first == "off":
        assert (done.returncode, done.stdout.count("total")) == (0, 2), done.stderr
        return
    assert done.returncode != 0
    [end] = _places(tmp_path, "differ")
    found = re.findall(r"rank (\d) calls all_reduce of 1 element of 8 bytes at (\S+:\d+)",
                       done.stderr)
    assert {rank for rank, _ in found} == {"0", "1"}
    assert all(end.endswith(place.removeprefix("...")) for _, place in found)
