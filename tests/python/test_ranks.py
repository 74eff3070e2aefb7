# SPDX-License-Identifier: Apache-2.0
"""Ranks in Python: how they start and end, their threads, and the GIL."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest

from conftest import clean_environment, needs_module, seconds, wait_for_end

pytestmark = needs_module


# --- start and end --------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_ranks(job, ranks):
    out = job.expect_no_fault(
        "print(world.rank, world.size, world.machine, repr(world))",
        f"processes:{ranks}",
        after="print('once')",
    )
    lines = out.splitlines()
    assert lines[-1] == "once"
    assert sorted(lines[:-1]) == [
        f"{rank} {ranks} processes:{ranks} <selion.World rank {rank} of {ranks}>"
        for rank in range(ranks)
    ]


def test_the_default_is_a_process_per_core(job):
    import selion

    path = job.write("world.rank or print(world.machine)")
    done = subprocess.run(
        [sys.executable, str(path)],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.stdout == f"processes:{selion.usable_cores()}\n"


@pytest.mark.parametrize("machine", ["threads", "threads:2", "threads:4@2", "processes:2x2"])
def test_machines_that_share_an_interpreter(job, machine):
    status, out, errors = job.run("print('ran')", machine)
    assert (status, out) == (2, "")
    assert f"'{machine}'" in errors
    assert "set SELION_MACHINE=processes:N" in errors


_exchange = """
    part = world.allocate(4, np.int64)
    begun = world.now()
    part.put(np.full(4, world.rank), rank=(world.rank + 1) % world.size)
    world.barrier()
    before = part.fetch_add(0, 0, 5)
    world.charge(ns=1000 * world.rank)
    total = world.all_reduce(world.rank)
    print(world.rank, part.local[1], before, total, world.now() - begun)
