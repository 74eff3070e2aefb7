# SPDX-License-Identifier: Apache-2.0
"""selion.run with a machine: functions that travel by value, results, failures, output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from conftest import clean_environment, needs_module, seconds, wait_for_end

pytestmark = needs_module

machines = ["processes:1", "processes:2", "processes:4", "sim:crossbar,ranks=3"]


class Program:
    """Runs text as a program, whichever way Python reads it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self, text: str, way: str = "file") -> subprocess.Popen[str]:
        head = "import os, sys, signal, time, threading, io\nimport numpy as np\nimport selion\n"
        self.text = text = head + textwrap.dedent(text)
        self.path = path = self._folder / "program.py"
        path.write_text(text)
        line = {"file": [str(path)], "-c": ["-c", text], "-": ["-"], "": []}[way]
        running = subprocess.Popen(
            [sys.executable, *line],
            env=clean_environment(),
            cwd=self._folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if way in ("-", ""):
            running.stdin.write(text)
        running.stdin.close()
        running.stdin = None
        return running

    def run(self, text: str, way: str = "file") -> tuple[int, str, str]:
        running = self.start(text, way)
        out, errors = running.communicate(timeout=seconds)
        return running.returncode, out, errors

    def expect_no_fault(self, text: str, way: str = "file") -> str:
        status, out, errors = self.run(text, way)
        assert (status, errors) == (0, ""), errors
        return out


@pytest.fixture
def program(tmp_path) -> Program:
    return Program(tmp_path)


# --- what travels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", machines)
def test_results_in_the_order_of_ranks(program, machine):
    out = program.expect_no_fault(
        f"""
        factor = 10
        def main(world, more, values):
            values[0] += 1  # each rank has its own
            return world.rank * factor + more, world.all_reduce(1), values.sum()
        values = np.arange(1 << 20)
        found = selion.run(main, 5, values, machine="{machine}")
        n = len(found)
        assert found == [(10 * r + 5, n, values.sum() + 1) for r in range(n)], found
        assert values[0] == 0 and "SELION_MACHINE" not in os.environ
        print(n)
        """
    )
    assert out == machine[-1] + "\n"


@pytest.mark.parametrize("way", ["file", "-c", "-", ""])
def test_from_anywhere(program, way):
    out = program.expect_no_fault(
        """
        class Point:
            def __init__(self, x): self.x = x
        def main(world):
            return [Point(world.rank), np.full(1000, world.rank)]
        found = selion.run(main, machine="processes:2")
        assert all(type(point) is Point for point, _ in found)
        print([point.x for point, _ in found], [int(many.sum()) for _, many in found])
        print(selion.run(lambda world: None, machine="processes:2"))
        """,
        way,
    )
    assert out == "[0, 1] [0, 1000]\n[None, None]\n"


@pytest.mark.parametrize("way", ["-", ""])
def test_a_script_on_standard_input_cannot_be_run_again(program, way):
    status, out, errors = program.run("selion.run(lambda world: print('ran'))", way)
    assert (status, out) == (1, "")
    assert "or a script on standard input or in a pipe does not allow: write a file" in errors


def test_functions_of_modules_beside_the_program(program, tmp_path):
    (tmp_path / "beside.py").write_text("def main(world, text):\n    return text * world.rank\n")
    text = "import beside\nprint(selion.run(beside.main, 'ab', machine='processes:3'))"
    assert program.expect_no_fault(text) == "['', 'ab', 'abab']\n"


def test_within_a_rank(program):
    out = program.expect_no_fault(
        """
        def inner(world): return world.size
        def outer(world): return selion.run(inner, machine="processes:2")
        print(selion.run(outer, machine="processes:1"))
        """
    )
    assert out == "[[2, 2]]\n"


def test_a_job_within_a_rank_ends_with_it(program):
    running = program.start(
        """
        def inner(world):
            print(os.getpid(), os.getppid(), flush=True)
            time.sleep(100)
        def outer(world):
            selion.run(inner, machine="processes:2")
        selion.run(outer, machine="processes:1")
        """
    )
    pids = {int(word) for _ in range(2) for word in running.stdout.readline().split()}
    running.kill()
    running.communicate(timeout=seconds)
    assert len(pids) == 3
    for pid in pids:
        wait_for_end(pid)


@pytest.mark.parametrize("machine", ["processes:1", "sim:crossbar,ranks=1"])
def test_what_belongs_to_a_job_does_not_reach_another(program, machine):
    """A rank that has a world of its own gets none from a job that it starts."""
    out = program.expect_no_fault(
        f"""
        def outer(world):
            part = world.allocate(2)
            for inner in (lambda world: world, lambda world: world.allocate(2)):
                try:
                    selion.run(inner, machine={machine!r})
                except selion.RankFailed as error:
                    print(error)
            return world.call(1 - world.rank, lambda part: part.local.size, part).result()
        print(selion.run(outer, machine="processes:2"))
        """
    )
    *told, results = out.splitlines()
    assert results == "[2, 2]" and len(told) == 4
    assert all("something to ranks of its own job only" in line for line in told)


def test_a_mistake_names_its_line_in_the_program(program):
    """One that no call looks at before, and that so ends the job."""
    status, out, errors = program.run(
        """
        def main(world):
            both = np.zeros((2, 4))
            selion._core.move_blocks(world, "all_gather", both[0], both, 0)
        try:
            selion.run(main, machine="processes:2")
        except selion.RankFailed as failure:
            print(failure.rank, failure)
        """
    )
    assert (status, out.startswith("1 Rank 1 of 2: all_gather: the own block lies")) == (0, True)
    line = 1 + program.text[: program.text.index("move_blocks")].count("\n")
    assert errors == f"  called at {program.path}:{line}\n"


def test_from_threads_side_by_side(program):
    out = program.expect_no_fault(
        """
        from concurrent.futures import ThreadPoolExecutor
        def main(world, x): return world.all_reduce(x)
        with ThreadPoolExecutor(2) as threads:
            jobs = [threads.submit(selion.run, main, x, machine="processes:2") for x in (1, 2)]
            print([each.result() for each in jobs])
        """
    )
    assert out == "[[2, 2], [4, 4]]\n"


def test_the_environment_of_ranks(program):
    out = program.expect_no_fault(
        """
        found = selion.run(lambda world: os.environ["MINE"], machine="processes:1",
                           environment={"MINE": "yes"})
        print(found, "MINE" in os.environ)
        """
    )
    assert out == "['yes'] False\n"


# --- output ---------------------------------------------------------------------------------------


def test_output_goes_where_the_caller_writes(program):
    """As in a notebook, where sys.stdout is an object that sends text elsewhere."""
    out = program.expect_no_fault(
        """
        class Cell(io.StringIO):
            pass
        def main(world):
            print("from", world.rank)
            world.barrier()
            print("trouble", file=sys.stderr)
            os.write(1, b"raw \\xc3\\xa9\\n")
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = Cell(), Cell()
        selion.run(main, machine="processes:2")
        told = sys.stdout.getvalue(), sys.stderr.getvalue()
        sys.stdout, sys.stderr = before
        print(sorted(told[0].splitlines()), told[1].splitlines())
        """
    )
    assert out == "['from 0', 'from 1', 'raw é', 'raw é'] ['trouble', 'trouble']\n"


def test_output_comes_as_it_is_written(program):
    """The rank goes on only when the caller has shown what it printed before."""
    program.expect_no_fault(
        """
        ours, theirs = os.pipe()
        class Cell(io.StringIO):
            def write(self, text):
                if "now" in text:
                    os.kill(int(text.split()[1]), signal.SIGUSR2)
                return super().write(text)
        def main(world):
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
            print("now", os.getpid(), "", flush=True)
            signal.sigwait([signal.SIGUSR2])
        sys.stdout = Cell()
        selion.run(main, machine="processes:1")
        """
    )


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["processes:2", "sim:crossbar,ranks=2"])
def test_an_exception_is_told_with_its_traceback(program, machine):
    out = program.expect_no_fault(
        f"""
        class Trouble(Exception):
            pass
        def deeper():
            trouble = Trouble("no such luck")
            trouble.add_note("a note")
            raise trouble
        def main(world):
            if world.rank == 1:
                deeper()
            world.barrier()
        try:
            selion.run(main, machine="{machine}")
        except selion.RankFailed as failure:
            print(failure)
            print(failure.rank, failure.status, type(failure.__cause__) is Trouble)
            lines = failure.traceback.splitlines()
            assert lines[0] == "Traceback (most recent call last):", lines
            assert lines[1].endswith("in main") and lines[-2].endswith("Trouble: no such luck")
            assert not any("selion" in line and "File" in line for line in lines), lines
            assert failure.traceback.rstrip() in failure.__notes__[0]
        """
    )
    assert out.splitlines() == [
        "Rank 1 of 2 raised Trouble: no such luck",
        "1 1 True",
    ] or out.splitlines() == ["Rank 1 of 2 raised __main__.Trouble: no such luck", "1 1 True"]


