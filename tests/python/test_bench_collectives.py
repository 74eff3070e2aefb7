# SPDX-License-Identifier: Apache-2.0
"""`selion bench collectives`: without its peers, with stand-ins for them, and how it refuses."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from conftest import Selion, needs_module, root, write_script
from selion import native, places
from selion.mistake import Failure

sys.path.insert(0, str(root / "bench"))
from collectives import plan, report  # noqa: E402
from collectives.peers import all_peers  # noqa: E402

# Prints what the true one prints, in no time. FAKE_FAULT: how to go wrong.
_fake = """
    import json, os, sys
    fault = os.environ.get("FAKE_FAULT", "")
    if fault == "exit":
        sys.exit("no memory")
    for operation in ("barrier", "broadcast 64 KiB"):
        print(json.dumps({"operation": operation, "contestant": "CONTESTANT", "ns": [40, 50, 60]}))
    if fault != "cut":
        print(json.dumps({"complete": True}))
    sys.exit(STATUS)
"""


def fake(contestant: str, status: int = 0) -> str:
    return _fake.replace("CONTESTANT", contestant).replace("STATUS", str(status))


class Programs:
    """A folder with a stand-in for Selion's program, and a search path on which no peer is."""

    def __init__(self, folder: Path, selion: Selion) -> None:
        self.path = folder / "path"
        self.path.mkdir()
        self.rows_file = folder / "rows.jsonl"
        self._folder = folder
        self._selion = selion
        write_script(folder / "bin" / plan.program, fake("selion"))

    def add_peer(self, program: str, starters: list[str], text: str) -> None:
        """A peer that is built already, with the programs that it needs."""
        for name in starters:
            write_script(self.path / name, "import os, sys\nos.execv(sys.argv[-5], sys.argv[-5:])")
        write_script(self._folder / "bench_peers" / program, text)

    def run(self, *arguments: str, **changes: str):
        changes = {"SELION_BIN": str(self._folder / "bin"), "PATH": str(self.path), **changes}
        return self._selion("bench", "collectives", "--json", str(self.rows_file), *arguments,
                            **changes)

    def rows(self) -> list[dict]:
        return [json.loads(line) for line in self.rows_file.read_text().splitlines()][1:]


@pytest.fixture
def programs(tmp_path: Path, selion: Selion) -> Programs:
    return Programs(tmp_path, selion)


def test_without_peers_selion_is_measured_and_they_are_named(programs):
    done = programs.run("--quick", "--ranks", "2,16")
    assert done.returncode == 0, done.stderr
    for sentence in ("Open MPI is not installed (mpicxx.openmpi is missing): "
                     "apt-get install openmpi-bin libopenmpi-dev.",
                     "apt-get install mpich libmpich-dev.",
                     "OpenSHMEM is not installed (oshc++ is missing): apt-get install openmpi-bin",
                     "libgomp is not installed (c++ is missing): apt-get install g++."):
        assert sentence in done.stdout
    assert {(row["contestant"], row["ranks"]) for row in programs.rows()} == {
        (f"{kind}:{ranks}{memory}", ranks) for kind in ("threads", "processes")
        for ranks in (2, 16) for memory in ("", ", symmetric")}
    assert "| barrier | threads:2 | 40 ns |  |" in done.stdout


def test_a_peer_is_compared_also_if_it_falls_over_its_end(programs):
    programs.add_peer("collectives_openshmem", ["oshc++", "oshrun"], fake("OpenSHMEM", status=139))
    done = programs.run("--quick", "--ranks", "2", "--repeat", "2")
    assert done.returncode == 0, done.stderr
    assert "| barrier | threads:2 | 40 ns | 40 ns | 1.00 (1.00 to 1.00, 2) of OpenSHMEM |" \
        in done.stdout
    assert "| barrier | threads:2 | 1.00 (1.00 to 1.00, 2) of OpenSHMEM | 1 | yes |" in done.stdout
    assert "0.83 | **no** |" in done.stdout


def test_of_a_peer_that_fails_the_rest_is_kept(programs):
    programs.add_peer("collectives_openshmem", ["oshc++", "oshrun"],
                      fake("OpenSHMEM", status=3).replace('fault != "cut"', "False"))
    done = programs.run("--quick", "--ranks", "2")
    assert done.returncode == 0, done.stderr
    assert "OpenSHMEM, 2 ranks: ended with status 3 before all was measured." in done.stdout
    assert "OpenSHMEM" in {row["contestant"] for row in programs.rows()}


@pytest.mark.parametrize(("fault", "words"), [
    ("exit", "ended with status 1 before all was measured\nno memory"),
    ("cut", "ended with status 0 before all was measured")])