"""


@pytest.mark.parametrize(
    "machine", ["sim:crossbar,ranks=3", "sim:niagara2,ranks=3", "sim:now-ultrasparc,ranks=3"]
)
def test_ranks_in_virtual_time(job, machine):
    """Threads of one interpreter, one of which runs at a time: equal runs take equal times."""
    out = job.expect_no_fault(_exchange, machine, after="print('once')")
    assert out == job.expect_no_fault(_exchange, machine, after="print('once')")
    *ranks, last = out.splitlines()
    assert last == "once"
    rows = sorted([int(word) for word in line.split()] for line in ranks)
    assert [row[:2] for row in rows] == [[0, 2], [1, 0], [2, 1]]
    assert sorted(row[2] for row in rows) == [2, 7, 12]
    assert all(row[3] == 3 and row[4] >= 2000 for row in rows)


def test_work_takes_virtual_time(job):
    body = """
    begun = world.now()
    world.charge(flops=3, int_ops=1, loads=2, stores=1, copied_bytes=10, ns=0.5)
    world.charge(ns=0.5)
    print(world.now() - begun)
    """
    assert job.expect_no_fault(body, "sim:crossbar,ranks=1") == "9\n"
    status, _, errors = job.run("world.charge(ns=-1)", "sim:crossbar,ranks=1")
    assert status == 1
    assert "ns is the time to spend; legal: 0 to 1e15 nanoseconds." in errors


@pytest.mark.parametrize("body", ["world.rank == 1 and world.nothing", "world.rank or sys.exit(3)"])
def test_a_simulated_rank_that_fails_ends_the_job(job, body):
    status, out, _ = job.run(f"{body}\nworld.barrier()", "sim:crossbar", after="print('after')")
    assert (status, out) == (3 if "exit" in body else 1, "")


def test_ranks_in_python_are_no_fibers(job):
    status, out, errors = job.run("print('ran')", "sim:crossbar,context=fibers")
    assert (status, out) == (2, "")
    assert "leave 'context=fibers' out" in errors


def test_a_machine_that_is_not_there(job):
    status, out, errors = job.run("print('ran')", "processor:2")
    assert (status, out) == (2, "")
    assert 'there is no kind "processor"' in errors
    assert "Traceback" not in errors


def test_arguments_reach_every_rank(tmp_path, job):
    path = job.write("print(sys.argv[1:])")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), "a b", ""],
        env=clean_environment(SELION_MACHINE="processes:2"),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert (done.stdout, done.stderr) == ("['a b', '']\n" * 2, "")


def test_a_program_on_standard_input():
    done = subprocess.run(
        [sys.executable, "-"],
        input="import selion\nselion.run(print)\n",
        env=clean_environment(SELION_MACHINE="processes:2"),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 1
    assert "write a file and run that" in done.stderr


def test_a_program_in_a_pipe(job):
    script = job.write("pass")
    done = subprocess.run(
        ["bash", "-c", f"exec {sys.executable} <(cat {script})"],
        env=clean_environment(SELION_MACHINE="processes:2"),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 1
    assert "in a pipe does not allow: write a file and run that" in done.stderr


def test_a_limit_of_files(job):
    def limit():
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))

    done = subprocess.run(
        [sys.executable, job.write("pass")],
        env=clean_environment(SELION_MACHINE="processes:2"),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 1
    assert "(File too large)" in done.stderr and "raise `ulimit -f`" in done.stderr


def test_several_runs(job):
    out = job.expect_no_fault(
        "world.rank or print('first')",
        after="selion.run(lambda world: world.rank or print('second'))\nprint('end')",
    )
    assert out == "first\nsecond\nend\n"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return None", 0),
        ("return 7", 0),
        ("sys.exit(7 * world.rank)", 7),
        ("sys.exit()", 0),
        ("sys.exit('a sentence')", 1),
    ],
)
def test_the_exit_status(job, body, status):
    found, out, errors = job.run(body, "processes:2", after="print('end')")
    assert found == status, errors
    assert out == ("" if status else "end\n")
    assert ("a sentence" in errors) == ("sentence" in body)


def test_an_exit_ends_the_job(job):
    status, out, errors = job.run("world.rank and sys.exit(3)\nworld.barrier()")
    assert (status, out) == (3, "")
    assert "rank 1 of 2 left with exit status 3" in errors


def test_an_exception_ends_the_job(job):
    status, out, errors = job.run(
        """
        if world.rank == 1:
            raise ValueError("no such luck")
        world.barrier()
        print("never")
        """,
        after="print('never')",
    )
    assert (status != 0, out) == (True, "")
    lines = errors.splitlines()
    assert lines[0] == "[rank 1] Traceback (most recent call last):"
    assert "[rank 1] ValueError: no such luck" in lines
    assert not any("launch.py" in line for line in lines)
    assert lines[-1].startswith("selion: rank 1 of 2 ended with an exception of type ValueError: "
                                "no such luck, ")


def test_an_exception_that_says_nothing(job):
    _, _, errors = job.run("raise StopIteration", "processes:1")
    assert "exception of type StopIteration: it says nothing, before" in errors


def test_a_killed_rank_ends_the_job(job):
    status, out, errors = job.run(
        """
        if world.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        world.barrier()
        """
    )
    assert (status, out) == (128 + signal.SIGKILL, "")
    assert "rank 1 of 2" in errors


def test_what_the_interpreter_does_at_its_end(job):
    out = job.expect_no_fault(
        """
        import atexit
        atexit.register(print, "at exit")
        threading.Thread(target=print, args=("thread",)).start()
        sys.stdout.write("unfinished line;")
        """,
        "processes:1",
    )
    assert sorted(out.replace("line;", "line;\n").split("\n")) == [
        "",
        "at exit",
        "thread",
        "unfinished line;",
    ]


def test_a_pool_of_threads_that_goes_on(job):
    """The interpreter ends its threads, which have nothing else to end them."""
    out = job.expect_no_fault(
        """
        from concurrent.futures import ThreadPoolExecutor
        global pool
        pool = ThreadPoolExecutor(1)
        print(pool.submit(sum, [1, 2]).result())
        """,
        "processes:1",
    )
    assert out == "3\n"


def test_an_exception_that_cannot_be_encoded(job):
    status, _, errors = job.run("raise ValueError('a\\udcffb')", "processes:1")
    assert status == 1
    assert "rank 0 of 1" in errors and "type ValueError: a\\udcffb" in errors
    assert "bad_cast" not in errors


def test_ctrl_c_while_ranks_wait(job):
    running = job.start(
        """
        print(os.getpid())
        if world.rank == 0:
            signal.pause()
        world.barrier()
        """,
        "processes:2",
    )
    ranks = [int(running.stdout.readline()) for _ in range(2)]
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=seconds)
    assert running.returncode == -signal.SIGINT
    for pid in ranks:
        wait_for_end(pid)


def test_run_by_the_command(selion, job, tmp_path):
    path = job.write("print('a\\nb')")
    done = selion("run", "-m", "processes:2", sys.executable, str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["[0] a", "[0] b", "[1] a", "[1] b"]


# --- threads --------------------------------------------------------------------------------------

# Rank 1 reaches the call only after a thread of rank 0, whose main thread is inside the call, has
# written to a pipe: which it can only if the GIL was released. The long switch interval keeps the
# thread from getting the GIL in another way.
_waits_while_a_thread_works = """
gate = os.path.join(os.environ["JOB_FOLDER"], "gate")
array = world.allocate(2)
bell = world.signal()
if world.rank == 0:
    sys.setswitchinterval(1000)
    def open_gate():
        ready.wait()
        open(gate, "w").close()
    ready = threading.Event()
    threading.Thread(target=open_gate, daemon=True).start()
    ready.set()
