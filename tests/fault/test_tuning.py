# SPDX-License-Identifier: Apache-2.0
"""A tuning table is used by all ranks alike; one that is of no use is told, ignored, and kept."""

from __future__ import annotations

import json
import os

import pytest
from jobs import run

machines = ("threads:2", "processes:2", "processes:2x2", "threads:4@2")
kinds = {"threads:2": "threads", "processes:2": "processes", "processes:2x2": "hybrid",
         "threads:4@2": "fibers"}


def host() -> str:
    """What tables call this host."""
    return run("tuned", "place").out.strip()


def write(path, rows: list[str], of_host: str | None = None) -> None:
    name = host() if of_host is None else of_host
    check = 0xCBF29CE484222325
    for byte in "\n".join([name, *rows]).encode():
        check = (check ^ byte) * 0x100000001B3 % 2**64
    table = {"format": "selion tuning 1", "host": name, "rows": rows, "check": f"{check:016x}"}
    path.write_text(json.dumps(table, indent=1) + "\n")


def rows_for(machine: str, *ways: str) -> list[str]:
    ranks = 2 if machine in ("threads:2", "processes:2") else 4
    ended = " ".join(f"{way}={100 + place}" for place, way in enumerate(ways))
    return [f"{what} {kinds[machine]} {ranks} {size} {ended}"
            for what in ("all_reduce", "broadcast", "reduce", "barrier") for size in (64, 65536)]


def said(outcome, ranks: int) -> set[str]:
    """What all ranks say of the choice."""
    assert outcome.status == 0, outcome.err
    lines = outcome.out.rstrip("\n").split("\n")
    assert len(lines) == ranks
    return {line.partition(": ")[2] for line in lines}


def ranks_of(machine: str) -> int:
    return 2 if machine in ("threads:2", "processes:2") else 4


@pytest.mark.parametrize("machine", machines)
@pytest.mark.parametrize("way", ["board", "slots", "lines:k_nomial:2", "messages:k_nomial:2"])
def test_all_ranks_go_the_way_of_the_table(tmp_path, machine, way):
    table = tmp_path / "table.json"
    write(table, rows_for(machine, way))
    outcome = run("tuned", "all_reduce", "64", machine=machine, SELION_TUNING=str(table))
    assert said(outcome, ranks_of(machine)) == {f"{way}, tuned, of 1"}
    assert outcome.err == ""


def test_long_blocks_where_processes_cannot_read_each_other():
    """They are copied twice then, whatever the built-in rule and the program say."""
    for what in ("gather", "all_gather", "scatter", "exchange"):
        outcome = run("tuned", what, "65536", machine="processes:2", SELION_PROCESS_MEMORY="off")
        assert said(outcome, 2) == {"slots, rule, of 0"}, what
    assert said(run("tuned", "gather", "65536", machine="threads:2"), 2) == {"direct, model, of 0"}


@pytest.mark.parametrize("size, is_tuned", [
    (8, True), (16, True), (112, True), (448, False), (2047, False), (2048, True),
    (32768, True), (131072, True), (131073, False), (1 << 20, False)])
def test_sizes_that_a_short_search_has_left_out_are_the_models(tmp_path, size: int,
                                                               is_tuned: bool):
    """A way of short blocks may be the slowest one of long blocks."""
    table = tmp_path / "table.json"
    write(table, [f"all_reduce threads 2 {row} lines:k_nomial:2=100" for row in (112, 32768)])
    outcome = run("tuned", "all_reduce", str(size), machine="threads:2", SELION_TUNING=str(table))
    [told] = said(outcome, 2)
    assert (told == "lines:k_nomial:2, tuned, of 1") == is_tuned, told
    assert is_tuned or told.endswith(", model, of 0"), told


def test_beyond_the_longest_that_is_measured_it_counts(tmp_path):
    table = tmp_path / "table.json"
    write(table, ["all_reduce threads 2 1048576 lines:k_nomial:2=100"])
    outcome = run("tuned", "all_reduce", str(9 << 20), machine="threads:2",
                  SELION_TUNING=str(table))
    assert said(outcome, 2) == {"lines:k_nomial:2, tuned, of 1"}


@pytest.mark.parametrize("machine", machines)
def test_what_changes_sums_or_is_impossible_is_passed_over(tmp_path, machine):
    table = tmp_path / "table.json"
    write(table, rows_for(machine, "lines:chain", "lines:binary", "board", "slots"))
    for size, way in (("64", "board"), ("4096", "slots")):
        outcome = run("tuned", "all_reduce", size, machine=machine, SELION_TUNING=str(table))
        assert said(outcome, ranks_of(machine)) == {f"{way}, tuned, of 4"}
    outcome = run("tuned", "broadcast", "64", machine=machine, SELION_TUNING=str(table))
    assert said(outcome, ranks_of(machine)) == {"lines:chain, tuned, of 4"}