def test_an_exception_that_cannot_be_pickled(program):
    out = program.expect_no_fault(
        """
        class Trouble(Exception):
            def __init__(self, a, b): super().__init__(a); self.lock = threading.Lock()
        def main(world):
            raise Trouble("text", 2)
        try:
            selion.run(main, machine="processes:1")
        except selion.RankFailed as failure:
            print(failure.__cause__, "Trouble: text" in str(failure))
        """
    )
    assert out == "None True\n"


_ends = [
    ("sys.exit(3)", "Rank 1 of 2 left with exit status 3.", 3),
    ("sys.exit('a sentence')", "Rank 1 of 2 left with: a sentence", 1),
    ("os._exit(4)", "Rank 1 of 2 left with exit status 4 before its function returned", 4),
    ("os._exit(0)", "Rank 1 of 2 left with exit status 0 before its function returned", 1),
    ("os.kill(os.getpid(), 9)", "Rank 1 of 2 was ended by signal 9 (Killed)", 137),
    ("return threading.Lock()", "Rank 1 of 2 raised TypeError: the result, of type lock, can", 1),
]


@pytest.mark.parametrize(("end", "sentence", "status"), _ends, ids=[end for end, _, _ in _ends])
def test_a_rank_that_ends_early(program, end, sentence, status):
    out = program.expect_no_fault(
        f"""
        def main(world):
            if world.rank == 1:
                {end}
            world.barrier()
        try:
            selion.run(main, machine="processes:2")
        except selion.RankFailed as failure:
            print(failure.rank, failure.status, failure)
        """
    )
    assert out.startswith(f"1 {status} {sentence}"), out


