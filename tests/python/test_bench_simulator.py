# SPDX-License-Identifier: Apache-2.0
"""`selion bench simulator`: what it runs, what it makes of the lines, how it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

from conftest import Selion, root, write_script
from selion import places
from selion.mistake import Failure

sys.path.insert(0, str(root / "bench"))
from simulator import curve, figures, plan, tables  # noqa: E402

# Prints what the true ones print, in no time. FAKE_SECONDS: what everything takes.
_fake = """
    import json, os, sys
    mode = sys.argv[1]
    numbers = dict(one.split("=") for one in sys.argv[2:] if "=" in one and one[0] != "-")
    seconds = float(os.environ.get("FAKE_SECONDS", 1e-7))
    print(json.dumps({{"operation": mode, "contestant": "{contestant}", "seconds": seconds,
                      "cpu_seconds": seconds / 2, "cycles_per_second": 1 / seconds}}))
"""


class Programs:
    """A folder with stand-ins for the programs of the benchmark."""

    def __init__(self, folder: Path, selion: Selion) -> None:
        self.folder = folder
        self.rows_file = folder / "rows.jsonl"
        self._selion = selion
        for name in ("bench_simulator", "bench_mesh", "em3d"):
            self.add(name, "selion")

    def add(self, name: str, contestant: str) -> None:
        write_script(self.folder / "bin" / name, _fake.format(contestant=contestant))

    def run(self, *arguments: str, **changes: str):
        # No package is found in an empty folder, whatever is installed on this host.
        changes = {"PKG_CONFIG_LIBDIR": str(self.folder), "PKG_CONFIG_PATH": "", **changes}
        return self._selion("bench", "simulator", "--json", str(self.rows_file), *arguments,
                            SELION_BIN=str(self.folder / "bin"), **changes)

    def rows(self) -> list[dict]:
        return [json.loads(line) for line in self.rows_file.read_text().splitlines()][1:]


@pytest.fixture
def programs(tmp_path: Path, selion: Selion) -> Programs:
    return Programs(tmp_path, selion)


def test_every_operation_is_measured(programs):
    done = programs.run("--quick", "--most-ranks", "1000")
    assert done.returncode == 0, done.stderr
    own = [(row["operation"], row["ranks"]) for row in programs.rows()
           if row["contestant"] == "selion"]
    assert sorted(own) == sorted([
        ("ping-pong", 2), ("ring", 1000), ("barrier", 1000), ("em3d", 1000),
        ("mesh traffic", 16), ("mesh traffic", 64),
        *(("messages", size) for size in (10, 100, 1000)),
        *(("events", size) for size in (10, 100, 1000))])
    for row in programs.rows():
        assert "trouble" in row or row["process_seconds"] > 0 < row["most_bytes"]


def test_without_simgrid_the_rows_say_so(programs):
    done = programs.run("--quick", "--only", "ping")
    sentence = "SimGrid is not installed: apt-get install libsimgrid-dev"
    assert done.stdout.count(sentence) == 2  # S4U and SMPI
    assert [row["trouble"] for row in programs.rows() if row["contestant"] != "selion"] == [
        sentence, sentence]


def test_simgrid_that_came_after_the_build(programs):
    (programs.folder / "simgrid.pc").write_text("Name: SimGrid\nDescription: -\nVersion: 3\n")
    done = programs.run("--quick", "--only", "ring")
    assert "bench_simgrid is not built, although SimGrid is installed: build again" in done.stdout


def test_a_rival_is_compared_in_the_same_repetition(programs):
    programs.add("bench_simgrid", "SimGrid")
    done = programs.run("--quick", "--only", "ping", "--repeat", "3")
    assert "| SimGrid | 20,000,000/s | 1.000 (1.000 to 1.000, 3) |" in done.stdout
    repetitions = [row["repetition"] for row in programs.rows() if row["contestant"] == "selion"]
    assert repetitions == [0, 1, 2]


@pytest.mark.parametrize(("seconds", "verdict"), [("4e-7", "yes"), ("6e-7", "**no**")])
def test_goals_are_judged(programs, seconds, verdict):
    done = programs.run("--quick", "--only", "ping", FAKE_SECONDS=seconds)
    [line] = [line for line in done.stdout.splitlines() if "at least 2,000,000/s" in line]
    assert line.endswith(f"| {verdict} |")


def test_a_rival_that_fails_is_told_and_the_rest_goes_on(programs):
    write_script(programs.folder / "bin" / "bench_simgrid", "import os; os.abort()")
    done = programs.run("--quick", "--only", "ping")
    assert done.returncode == 0
    assert "| SimGrid | ended by SIGABRT | |" in done.stdout


def test_a_failure_of_selion_ends_the_run_with_its_words(programs):
    write_script(programs.folder / "bin" / "bench_simulator", "import sys; sys.exit('no memory')")
    done = programs.run("--quick", "--only", "ping")
    assert done.returncode == 1
    assert "bench_simulator ping_pong rounds=100000: ended with status 1\nno memory" in done.stderr


def test_a_line_that_is_not_json_is_a_failure(programs):
    write_script(programs.folder / "bin" / "bench_simulator", "print('hello')")
    done = programs.run("--quick", "--only", "ping")
    assert done.returncode == 1 and "did not print one line of JSON" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("simulators",), "legal: operations, network, simulator, collectives, offload, python."),
        (("--quick",), "These options need the name of a benchmark"),
        (("simulator", "--repeat", "0"), "'--repeat'"),
        (("simulator", "--most-ranks", "few"), "'--most-ranks'"),
        (("simulator", "--json", "nowhere/rows"), "nowhere/rows cannot be written: No such file"),
    ],
)
def test_bad_arguments(programs, selion, arguments, words):
    done = selion("bench", *arguments, SELION_BIN=str(programs.folder / "bin"))
    assert done.returncode == 2 and done.stdout == ""
    assert words in done.stderr


def test_an_operation_that_is_not_there(programs):
    done = programs.run("--only", "ping pong")
    assert done.returncode == 1 and "there are: ping-pong, ring, barrier, messages" in done.stderr
    assert not programs.rows_file.exists()


@pytest.mark.parametrize(("only", "most", "least"), [("", 1, 2), ("ring", 999, 1000)])
def test_nothing_is_left_of_few_ranks(programs, only, most, least):
    chosen = ("--only", only) if only else ()
    done = programs.run("--quick", *chosen, "--most-ranks", str(most))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"Nothing is left of at most {most} ranks; legal is --most-ranks "
                           f"{least} or more\n")


@pytest.mark.parametrize("wanted", [("--only", "ping-pong"),
                                    ("--only", "messages", "--most-ranks", "10")])
def test_there_is_nothing_to_draw(programs, tmp_path, wanted):
    done = programs.run("--quick", "--svg", "curve.svg", *wanted)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("There is nothing to draw; legal with --svg are messages and events, of "
                           "two sizes or more\n")
    assert not (tmp_path / "curve.svg").exists() and not programs.rows_file.exists()


def test_a_curve_is_drawn(programs, tmp_path):
    done = programs.run("--quick", "--svg", "curve.svg", "--only", "events")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "curve.svg").read_text().startswith("<svg ")


def test_programs_that_are_not_built(programs):
    (programs.folder / "bin" / "bench_mesh").unlink()
    done = programs.run("--quick")
    assert done.returncode == 1 and "has no bench_mesh; build with" in done.stderr
    (programs.folder / "bin" / "bench_simulator").unlink()
    done = programs.run("--quick")
    assert done.returncode == 1 and "'bench_simulator' was not found" in done.stderr


def test_without_a_name_the_benchmarks_are_listed(selion):
    done = selion("bench")
    assert done.returncode == 0 and done.stdout.startswith("operations: ")
    assert "\ncollectives: " in done.stdout


# --- figures --------------------------------------------------------------------------------------


def rows_of_curve(operation: str, ns: dict[int, float], share: float = 1) -> list[dict]:
    return [{"operation": operation, "contestant": "selion", "ranks": size, "repetition": 0,
             "seconds": time * 1e-9 / share, "cpu_seconds": time * 1e-9}
            for size, time in ns.items()]


@pytest.mark.parametrize(("ns", "verdict"), [({10: 10, 100: 20, 1000: 30}, "yes"),
                                             ({10: 10, 100: 29, 1000: 44}, "yes"),
                                             ({10: 10, 100: 31, 1000: 33}, "**no**")])
def test_a_curve_is_held_against_the_logarithm(ns, verdict):
    curves = figures.figures(rows_of_curve("events", ns, share=0.25))
    [line] = tables.goal_table(curves, [{"figure": "events", "most_growth": 1.5}])[2:]
    assert line.startswith("| events, growth over log | 10 to 1,000 | ")
    assert line.endswith(f"| {verdict} |")


def test_a_rate_of_a_share_of_a_processor_is_less_than_of_a_whole_one():
    [rate] = figures.figures([{"operation": "ping-pong", "contestant": "selion", "ranks": 2,
                               "repetition": 0, "seconds": 1e-6, "cpu_seconds": 0.5e-6}])
    assert (rate.own.median, rate.quiet()) == (1e6, 2e6)
    [time] = figures.figures(rows_of_curve("barrier", {10: 5.0}, share=0.5))
    assert (round(time.own.median * 1e9), round(time.quiet() * 1e9)) == (10, 5)


def test_a_process_has_the_processors_share_of_the_whole_process():
    row = {"contestant": "selion", "ranks": 1000, "repetition": 0, "most_bytes": 1e6,
           "process_seconds": 8.0, "process_cpu_seconds": 2.0}
    within = {"seconds": 1e-6, "cpu_seconds": 1e-6}
    for operation, more in (("ring", within), ("em3d", {})):
        process, memory = figures.figures([{**row, **more, "operation": operation}])
        assert (process.own.median, process.quiet(), memory.quiet()) == (8.0, 2.0, 1e6)


def test_less_than_one_means_that_selion_is_faster():
    def row(contestant: str, seconds: float, **more) -> dict:
        return {"contestant": contestant, "ranks": 2, "repetition": 0, "seconds": seconds,
                "cpu_seconds": seconds, **more}

    for operation in ("ping-pong", "barrier"):
        [figure] = figures.figures([row("selion", 1, operation=operation),
                                    row("SMPI", 4, operation=operation)])
        assert figure.ratios("SMPI").median == 0.25


def test_the_curve_is_drawn_with_its_reference():
    curves = figures.figures([*rows_of_curve("events", {10: 30, 1000: 90}),
                              *rows_of_curve("messages", {10: 300, 1000: 1000})])
    drawn = xml.etree.ElementTree.fromstring(curve.draw(curves, "a command & its options"))
    kinds = [element.tag.rpartition("}")[2] for element in drawn]
    assert kinds.count("circle") == 4
    dashed = [element for element in drawn if element.get("stroke-dasharray")]
    assert len(dashed) == 3  # of each curve, and of the legend
    assert curve.draw(curves[:1], "") == ""


@pytest.mark.parametrize(("value", "text"), [(1.5, "1.5 s"), (0.0123, "12.3 ms"),
                                             (2.5e-6, "2.5 µs"), (3.1e-8, "31 ns")])
def test_times_have_units(value, text):
    assert figures.seconds_text(value) == text


def test_large_jobs_are_left_out_where_asked():
    sizes = {heat.ranks for heat in plan.heats(plan.Scale(most_ranks=1000))}
    assert max(sizes) == 1000
    assert max(heat.ranks for heat in plan.heats(plan.Scale(quick=True))) == 10_000
    assert max(heat.ranks for heat in plan.heats(plan.Scale())) == 100_000


# --- the programs themselves ----------------------------------------------------------------------


@pytest.fixture
def built() -> Path:
    """Folder of the programs, which builds that are for testing do not make."""
    try:
        found = places.study_program("bench_simulator").parent
    except Failure as failure:
        pytest.skip(str(failure))
    if not (found / "bench_simulator").exists() or not (found / "bench_mesh").exists():
        pytest.skip(f"{found} has no benchmarks")
    return found


@pytest.mark.parametrize(
    "operation", ["ping-pong", "ring", "barrier", "messages", "events", "mesh traffic"])
def test_a_small_run(selion, tmp_path, built, operation):
    done = selion("bench", "simulator", "--quick", "--most-ranks", "1000", "--only", operation,
                  "--json", "rows", SELION_BIN=str(built))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "rows").read_text().splitlines()[1:]]
    own = [row for row in rows if row["contestant"] == "selion"]
    assert own
    for row in own:
        assert 0 < row["seconds"] <= row["process_seconds"]
        assert row["most_bytes"] > 0
    for row in rows:
        assert "trouble" not in row or "SimGrid is" in row["trouble"], row


@pytest.mark.parametrize(("arguments", "words"), [
    ((), "Legal: ping_pong, ring, barrier, messages, events"),
    (("rings",), "there is no mode 'rings'"),
    (("ring", "ranks=1"), "ranks is '1'; legal: a whole number from 2 on"),
    (("ring", "ranks=10k"), "ranks is '10k'; legal: a whole number from 2 on"),
    (("ring", "rank=5"), "'rank=5' is none of ranks="),
    (("ring", "ranks=4294967298"), "4294967298"),
])
def test_the_program_refuses_what_it_does_not_know(built, arguments, words):
    done = subprocess.run([built / "bench_simulator", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and words in done.stderr


@pytest.mark.parametrize("argument", ["rows=1.5", "rows=100000", "columns=0", "load=1", "cycles=0",
                                      "cycles=1e30", "seed=-1", "cycles=few", "cycle=1"])
def test_the_mesh_refuses_what_it_cannot_do(built, argument):
    done = subprocess.run([built / "bench_mesh", argument], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert f'bench_mesh: "{argument}" is none of rows=, columns= (1 to 1024)' in done.stderr


def test_a_mesh_on_which_nothing_is_sent_has_figures(built):
    done = subprocess.run([built / "bench_mesh", "cycles=1", "load=0.0001"], capture_output=True,
                          text=True)
    row = json.loads(done.stdout)
    assert (done.returncode, row["transactions"], row["mean_latency_cycles"]) == (0, 0, 0)
