# SPDX-License-Identifier: Apache-2.0
"""`selion scale`: what it works out, and how it ends. Most programs here are scripts that say what
time their job has taken; real jobs are at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from conftest import clean_environment, command, needs_module, seconds, write_script

from selion.cli import scale
from selion.scaling import Curve, Point

# Its job takes 0.1 s of serial work and 0.9 s that ranks share, if nothing else is said.
_stand_in = """
    import json, os, sys
    machine = os.environ["SELION_MACHINE"]
    ranks = int(machine.rpartition(":")[2].rpartition("=")[2])
    open("log", "a").write(machine + "\\n")
    took = eval(sys.argv[1]) if len(sys.argv) > 1 else 0.1 + 0.9 / ranks
    clock = "virtual" if machine.startswith("sim") else "real"
    with open(os.environ["SELION_TIME"], "a") as file:
        print(json.dumps({"machine": machine, "ranks": ranks, "seconds": took, "clock": clock}),
              file=file)
    print(f"per iteration {1000 * took:,.1f} us")
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    write_script(tmp_path / "halves", _stand_in)
    return "./halves"


def _curve(times: dict[int, float], is_weak: bool = False) -> Curve:
    points = tuple(Point(ranks, (time,)) for ranks, time in times.items())
    return Curve("threads", points, is_weak, False)


def test_speed_up_efficiency_and_serial_part():
    curve = _curve({1: 1.0, 2: 0.55, 4: 0.325})
    one, two, four = curve.points
    assert [curve.speedup(each) for each in curve.points] == pytest.approx([1, 20 / 11, 40 / 13])
    assert curve.efficiency(four) == pytest.approx(10 / 13)
    assert curve.serial_part(one) is None
    assert curve.serial_part(two) == pytest.approx(0.1)
    assert curve.serial_part(four) == pytest.approx(0.1)


def test_without_a_run_of_one_rank():
    """The fewest are taken to be as good as they are many."""
    curve = _curve({4: 1.0, 8: 0.5})
    assert [curve.speedup(each) for each in curve.points] == [4, 8]
    assert curve.serial_part(curve.points[1]) is None


def test_weak_scaling():
    curve = _curve({1: 1.0, 4: 1.25}, is_weak=True)
    assert [curve.efficiency(each) for each in curve.points] == pytest.approx([1, 0.8])
    assert curve.speedup(curve.points[1]) == pytest.approx(3.2)
    assert curve.serial_part(curve.points[1]) is None


def test_the_ends_of_the_spread_are_those_of_the_slowest_and_quickest_run():
    curve = Curve("threads", (Point(1, (2.0,)), Point(2, (1.0, 1.25, 2.0))), False, False)
    assert curve.ends(curve.points[1]) == (1.0, 2.0)


def test_runs_go_by_turns_and_are_told_in_a_table(selion, program, tmp_path):
    done = selion("scale", "-m", "threads", "-m", "sim:crossbar", "-n", "4,1,2", "--repeat", "2",
                  program)
    assert (done.returncode, done.stderr) == (0, "")
    turn = [*(f"threads:{each}" for each in (1, 2, 4)),
            *(f"sim:crossbar,ranks={each}" for each in (1, 2, 4))]
    assert (tmp_path / "log").read_text().split() == 2 * turn
    lines = done.stdout.splitlines()
    assert lines[0] == "halves: the same work"
    assert lines[2:7] == [
        "threads: real time, median of 2 runs",
        "ranks  time    least   most    speed-up  efficiency  serial part",
        "    1  1 s     1 s     1 s         1.00  100 %",
        "    2  550 ms  550 ms  550 ms      1.82  91 %        10.0 %",
        "    4  325 ms  325 ms  325 ms      3.08  77 %        10.0 %",
    ]
    assert lines[8] == "sim:crossbar: virtual time, median of 2 runs"


def test_equal_runs_are_not_repeated(selion, program, tmp_path):
    done = selion("scale", "-m", "threads", "-m", "sim:crossbar", "-m",
                  "sim:crossbar,compute=measured", "-n", "1", program)
    assert "sim:crossbar: virtual time, one run" in done.stdout.splitlines()
    runs = (tmp_path / "log").read_text().split()
    assert [runs.count(each) for each in sorted(set(runs))] == [3, 1, 3]


def test_json_has_every_run(selion, program):
    done = selion("scale", "-m", "threads", "-n", "1,2", "--json", program)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first == {"machine": "threads", "ranks": 1, "clock": "real", "times": [1.0] * 3,
                     "time": 1.0, "speedup": 1.0, "efficiency": 1.0, "serial_part": None}
    assert second["serial_part"] == pytest.approx(0.1)