else:
    open(gate).read()
{call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "world.barrier()",
        "world.sync()",
        "world.all_reduce(1)",
        "world.all_reduce(np.zeros(3))",
        "world.broadcast(1, 1)",
        "world.broadcast(b'x', 1)",
        "world.broadcast(np.zeros(3), 1)",
        "world.allocate(3)",
        "array.free()",
        "world.all_reduce(np.zeros(3), out=np.zeros(3))",
        "world.all_gather(np.zeros(3))",
        "world.exchange(np.zeros(2), out=np.zeros(2))",
        "world.gather(np.zeros(2), 0)",
        "world.scatter(np.zeros(4) if world.rank else None, 1, out=np.zeros(2))",
        "world.split_phase.barrier().wait()",
        "bell.wait_until(1) if world.rank == 0 else bell.notify(0)",
        "bell.wait_until(1, timeout=50) if world.rank == 0 else bell.notify(0)",
        "bell.free()",
        "world.signal()",
        "world.spread(4)",
        "world.rank or world.call(1, int).result(); world.barrier()",
        "world.rank or [world.progress() for _ in iter(lambda: array.item(0), 1)]; "
        "world.rank and array.put(1, 0)",
    ],
)
def test_calls_that_wait_release_the_gil(job, tmp_path, call):
    os.mkfifo(tmp_path / "gate")
    job.expect_no_fault(_waits_while_a_thread_works.format(call=call))


@pytest.mark.parametrize(
    "call",
    [
        "array.get(1)",
        "array.item(1)",
        "array.start_get(1).wait()",
        "array.start_put(1, 1).wait()",
        "array.fetch_add(1, 0, 1)",
        "array.atomic_get(1, 0)",
        "world.quiet(1)",
        "spread.read()",
        "spread[3]",
    ],
)
def test_accesses_that_the_target_serves_release_the_gil(job, tmp_path, call):
    """Where ranks do not map each other, they wait for it."""
    os.mkfifo(tmp_path / "gate")
    call = f"world.rank or {call}; world.barrier()"
    body = _waits_while_a_thread_works.replace("bell =", "spread = world.spread(4)\nbell =")
    job.expect_no_fault(body.format(call=call), "processes:2,direct=off")


def test_a_thread_that_has_not_joined(job):
    out = job.expect_no_fault(
        """
        def work():
            try:
                world.barrier()
            except RuntimeError as error:
                print(error)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """,
        "processes:1",
    )
    assert "This thread works for no rank" in out
    assert "with world.joined_thread():" in out


def test_a_thread_that_has_joined(job):
    job.expect_no_fault(
        """
        array = world.allocate(4, np.int64)
        def work(number):
            with world.joined_thread():
                array.put(number, 1 - world.rank, number)
                array.fetch_add(1 - world.rank, 3, 1)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        world.barrier()
        assert array.local.tolist() == [0, 1, 2, 3]
        """,
        options=", thread_level='multiple'",
    )


def test_several_threads_wait_for_a_started_collective(job):
    job.expect_no_fault(
        """
        def wait(started, found):
            with world.joined_thread():
                found.append(started.wait())
        for turn in range(20):
            if world.rank == 1: threading.Event().wait(0.01)
            started, found = world.split_phase.barrier(), []
            threads = [threading.Thread(target=wait, args=(started, found)) for _ in range(3)]
            if world.rank == 0:
                for thread in threads: thread.start()
            assert started.wait()
            if world.rank == 0:
                for thread in threads: thread.join()
                assert found == [True] * 3
        """,
        options=", thread_level='multiple'",
    )


@pytest.mark.parametrize(
    ("machine", "level", "says"),
    [
        ("processes:1", "single", "pass thread_level='multiple' to selion.run"),
        ("processes:1", "multiple", "This thread works for a rank already."),
        ("sim:crossbar,ranks=1", "multiple", "A rank of a simulated machine is one thread"),
    ],
)
def test_a_thread_that_may_not_join(job, machine, level, says):
    out = job.expect_no_fault(
        """
        try:
            with world.joined_thread():
                pass
        except RuntimeError as error:
            print(error)
        """,
        machine,
        options=f", thread_level={level!r}",
    )
    assert says in out


def test_threads_that_share_what_lets_them_join(job):
    out = job.expect_no_fault(
        """
        joined, has_joined, may_leave = world.joined_thread(), threading.Event(), threading.Event()
        def first():
            with joined:
                has_joined.set()
                may_leave.wait()
                assert world.now() > 0
        def tell(call):
            try:
                call()
            except RuntimeError as error:
                print(error)
        def second():
            has_joined.wait()
            tell(joined.__enter__)
            tell(lambda: joined.__exit__(None, None, None))
            may_leave.set()
        threads = [threading.Thread(target=work) for work in (first, second)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        again = threading.Thread(target=first)
        again.start(), again.join()
        """,
        "processes:1",
        options=", thread_level='multiple'",
    )
    assert out.splitlines() == [
        "A thread is within this block: call joined_thread() for each.",
        "This thread has not entered the block that it leaves.",
    ]


def test_a_thread_level_that_is_not_there(job):
    status, _, errors = job.run("pass", options=", thread_level='many'", after="")
    assert status == 1
    assert "thread_level is 'many'; legal: single, serialized, multiple." in errors
