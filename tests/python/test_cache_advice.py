# SPDX-License-Identifier: Apache-2.0
"""selion cache-advice: what a program's accesses would have cost with other blocks."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from conftest import needs_module, write_script
from selion import cache_advice, native
from selion.cache_advice import Array, Costs, Space
from studying import where_is

pytestmark = needs_module

machine = "sim:crossbar,ranks=4"


@pytest.fixture(scope="module")
def program() -> str:
    return str(Path(where_is("test_advised")["SELION_BIN"]) / "test_advised")


def advice(selion, program: str, *arguments: str) -> list[dict]:
    done = selion("cache-advice", "--json", "-m", machine, program, *arguments)
    assert done.returncode == 0, done.stderr
    spaces = json.loads(done.stdout)["spaces"]
    assert spaces
    return spaces


def misses(array: dict) -> int:
    causes = ("cold", "invalidated", "false_sharing", "upgrades", "at_home")
    return sum(array[cause] for cause in causes)


def by_size(space: dict) -> dict[int, dict]:
    return {one["block_bytes"]: one for one in space["arrays"]}


def test_each_array_gets_the_blocks_that_it_wants(selion, program):
    counts, table = advice(selion, program, "40")
    assert (counts["number"], table["number"]) == (0, 1)
    assert counts["best_block_bytes"] == 8
    assert table["best_block_bytes"] >= 1024
    # Elements of four ranks lie in a block of 64 bytes, and nobody reads another one's.
    assert by_size(counts)[64]["false_sharing"] > 40
    assert by_size(counts)[8]["false_sharing"] == 0
    assert counts["worst"][0]["array"] == "counts"
    assert counts["worst"][0]["home"] == 0
    assert table["worst"] == []
    # Four ranks read 40 times 16 words, all but one rank over the wire: 80 blocks of 64 bytes.
    assert by_size(table)[64]["cold"] == 80 * 3
    assert by_size(table)[8]["cold"] == 640 * 3


def test_ranks_that_are_processes_leave_their_traces_too(selion, program):
    done = selion("cache-advice", "--json", "-m", "processes:2", program, "10")
    assert done.returncode == 0, done.stderr
    spaces = json.loads(done.stdout)["spaces"]
    assert [space["is_whole"] for space in spaces] == [True, True]
    assert all(space["misses"] > 0 for space in spaces)


def test_the_replay_of_a_run_has_its_misses(selion, program):
    for space in advice(selion, program, "40"):
        assert misses(by_size(space)[64]) == pytest.approx(space["misses"], rel=0.1)


@pytest.mark.parametrize("block_bytes", [8, 16, 512])
def test_runs_with_other_blocks_have_the_misses_that_were_replayed(selion, program, block_bytes,
                                                                   tmp_path):  # fmt: skip
    replayed = [misses(by_size(space)[block_bytes]) for space in advice(selion, program, "40")]
    folder = tmp_path / "traces"
    done = selion("run", "-m", machine, program, "40", SELION_CACHE_BLOCK=str(block_bytes),
                  SELION_CACHE_TRACE=str(folder))  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [int(count) for count in re.findall(r"(\d+) (?:misses )?of", done.stdout)]
    assert found[1] == replayed[1]  # nobody writes the table while it is read
    assert found[0] == pytest.approx(replayed[0], rel=0.25)  # others' turns come at other times
    assert [space.misses for space in cache_advice.replay(str(folder))] == found


def test_people_get_tables(selion, program):
    done = selion("cache-advice", "-m", machine, program, "40")
    assert done.returncode == 0, done.stderr
    assert "misses of counts" in done.stderr  # the program's own words
    assert re.search(r"^space 0 \(counts\): \d+ accesses of 4 ranks", done.stdout, re.M)
    assert re.search(r"^best: blocks of 8 bytes, [\d.]+ ms instead of [\d.]+$", done.stdout, re.M)
    assert re.search(r"^false sharing: \d+ misses in the block at byte 0 of counts, rank 0's part$",
                     done.stdout, re.M)  # fmt: skip


def test_nobody_waits(selion, program):
    alone = ("-m", "sim:crossbar,ranks=1", program, "4")
    done = selion("cache-advice", *alone)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^best: any, because nobody would have waited", done.stdout, re.M)
    assert "instead of" not in done.stdout
    done = selion("cache-advice", "--json", *alone)
    assert [one["best_block_bytes"] for one in json.loads(done.stdout)["spaces"]] == [None, None]


def test_traces_that_are_not_whole_are_no_ground_for_advice(selion, program, tmp_path):
    script = write_script(tmp_path / "cut", f"""
        import os, pathlib, subprocess
        subprocess.run([{program!r}, "4"], check=True)
        for trace in pathlib.Path(os.environ["SELION_CACHE_TRACE"]).iterdir():
            os.truncate(trace, trace.stat().st_size - 2)
        """)  # fmt: skip
    done = selion("cache-advice", "-m", machine, str(script))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Traces of '{script}' end in the middle: there may be no room in " in done.stderr


def test_what_was_given_up_is_missed_again(selion, program):
    """The replay knows `invalidate()`, and reads that wait for what another one has asked for."""
    assert by_size(advice(selion, program, "40")[1])[64]["cold"] == 80 * 3
    counts, table = advice(selion, program, "40", "forgetful")
    assert by_size(table)[512]["cold"] == 40 * 3
    for space in (counts, table):
        assert misses(by_size(space)[64]) == pytest.approx(space["misses"], rel=0.1)


def test_a_launcher_starts_ranks_of_the_machine_fabric(selion, tmp_path):
    """As `selion run` has them started; one that is named is not started by another."""
    write_script(tmp_path / "bin/mpirun", """
        import sys
        print("mpirun (Open MPI) 4.1.4", *sys.argv[1:], file=sys.stderr)
        """)  # fmt: skip
    for line in (("fabric:2", "ls", "4"), ("fabric", "mpirun", "ls", "4")):
        done = selion("cache-advice", "-m", *line, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        assert done.returncode == 2
        [said] = re.findall(r"^mpirun \(Open MPI\) 4.1.4 (.*ls 4)$", done.stderr, re.M)
        assert "mpirun" not in said


def test_a_program_that_fails(selion, program):
    done = selion("cache-advice", "-m", machine, program, "none")
    assert done.returncode == 1
    assert f"'{program}' ended with exit status 2." in done.stderr


def test_a_program_without_coherent_memory(selion, tmp_path):
    script = write_script(tmp_path / "nothing", "")
    done = selion("cache-advice", str(script))
    assert done.returncode == 2
    assert "has accessed no coherent memory: no cached array, no space." in done.stderr


def test_a_python_file_needs_no_python(selion, tmp_path):
    (tmp_path / "nothing.py").write_text("")
    done = selion("cache-advice", "nothing.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'nothing.py' has accessed no coherent memory" in done.stderr
    (tmp_path / "failing.py").write_text("raise SystemExit(3)")
    done = selion("cache-advice", "failing.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert "'failing.py' ended with exit status 3." in done.stderr


def test_blocks_from_the_environment_are_checked(selion, program):
    done = selion("run", "-m", machine, program, "4", SELION_CACHE_BLOCK="48")
    assert done.returncode == 2
    assert "SELION_CACHE_BLOCK=48 is not understood; it takes a power of two" in done.stderr


def test_blocks_from_the_environment_may_have_a_unit(selion, program):
    for size in ("4K", "4096"):
        done = selion("run", "-m", machine, program, "4", SELION_CACHE_BLOCK=size)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_trace_that_cannot_be_written(selion, program):
    done = selion("run", "-m", machine, program, "4", SELION_CACHE_TRACE="/proc/nowhere")
    assert done.returncode != 0
    assert "the trace /proc/nowhere/run-1-space-0-rank-" in done.stderr
    assert "cannot be written" in done.stderr


def run_with(block_bytes: int, messages: int, moved_bytes: int, waited_ps: int) -> list[Space]:
    array = Array("a", block_bytes, 10, 10, 10, 0, 0, 0, 0, messages, moved_bytes)
    return [Space(1, 0, 4, block_bytes, 10, waited_ps, 0, True, [array], [])]


def test_an_array_whose_name_is_no_text(tmp_path):
    """Written as src/coherence/trace_format.hpp says: a rank that reads one word of the array."""
    head = bytes([0, 1, 1, 0, 64, 64, 64])  # rank, ranks, run, space, block, offset, bytes
    name = b"Gr\xfc\xdf"
    array = bytes([2, 64, 64, len(name)]) + name
    access = bytes([0, 0x80, 1, 8, 0])
    totals = bytes([5, 0, 0, 0])
    (tmp_path / "run-1-space-0-rank-0.trace").write_bytes(
        b"selion access trace 2\n" + head + array + access + totals)
    [space] = native.load().replay_accesses(str(tmp_path), [])
    assert [one["array"] for one in space["arrays"]] == ["Gr\ufffd\ufffd"]


def test_costs_are_fitted_on_both_runs():
    costs = cache_advice.costs_of([run_with(64, 100, 6400, 100 * 300 + 6400 * 2),
                                   run_with(1024, 20, 20480, 20 * 300 + 20480 * 2)])  # fmt: skip
    assert costs.message_ps == pytest.approx(300)
    assert costs.byte_ps == pytest.approx(2)


def test_no_cost_is_negative():
    # Larger blocks have waited less for each message.
    costs = cache_advice.costs_of([run_with(64, 100, 6400, 30000),
                                   run_with(1024, 100, 102400, 29000)])  # fmt: skip
    assert costs == Costs(message_ps=295, byte_ps=0)