def test_a_rank_that_leaves_without_trouble(program):
    text = "print(selion.run(lambda world: world.rank or sys.exit(), machine='processes:2'))"
    assert program.expect_no_fault(text) == "[None, 1]\n"


_mistakes = [
    (
        "f, machine='threads:3@2'",
        "Mistake: Ranks in Python are processes, because threads of one interpreter wait for each "
        "other; the machine is 'threads:3@2': pass machine='processes:3'.",
    ),
    ("f, machine='threads'", "Mistake: Ranks in Python are processes, because threads of one "
     "interpreter wait for each other; the machine is 'threads': pass machine='processes'."),
    (
        "f, machine='processes:2x2'",
        "Mistake: Ranks in Python have a process each, but 'processes:2x2' puts several into one: "
        "pass machine='processes:4'.",
    ),
    ("f, machine=2", "TypeError: machine is 2, of type int; legal: a str such as 'processes:2'."),
    ("f, machine=''", "Mistake: machine is empty; legal: a machine such as 'processes:2', or Non"),
    ("later, machine='processes:2'", "TypeError: A call of 'later' only makes a coroutine or a ge"),
    ("later", "TypeError: A call of 'later' only makes a coroutine or a generator, which nobody"),
    ("f, machine='processes:x'", 'Mistake: machine "processes:x": "" is not a number'),
    ("f, machine='cray'", 'Mistake: machine "cray"'),
    ("f, machine='fabric:2'", "Mistake: Ranks of the machine 'fabric:2' are started by a launcher"),
    *((f"f, machine='processes:2', time_limit=float('{limit}')",
       f"Mistake: The time limit is {limit} seconds; legal: finite, above 0.")
      for limit in ("-1.0", "0.0", "inf", "nan")),
    ("f, machine='processes:2', time_limit='5'", "TypeError: time_limit is '5', of type str; leg"),
    ("f, machine='processes:2', environment={'A': 5}", "TypeError: environment gives the variable "
     "'A' the value 5; legal: str for both"),
    ("f, machine='processes:2', environment={'SELION_MACHINE': 'threads:2'}",
     "Mistake: environment sets SELION_MACHINE; let machine= name the machine instead."),
    ("f, machine='processes:2', thread_level='x'", "ValueError: thread_level is 'x'; legal: si"),
    ("f, time_limit=3", "Mistake: time_limit and environment need machine="),
    ("3, machine='processes:2'", "TypeError: selion.run calls a function; this is int."),
    ("f, 1, lock, machine='processes:2'", "TypeError: Argument 2 of 'f', of type lock, cannot be"),
    (
        "lambda world: lock, machine='processes:2'",
        "TypeError: The function '<lambda>' cannot be sent to the ranks, because its variable "
        "'lock', of type lock, cannot be pickled: cannot pickle",
    ),
    (
        "make(), machine='processes:2'",
        "TypeError: The function 'inner' cannot be sent to the ranks, because its variable 'held', "
        "of type generator, cannot be pickled: cannot pickle",
    ),
]