def test_the_picture_has_each_machine_and_the_ideal(selion, program, tmp_path):
    done = selion("scale", "-m", "threads", "-m", "processes", "-n", "1,2,4", "--svg", "out/a.svg",
                  program)
    assert done.stdout.splitlines()[-1] == "drawn to out/a.svg"
    text = "".join(ET.parse(tmp_path / "out/a.svg").getroot().itertext())
    for word in ("halves", "threads", "processes", "ideal", "speed-up", "ranks",
                 "selion scale -m threads"):
        assert word in text, word
    done = selion("scale", "--weak", "-n", "1,2", "--svg", "weak.svg", program, "1.0")
    assert "work that grows with the ranks" in done.stdout
    assert "efficiency" in (tmp_path / "weak.svg").read_text()


def test_a_figure_that_the_program_prints(selion, program):
    done = selion("scale", "-n", "1,2", "--repeat", "1", "--figure", "iteration +([0-9.,]+)",
                  program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[3:] == [
        "ranks  figure  least   most  speed-up  efficiency  serial part",
        "    1   1,000  1,000  1,000      1.00  100 %",
        "    2     550    550    550      1.82  91 %        10.0 %",
    ]


def test_a_job_that_takes_no_time_gives_no_speed_up(selion, program):
    done = selion("scale", "-m", "sim:crossbar", "-n", "1,2", program, "0.0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "takes no virtual time, as nothing in it is charged" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_machine_of_the_environment(selion, program, tmp_path):
    assert selion("scale", "-n", "2", program, SELION_MACHINE="processes").returncode == 0
    assert set((tmp_path / "log").read_text().split()) == {"processes:2"}


def test_usual_numbers_of_ranks(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    assert scale._usual_ranks(["threads", "sim:crossbar"]) == [1, 2, 4]
    assert scale._usual_ranks(["sim:crossbar"]) == [1, 2, 4, 8, 16]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert scale._usual_ranks(["threads"]) == [1, 2]


def test_more_ranks_than_processors_are_told(selion, program, tmp_path):
    many = str(2 * len(os.sched_getaffinity(0)))
    assert "processors that are usable here" in selion("scale", "-n", many, program).stdout
    assert "usable here" not in selion("scale", "-m", "sim:crossbar", "-n", many, program).stdout


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("-n", "2,x"), 2, "--ranks is '2,x'; legal are numbers of ranks such as 1,2,4,8."),
        (("-n", "0,2"), 2, "--ranks is '0,2'; legal are numbers from 1 to 4294967295."),
        (("-m", "threads:4", "-n", "1,2"), 2, "The machine 'threads:4' has 4 ranks but --ranks "
         "asks for 1; leave out one of them, or write 'threads:1'."),
        (("--figure", "(x"), 2, "--figure is '(x', which is no regular expression: missing ), "
         "unterminated subpattern at position 0."),
        (("--figure", "per second"), 1, "'halves' on 'threads:1' gives no time: 'per second' is "
         "nowhere in what it prints."),
        (("--figure", "per iteration"), 1, "'halves' on 'threads:1' gives no time: 'per iteration' "
         "finds 'per iteration', which is no number above 0; brackets say which part is the "
         "number."),
        (("--time-limit", "0"), 2, "The time limit is 0.0 seconds; legal: finite, above 0."),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(selion, program, arguments, status, sentence):
    done = selion("scale", *arguments, program)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.splitlines()[-1] == f"selion scale: {sentence}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("print('what it said'); raise SystemExit(3)", "it ended with status 3"),
        ("print('what it said')", "no job of it came to its end: its ranks begin with selion::run, "
                                  "or selion.run in Python"),
    ],
)
def test_a_run_that_fails_shows_what_it_printed(selion, tmp_path, text, why):
    write_script(tmp_path / "failing", text)
    done = selion("scale", "-n", "2", "./failing")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("what it said\nselion scale: 'failing' on 'threads:2' gives no time: "
                           f"{why}.\n")


def test_a_time_limit_is_that_of_a_run(selion, tmp_path):
    write_script(tmp_path / "sleeper", "import time; time.sleep(600)")
    done = selion("scale", "-n", "1", "--time-limit", "0.2", "./sleeper")
    assert done.returncode == 1
    assert done.stderr.endswith("gives no time: its time limit was over.\n")


def test_ctrl_c_ends_it(tmp_path):
    write_script(tmp_path / "sleeper", """
        import os, time
        open("begun", "w").close()
        time.sleep(600)
    """)
    with subprocess.Popen([*command, "scale", "./sleeper"], cwd=tmp_path, text=True,
                          env=clean_environment(), stderr=subprocess.PIPE) as child:
        while not (tmp_path / "begun").exists():
            assert child.poll() is None
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=seconds)
    assert child.returncode == 130
    assert said == "selion scale: Interrupted; nothing is told of a part of the runs.\n"


@needs_module
def test_real_jobs_of_a_python_program(selion, tmp_path):
    (tmp_path / "meet.py").write_text("import selion\nselion.run(lambda world: world.barrier())\n")
    done = selion("scale", "-n", "1,2", "--repeat", "1", "--json", "meet.py")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["machine"], row["ranks"], row["clock"]) for row in rows] == [
        ("processes", 1, "real"), ("processes", 2, "real")]
    assert all(0 < row["time"] < seconds for row in rows)
