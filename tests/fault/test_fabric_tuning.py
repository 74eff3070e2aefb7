# SPDX-License-Identifier: Apache-2.0
"""A job of the machine `fabric` uses the table of rank 0 and no other, if it is of its network."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from jobs import Job, measuring, run
from launched import Launched, for_mpirun, skip_without_fabric, soon
from test_tuning import damages, said, write
from two_hosts import TwoHosts

skip_without_fabric()

_python = Path(__file__).resolve().parents[2] / "python"
needs_program = pytest.mark.skipif(not (measuring / "study_tune").exists(),
                                   reason="it is not built")

_ranks = 4
_provider = "tcp;ofi_rxm"
_two_hosts = {"SELION_MACHINE": "fabric", "SELION_TEST_HOSTS": "2",
              "SELION_FABRIC_PROVIDER": _provider}
_way = "messages:k_nomial:2"


def _rows(network: str = f"fabric/{_provider}/2x2", *ways: str) -> list[str]:
    timed = [f"{way}={100 + place}" for place, way in enumerate(ways or (_way,))]
    ended = " ".join(timed)
    return [f"{what} {network} {_ranks} {size} {ended}"
            for what in ("all_reduce", "broadcast", "reduce", "barrier") for size in (64, 65536)]


def _outcome(table: str | Path, collective: str = "all_reduce", **changes: str):
    variables = {**_two_hosts, "SELION_TUNING": str(table), **changes}
    with Launched(_ranks, "test_tuned", collective, "64", **variables) as job:
        return job.end(within=soon)


def _untuned() -> str:
    [sentence] = said(_outcome("off"), _ranks)
    assert "tuned" not in sentence
    return sentence


@pytest.mark.parametrize("collective, way", [
    ("all_reduce", "nodes"), ("all_reduce", _way), ("broadcast", "messages:hierarchical:2:2"),
    ("barrier", "messages:dissemination:2"), ("reduce", _way)])
def test_all_ranks_go_the_way_of_the_table(tmp_path, collective, way):
    table = tmp_path / "table.json"
    rows = _rows(f"fabric/{_provider}/2x2", way)
    write(table, [row for row in rows if row.startswith(f"{collective} ")])
    outcome = _outcome(table, collective)
    assert said(outcome, _ranks) == {f"{way}, tuned, of 1"}
    assert outcome.err == ""


def test_what_is_impossible_or_changes_sums_is_passed_over(tmp_path):
    table = tmp_path / "table.json"
    write(table, _rows(f"fabric/{_provider}/2x2", "board", "messages:chain", "lines:k_nomial:2",
                       "nodes"))
    assert said(_outcome(table), _ranks) == {"nodes, tuned, of 4"}
    assert said(_outcome(table, "broadcast"), _ranks) == {"messages:chain, tuned, of 4"}


#: Rank 0 has the first, the others another one, which says something else or nothing.
_per_rank = """
import os, sys
first, others, *line = sys.argv[1:]
os.environ["SELION_TUNING"] = first if os.environ["PMIX_RANK"] == "0" else others
os.execv(line[0], line)
"""


@pytest.mark.parametrize("others", ["other", "damaged", "absent", "off"])
def test_the_table_of_rank_0_counts_for_all(tmp_path, others):
    first = tmp_path / "first.json"
    write(first, _rows())
    write(tmp_path / "other", _rows(f"fabric/{_provider}/2x2", "messages:flat"))
    (tmp_path / "damaged").write_text("{}")
    theirs = "off" if others == "off" else str(tmp_path / others)
    before = [sys.executable, "-c", _per_rank, str(first), theirs]
    with Launched(_ranks, "test_tuned", "all_reduce", "64", before=before, **_two_hosts) as job:
        outcome = job.end(within=soon)
    assert said(outcome, _ranks) == {f"{_way}, tuned, of 1"}
    assert outcome.err == ""


def test_a_table_that_only_others_have_does_not_count(tmp_path):
    other = tmp_path / "other.json"
    write(other, _rows())
    before = [sys.executable, "-c", _per_rank, "off", str(other)]
    with Launched(_ranks, "test_tuned", "all_reduce", "64", before=before, **_two_hosts) as job:
        outcome = job.end(within=soon)
    assert said(outcome, _ranks) == {_untuned()}


@pytest.mark.parametrize("damage", damages)
def test_a_damaged_table_is_told_once_and_ignored(tmp_path, damage):
    table = tmp_path / "table.json"
    write(table, _rows())
    table.write_text(damages[damage](table.read_text()))
    before = table.read_bytes()
    outcome = _outcome(table)
    assert said(outcome, _ranks) == {_untuned()}
    [sentence] = outcome.sentences()
    assert sentence.startswith(f"warning: the tuning file {table} is damaged")
    assert sentence.endswith("it is ignored")
    assert table.read_bytes() == before


@pytest.mark.parametrize("network", [f"fabric/{_provider}/3x2", "fabric/other/2x2"])
def test_a_table_of_another_network_is_told_once_and_ignored(tmp_path, network):
    table = tmp_path / "table.json"
    write(table, _rows(network))
    outcome = _outcome(table)
    assert said(outcome, _ranks) == {_untuned()}
    [sentence] = outcome.sentences()
    assert sentence == (
        f"warning: the tuning file {table} was measured on another network, {network}, and this "
        f"is fabric/{_provider}/2x2; it is ignored")


def test_rows_of_threads_are_no_concern_of_a_network(tmp_path):
    table = tmp_path / "table.json"
    write(table, [row.replace(f"fabric/{_provider}/2x2", "threads") for row in _rows()])
    outcome = _outcome(table)
    assert said(outcome, _ranks) == {_untuned()}
    assert outcome.err == ""


def test_ranks_that_are_bound_find_the_table_of_the_whole_host(tmp_path):
    folder = tmp_path / "selion"
    folder.mkdir()
    whole = run("tuned", "place").out.strip()
    write(folder / f"tuning-{whole}.json", _rows())
    changes = {**_two_hosts, "XDG_CACHE_HOME": str(tmp_path)}
    first = str(min(os.sched_getaffinity(0)))
    with Launched(_ranks, "test_tuned", "all_reduce", "64", before=["taskset", "-c", first],
                  **changes) as job:
        outcome = job.end(within=soon)
    assert said(outcome, _ranks) == {f"{_way}, tuned, of 1"}


# --- selion tune ----------------------------------------------------------------------------------


def _selion(*arguments: str, before: tuple[str, ...] = (), **changes: str):
    """A command of the package of this folder."""
    command = [*before, sys.executable, "-m", "selion"]
    variables = {**for_mpirun, "PYTHONPATH": str(_python), "SELION_BIN": str(measuring),
                 **changes}
    with Job("", *arguments, command=command, **variables) as job:
        return job.end(within=90)


def _written(table: Path) -> list[list[str]]:
    return [row.split(" ") for row in json.loads(table.read_text())["rows"]]


def _begun(table: Path, *arguments: str, **changes: str) -> tuple[str, list[list[str]]]:
    """A search that finds something, however slow the host is, and is not through. What it says,
    and rows."""
    for time in ("1s", "2s", "4s", "8s"):
        done = _selion("tune", "--time", time, *arguments, **changes)
        assert done.status == 0, done.err
        if rows := _written(table):
            break
    return done.out, rows


def _resumed(table: Path, wanted: int, *arguments: str, **changes: str) -> list[list[str]]:
    """Rows once there are so many: where others have the processors, one search is not enough."""
    rows: list[list[str]] = []
    for _ in range(5):
        done = _selion("tune", "--time", "10s", "--resume", *arguments, **changes)
        assert done.status == 0, done.err
        rows = _written(table)
        if len(rows) >= wanted:
            break
    return rows


@pytest.mark.long
@needs_program
def test_a_network_is_tuned_gone_on_with_explained_and_checked(tmp_path):
    table = tmp_path / "table.json"
    few = ("-m", "fabric:4", "-c", "all_reduce", "-o", str(table))
    hosts = {"SELION_TEST_HOSTS": "2", "SELION_FABRIC_PROVIDER": _provider}
    first, rows = _begun(table, *few, **hosts)
    assert "go on with --resume" in first and 0 < len(rows) < 11
    rows = _resumed(table, 11, *few, **hosts)
    assert len(rows) == 11
    assert {row[1] for row in rows} == {f"fabric/{_provider}/2x2"}
    assert any(way.startswith("nodes=") for row in rows for way in row)
    told = _selion("explain", "all_reduce", *few[:2], SELION_TUNING=str(table), **hosts)
    assert "the quickest of those measured on this network" in told.out, told.err
    checked = _selion("tune", "--check", "--time", "30s", *few, **hosts)
    assert checked.status in (0, 1) and "of 11 choices are within" in checked.out, checked.err


@pytest.mark.long
@needs_program
def test_notes_of_another_network_do_not_count(tmp_path):
    table = tmp_path / "table.json"
    few = ("-m", "fabric:2", "-c", "all_reduce", "-o", str(table))
    provider = {"SELION_FABRIC_PROVIDER": _provider}
    _, before = _begun(table, *few, **provider)
    assert {row[1] for row in before} == {f"fabric/{_provider}/1x2"}
    rows = _resumed(table, len(before) + 11, *few, SELION_TEST_HOSTS="2", **provider)
    assert sum(row[1] == f"fabric/{_provider}/2x1" for row in rows) == 11


@needs_program
def test_hosts_are_tuned_that_are_named(hosts: TwoHosts, tmp_path):
    table = tmp_path / "table.json"
    names = ",".join(hosts.addresses())
    few = ("-m", "fabric:4", "-c", "barrier", "-o", str(table))
    for time in ("3s", "6s", "12s"):
        done = _selion("tune", "--hosts", names, "--time", time, *few,
                       before=tuple(hosts.enter("host-a")), **hosts.for_mpirun())
        assert done.status == 0, done.err
        if rows := _written(table):
            break
    [row] = rows
    assert row[1].startswith("fabric/") and row[1].endswith("/2x2")