def test_mistakes_are_told_in_a_sentence(program):
    out = program.expect_no_fault(
        f"""
        lock = threading.Lock()
        def f(world, *args): pass
        async def later(world): pass
        def make():
            held = (i for i in range(3))
            def inner(world): return held
            return inner
        for call in {[call for call, _ in _mistakes]!r}:
            try:
                eval(f"selion.run({{call}})")
            except Exception as error:
                print(f"{{type(error).__name__}}: {{error}}")
        """
    )
    for line, (_, sentence) in zip(out.splitlines(), _mistakes, strict=True):
        assert line.startswith(sentence), line


def test_a_sentence_that_leads_to_lines_below_is_no_end_of_the_first_line(program):
    out = program.expect_no_fault(
        """
        def main(world):
            raise TypeError("f(): wrong arguments. The following are supported:\\n    1. f(int)")
        try:
            selion.run(main, machine="processes:1")
        except selion.RankFailed as failure:
            print(failure)
        """
    )
    assert out == "Rank 0 of 1 raised TypeError: f(): wrong arguments\n"


# --- ends of the job ------------------------------------------------------------------------------


def test_a_time_limit(program):
    for limit in ("1.5", "6", "24"):  # on a slow host it may be over before the ranks have begun
        status, out, errors = program.run(f"""
            def main(world):
                print(os.getpid(), flush=True)
                world.rank == 0 and signal.pause()
            try:
                selion.run(main, machine="processes:2", time_limit={limit})
            except TimeoutError as error:
                print(error)
            """)
        assert status == 0, errors
        *pids, sentence = out.splitlines()
        assert sentence == f"The time limit of {limit} s is over; the job was ended."
        for pid in pids:
            wait_for_end(int(pid))
        if len(pids) == 2:
            break
    assert len(pids) == 2
    assert "absent: rank 0: " in errors  # where the ranks were


_waits = """
    def main(world):
        print(os.getpid(), flush=True)
        world.rank == 0 and signal.pause()
        world.barrier()
    try:
        selion.run(main, machine="processes:2")
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_job_ends_with_the_caller(program, number):
    """Also where it has no time to say so."""
    running = program.start(_waits)
    ranks = [int(running.stdout.readline()) for _ in range(2)]
    running.send_signal(number)
    out, _ = running.communicate(timeout=seconds)
    assert running.returncode == (0 if number == signal.SIGINT else -number)
    assert out == ("interrupted\n" if number == signal.SIGINT else "")
    for pid in ranks:
        wait_for_end(pid)


def test_nothing_is_left_behind(program, tmp_path, monkeypatch):
    own = tmp_path / "tmp"
    own.mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    before = set(os.listdir("/dev/shm"))
    program.expect_no_fault(
        """
        files = os.listdir("/proc/self/fd")
        for _ in range(3):
            selion.run(lambda world: np.zeros(1000), machine="processes:2")
        assert os.listdir("/proc/self/fd") == files
        """
    )
    made = set(os.listdir("/dev/shm")) - before
    assert not [name for name in made if "selion" in name]
    assert os.listdir(own) == []


def test_open_files_odd_paths_and_long_limits_lose_no_results(program):
    out = program.expect_no_fault(
        """
        import pathlib, resource
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
        files = []
        while len(files) < 1100:  # select() knows descriptors below 1024
            files.append(os.open("/dev/null", os.O_RDONLY))
        sys.path.append(pathlib.Path("/tmp"))  # importlib ignores it
        print(selion.run(lambda world: 3, machine="processes:2", time_limit=1e9))
        """
    )
    assert out == "[3, 3]\n"