def test_a_folder_of_the_user_holds_the_usual_one(tmp_path):
    folder = tmp_path / "selion"
    folder.mkdir()
    write(folder / f"tuning-{host()}.json", rows_for("threads:2", "lines:k_nomial:2"))
    usual = {"XDG_CACHE_HOME": str(tmp_path)}
    outcome = run("tuned", "all_reduce", "64", machine="threads:2", **usual)
    assert said(outcome, 2) == {"lines:k_nomial:2, tuned, of 1"}
    without = {**usual, "SELION_TUNING": "off"}
    outcome = run("tuned", "all_reduce", "64", machine="threads:2", **without)
    assert said(outcome, 2) == {said_untuned("threads:2")}


def test_simulated_machines_have_none(tmp_path):
    table = tmp_path / "table.json"
    write(table, rows_for("threads:2", "lines:k_nomial:2"))
    outcome = run("tuned", "all_reduce", "64", machine="sim:this-host", SELION_TUNING=str(table))
    assert outcome.status == 0 and "tuned" not in outcome.out


def said_untuned(machine: str) -> str:
    outcome = run("tuned", "all_reduce", "64", machine=machine, SELION_TUNING="off")
    [sentence] = said(outcome, ranks_of(machine))
    assert sentence.endswith((", rule, of 0", ", model, of 0"))
    return sentence


damages = {
    "cut": lambda text: text[: len(text) // 2],
    "changed": lambda text: text.replace("=100", "=101"),
    "empty": lambda text: "",
    "other": lambda text: "hello\n",
}


@pytest.mark.parametrize("machine", ("threads:2", "processes:2"))
@pytest.mark.parametrize("damage", damages)
def test_a_damaged_table_is_told_ignored_and_kept(tmp_path, machine, damage):
    table = tmp_path / "table.json"
    write(table, rows_for(machine, "lines:k_nomial:2"))
    table.write_text(damages[damage](table.read_text()))
    before = table.read_bytes()
    outcome = run("tuned", "all_reduce", "64", machine=machine, SELION_TUNING=str(table))
    assert said(outcome, 2) == {said_untuned(machine)}
    [sentence] = outcome.sentences()
    assert sentence.startswith(f"warning: the tuning file {table} is damaged")
    assert sentence.endswith("it is ignored")
    assert table.read_bytes() == before


@pytest.mark.parametrize("machine", ("threads:2", "processes:2"))
def test_a_table_of_another_host_or_none_is_told(tmp_path, machine):
    table = tmp_path / "table.json"
    write(table, rows_for(machine, "lines:k_nomial:2"), of_host="f" * 16)
    for named, why in ((table, "was measured on another host"),
                       (tmp_path / "absent.json", "cannot be opened (No such file or directory)")):
        outcome = run("tuned", "all_reduce", "64", machine=machine, SELION_TUNING=str(named))
        assert said(outcome, 2) == {said_untuned(machine)}
        [sentence] = outcome.sentences()
        assert why in sentence and str(named) in sentence


@pytest.mark.parametrize("machine", ("threads:2", "processes:2"))
def test_what_no_table_can_be_is_told_at_once(tmp_path, machine):
    """A pipe that nobody writes to, a device without an end, a folder, and what is too long."""
    pipe, folder, long = (tmp_path / name for name in ("pipe", "folder", "long"))
    os.mkfifo(pipe)
    folder.mkdir()
    with long.open("wb") as file:
        file.truncate(17 << 20)
    for named, why in ((pipe, "is no ordinary file"), ("/dev/zero", "is no ordinary file"),
                       (folder, "is no ordinary file"), (long, "has more than 16 MiB")):
        outcome = run("tuned", "all_reduce", "64", machine=machine, SELION_TUNING=str(named))
        assert said(outcome, 2) == {said_untuned(machine)}
        [sentence] = outcome.sentences()
        assert sentence == f"warning: the tuning file {named} {why}; it is ignored"


@pytest.mark.parametrize("machine", ("threads:2", "processes:2"))
def test_a_full_heap_is_no_reason_to_end(tmp_path, machine):
    table = tmp_path / "table.json"
    write(table, rows_for(machine, "lines:k_nomial:2"))
    outcome = run("tuned", "all_reduce", "64", "full", machine=machine, SELION_HEAP="1M",
                  SELION_TUNING=str(table))
    assert said(outcome, 2) == {"lines:k_nomial:2, tuned, of 1"}