def test_a_failure_of_selion_ends_the_run_with_its_words(programs, fault, words):
    done = programs.run("--quick", "--ranks", "2", FAKE_FAULT=fault)
    assert done.returncode == 1 and words in done.stderr


def test_a_peer_that_cannot_be_built_is_told(programs):
    write_script(programs.path / "oshrun", "")
    write_script(programs.path / "oshc++", "import sys; sys.exit('x.cpp: error: no shmem.h')")
    done = programs.run("--quick", "--ranks", "2")
    assert done.returncode == 0, done.stderr
    assert "oshc++ could not build openshmem.cpp: x.cpp: error: no shmem.h." in done.stdout


# Tells how many programs compute that its parent has started, as the time that it has measured.
_counts_busy = """
    import json, os
    from pathlib import Path

    def is_busy(process):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            return parent == os.getppid() and b"while True" in (process / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            return False

    busy = sum(map(is_busy, Path("/proc").glob("[0-9]*")))
    print(json.dumps({"operation": "barrier", "contestant": "selion", "ns": [busy] * 3}))
    print(json.dumps({"complete": True}))
"""


def test_beside_busy_programs(programs, tmp_path):
    write_script(tmp_path / "bin" / plan.program, _counts_busy)
    done = programs.run("--quick", "--ranks", "2", "--busy", "3")
    assert done.returncode == 0, done.stderr
    assert {row["median_ns"] for row in programs.rows()} == {3}
    assert "busy programs: 3" in done.stdout
    assert "| met |" not in done.stdout  # no goal is for a host that is busy


# Tells by which table it goes, and what else of Selion it is told.
_tells_settings = """
    import json, os
    told = {key: value for key, value in os.environ.items() if key.startswith("SELION_")}
    print(json.dumps({"operation": "barrier", "contestant": "selion", "ns": [1], "told": told}))
    print(json.dumps({"complete": True}))
"""


_digest = hashlib.sha256(b"a table").hexdigest()[:12]


@needs_module
@pytest.mark.parametrize(("given", "used", "noted"), [
    ({}, "off", "none"),
    ({"SELION_TUNING": "other.json", "SELION_METERS": "1"}, "other.json", _digest),
])
def test_only_a_table_that_is_named_counts(programs, tmp_path, given, used, noted):
    """One that was once tuned here would make figures of this host others than of another."""
    write_script(tmp_path / "bin" / plan.program, _tells_settings)
    usual = tmp_path / "selion" / Path(native.load().tuning_path_in_use()).name
    usual.parent.mkdir()
    usual.write_text("what was tuned here")
    (tmp_path / "other.json").write_text("a table")
    done = programs.run("--quick", "--ranks", "2", XDG_CACHE_HOME=str(tmp_path), **given)
    assert done.returncode == 0, done.stderr
    header, *rows = map(json.loads, programs.rows_file.read_text().splitlines())
    assert (header["tuning"], header["knobs"]) == (noted, {"SELION_TUNING": used})
    assert {tuple(row["told"]) for row in rows} == {("SELION_TUNING", "SELION_MACHINE")}
    assert {row["told"]["SELION_TUNING"] for row in rows} == {used}


@pytest.mark.parametrize(("arguments", "words"), [
    (("collectives", "--ranks", "1"), "'1' is not a list of whole numbers from 2 to 1024"),
    (("collectives", "--ranks", "2,many"), "'2,many' is not a list of whole numbers"),
    (("collectives", "--processors", "4096"), "4096 processors are wanted, and "),
    (("collectives", "--busy", "-1"), "'-1' is no value of '--busy'"),
    (("collectives", "--svg", "x"), "--svg is not an option of 'collectives'; legal: --quick"),
    (("simulator", "--ranks", "2"), "--ranks is not an option of 'simulator'; legal: --quick"),
    (("collectives", "--json", "nowhere/rows"), "nowhere/rows cannot be written: No such file"),
])
def test_bad_arguments(programs, selion, tmp_path, arguments, words):
    write_script(tmp_path / "bin" / "bench_simulator", "")
    done = selion("bench", *arguments, SELION_BIN=str(tmp_path / "bin"))
    assert done.returncode == 2 and done.stdout == ""
    assert words in " ".join(done.stderr.split())


def test_an_operation_that_is_not_there(programs):
    done = programs.run("--only", "bcast")
    assert done.returncode == 1 and "there are: barrier, broadcast 8 B, all_reduce" in done.stderr


def test_a_program_that_is_not_built(programs, tmp_path):
    (tmp_path / "bin" / plan.program).unlink()
    done = programs.run("--quick")
    assert done.returncode == 1 and "'bench_collectives' was not found" in done.stderr


# --- figures --------------------------------------------------------------------------------------


def row(contestant: str, ns: float, operation: str = "barrier", turn: int = 0,
        signal_ns: float = 150) -> dict:
    return {"contestant": contestant, "operation": operation, "ranks": 2, "round": turn,
            "is_selion": ":" in contestant, "typical_ns": ns, "signal_ns": [signal_ns, signal_ns]}


def test_ratios_are_taken_within_rounds_and_of_the_best_peer():
    rows = [row("threads:2", 100), row("threads:2", 400, turn=1), row("MPICH", 200),
            row("MPICH", 800, turn=1), row("libgomp", 900), row("bare counter", 80)]
    [contest] = report.contests(rows)
    own = contest.selion["threads:2"]
    assert report.best(own, contest.peers) == "MPICH" and list(contest.limits) == ["bare counter"]
    share = report.ratio(own, contest.peers["MPICH"])
    assert (share.median, share.n) == (0.5, 2)


def test_a_goal_stands_also_if_the_quickest_had_no_round_with_selion():
    rows = [row("threads:2", 100, turn=1), row("MPICH", 10), row("libgomp", 50, turn=1),
            row("bare counter", 10), row("bare flag each", 50, turn=1)]
    found = report.contests(rows)
    goal = {"operations": ["barrier"], "ranks": 2, "most_of_peer": 1}
    [line] = report.goal_table(found, [goal])[2:]
    assert line.endswith("| 2.00 (2.00 to 2.00, 1) of libgomp | 1 | **no** |")
    assert report.peer_table(found, 2)[-1].endswith("| 2.00 (2.00 to 2.00, 1) of libgomp |")
    [line] = report.limit_table(found)[2:]
    assert line.endswith("| bare flag each | 50 ns | 2.00 (2.00 to 2.00, 1) |")


def test_a_goal_of_two_is_met_by_either():
    goal = {"operations": ["broadcast 1 MiB"], "ranks": 2, "most_of_peer": 0.8,
            "most_of_limit": 1.1}
    rows = [row("threads:2", 100, "broadcast 1 MiB"), row("MPICH", 110, "broadcast 1 MiB")]
    for copy_ns, verdict in ((95, "yes"), (80, "**no**")):
        copied = row("copy of dirty data", copy_ns, "copy 1 MiB")
        [line] = report.goal_table(report.contests([*rows, copied]), [goal])[2:]
        assert line.endswith(f"| 0.8 or 1.1 | {verdict} |")


def test_rows_of_another_distance_are_left_out():
    rows = [row("threads:2", 100), row("MPICH", 100), row("libgomp", 30, signal_ns=50)]
    kept, sentence = report.comparable(rows)
    assert len(kept) == 2 and sentence.startswith("far (2 of 3 rows")
    assert report.distance({"signal_ns": [150, 50]}) == "moved"
    assert report.comparable([])[0] == []


def test_rows_during_which_the_cores_moved_are_compared_with_nothing():
    moved = [{**row("threads:2", 100, turn=turn), "signal_ns": [150, 50]} for turn in range(3)]
    near = [row(name, 100, signal_ns=50) for name in ("threads:2", "MPICH")]
    kept, sentence = report.comparable([*moved, *near])
    assert kept == near and sentence.startswith("near (2 of 5 rows")
    assert report.comparable(moved) == ([], (
        "moved during each of 3 rows, which can be compared with nothing; no goal is judged"))


def test_who_does_not_yield_runs_once_where_ranks_share_a_processor():
    scope = plan.Scope(Path("bin"), Path("peers"), list(all_peers))
    taking_part = {turn: [heat.name for heat in plan.heats(scope, 64, turn)] for turn in (0, 1)}
    assert "MPICH" in taking_part[0] and "MPICH" not in taking_part[1]
    assert "MPICH" in [heat.name for heat in plan.heats(scope, 2, 1)]


# --- the program itself ---------------------------------------------------------------------------


@pytest.fixture
def built() -> Path:
    """Folder of the programs, which builds that are for testing do not make."""
    try:
        found = places.study_program(plan.program).parent
    except Failure as failure:
        pytest.skip(str(failure))
    if not (found / plan.program).exists():
        pytest.skip(f"{found} has no {plan.program}")
    return found


def test_a_small_run(programs, built, tmp_path):
    """In a folder of its own: the peers' programs would be put beside those of the build."""
    (tmp_path / "bin" / plan.program).unlink()
    (tmp_path / "bin" / plan.program).symlink_to(built / plan.program)
    done = programs.run("--quick", "--ranks", "2,3")
    assert done.returncode == 0, done.stderr
    for ranks in (2, 3):
        own = [row["operation"] for row in programs.rows()
               if row["contestant"] == f"processes:{ranks}"]
        assert sorted(own) == sorted(plan.operations)
    assert all(row["typical_ns"] > 0 for row in programs.rows())
