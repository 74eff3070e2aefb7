# SPDX-License-Identifier: Apache-2.0
"""The study `software-cache`: beside its source's figures, and on real ranks."""

from __future__ import annotations

import collections
import itertools

import pytest

from conftest import root
from studying import Study, values, where_is

page = (root / "studies/software-cache/software-cache.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def where() -> dict[str, str]:
    return where_is("study_software_cache")


@pytest.fixture
def study(selion, where) -> Study:
    return Study(selion, "software-cache", where)


def table_behind(words: str) -> list[list[str]]:
    """The cells of the first table of the page behind these words: its head, then its rows."""
    lines = page[page.index(words):].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[first:])
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in rows]
    return [cells[0], *cells[2:]]


def published(rows) -> list[dict]:
    return [row for row in rows if "published" in row]


def assert_close(rows, metric: str, most: float) -> None:
    compared = [row for row in published(rows) if row["metric"] == metric]
    assert compared
    for row in compared:
        assert abs(row["value"] - row["published"]) <= most, row


def test_the_naive_product_misses_what_the_source_printed(study):
    rows = study("table-1")
    assert_close(rows, "misses_per_remote_home", 0)
    assert_close(rows, "hit_percent", 0.0101)
    assert_close(rows, "remote_reads_per_rank", 1)  # it prints one odd read more
    rows = study("table-2", "d=16,64,128")
    assert_close(rows, "shared_reads_per_rank", 0)
    assert_close(rows, "hit_percent", 0.0101)
    assert_close(rows, "remote_percent", 0.0101)


def test_directory_entries_are_exact(study):
    assert_close(study("table-2", "d=256"), "directory_entries_per_rank", 0)


def test_misses_of_small_matrices_depend_on_when_ranks_begin(study):
    rows = study("start-skew", repetitions=50)
    seen = collections.Counter(row["value"] for row in rows if row["metric"] == "misses")
    assert set(seen) == set(range(14, 22))
    assert seen[19] > 0  # the printed hits of 86.03 % are 19 misses
    assert f"in {100 * seen[19] / seen.total():.0f} % of all cases the 19 that 86.03 %" in page
    of_a = collections.Counter(row["value"] for row in rows if row["metric"] == "misses_of_a")
    assert of_a == seen


def test_the_page_has_the_hits_of_small_matrices(study):
    [hits] = values(study("table-2", "d=8"), "hit_percent", "d").values()
    [row] = [row for row in table_behind("| table 2") if row[0] == "8 x 8"]
    assert row[3].startswith(f"{hits:.2f} %, ")


def test_the_page_has_the_rates_of_blocked_products(study):
    rows = study("figure-10", "version=blocked", "b=16,64", "block_bytes=0,8192")
    rate = values(rows, "mflops", "b", "optimized", "block_bytes")
    few, many, assembler = (
        f"{rate[b, optimized, 0]:.0f} and {rate[b, optimized, 8192]:.0f}"
        for b, optimized in ((16, False), (64, False), (64, True))
    )
    assert f"16 x 16 {few}; 64 x 64 {many}; with assembler 64 x 64 {assembler}." in page


def test_own_parts_of_blocked_products_depend_on_when_ranks_begin(study):
    for row in study("skewed-table-3", "b=16,64", repetitions=3):
        if row["metric"] == "hit_percent":
            least, most = {16: (88.05, 88.15), 64: (49.45, 49.75)}[row["params"]["b"]]
            assert least <= row["value"] <= most, row


def test_rates_of_the_naive_product(study):
    rate = values(study("figure-8", "ranks=8", "block_bytes=0,256"), "mflops", "block_bytes")
    assert rate[0] == pytest.approx(0.5, abs=0.05)
    assert 1.4 <= rate[256] / 8 <= 1.6
    rate = values(study("figure-9", "d=64", "block_bytes=0"), "mflops", "d")
    assert rate[64] == pytest.approx(0.5, abs=0.05)  # whatever the matrix


@pytest.mark.long
def test_the_page_has_the_times_of_making_lists(study):
    rows = study("figure-12", "ranks=2,16", "block_bytes=8")
    said = [[f"{values(rows, metric, 'ranks')[ranks]:.0f}" for ranks in (2, 16)]
            for metric in ("making_lists_ms", "first_iteration_ms", "time_per_iteration_ms")]
    making, first, mean = said
    assert (f"takes {making[0]} ms with two processors and {making[1]} ms with sixteen (blocks of "
            f"8 bytes), the first iteration {first[0]} and {first[1]}, the mean of ten {mean[0]} "
            f"and {mean[1]}:") in page  # fmt: skip


def test_blocked_products(study):
    rows = study("table-3", "version=blocked", "b=4,64")
    assert_close(rows, "shared_reads_per_rank", 0)
    assert_close(rows, "remote_percent", 0.0101)
    hits = {row["params"]["b"]: row for row in published(rows) if row["metric"] == "hit_percent"}
    assert abs(hits[4]["value"] - hits[4]["published"]) <= 0.1
    assert abs(hits[64]["value"] - hits[64]["published"]) <= 1.5


@pytest.mark.long
def test_fields_on_a_random_graph(study):
    rows = study("table-4", "remote=0,32")
    assert_close(rows, "shared_reads", 1)
    assert_close(rows, "remote_percent", 0.2)
    assert_close(rows, "hit_percent", 0.03)
    rows = study("table-5", "block_bytes=8,256,8192")
    assert_close(rows, "unshared_local_read_hit_percent", 5)
    assert_close(rows, "unshared_local_write_hit_percent", 0.8)
    for kind, first in (("read", 31.13), ("write", 15.99)):
        metric = f"unshared_local_{kind}_hit_percent"
        ours = values(rows, metric, "block_bytes")
        theirs = {r["params"]["block_bytes"]: r["published"] for r in rows if r["metric"] == metric}
        assert ours[8] > ours[256] > ours[8192]
        for size in (256, 8192):
            assert ours[size] / ours[8] == pytest.approx(theirs[size] / first, abs=0.03)


def test_a_miss_that_the_home_serves_takes_what_the_source_says(study):
    rows = study("read-latency", "case=remote_at_home,split_c_remote,remote_present_shared")
    ns = values(rows, "latency_ns", "case")
    assert ns["remote_at_home"] == pytest.approx(50_000, rel=0.01)  # fitted on this
    assert ns["split_c_remote"] == pytest.approx(30_000, rel=0.03)
    assert ns["remote_present_shared"] == pytest.approx(350, rel=0.3)
    sizes = {row["params"]["case"]: row["params"]["block_bytes"] for row in rows}
    assert sizes == {"remote_at_home": 8, "split_c_remote": 0, "remote_present_shared": 8}
    assert {row["params"]["case"] for row in published(rows)} == set(sizes)


@pytest.mark.long
def test_times_of_fields(study):
    rows = study("figure-11", "remote=8,12,40", "block_bytes=0,8,64,256,1024,8192")
    ms = values(rows, "time_per_iteration_ms", "block_bytes", "remote")
    (_, *remote), *lines = table_behind("*Figure 11*")
    for size, (_, *cells) in zip((0, 8, 64, 256, 1024, 8192), lines, strict=True):
        found = {count: f"{ms[size, int(count)]:.0f}" for count in ("8", "12", "40")}
        assert found.items() <= dict(zip(remote, cells, strict=True)).items()
    for size in (8, 64, 256, 1024, 8192):
        assert ms[size, 40] == pytest.approx(ms[size, 8], rel=0.05)  # flat
    for size in (8, 64, 256):
        assert ms[size, 12] < ms[0, 12]
        assert ms[size, 40] < ms[1024, 40] < ms[8192, 40]
    assert ms[0, 12] < ms[1024, 12] < ms[8192, 12] and ms[8192, 40] < ms[0, 40]
    machine = "sim:now-ultrasparc,coherence.moved_us_per_byte=0"
    alone = study("figure-11", "remote=40", "block_bytes=8192", machine=machine)
    fast = values(alone, "time_per_iteration_ms", "block_bytes", "remote")
    assert fast[8192, 40] < ms[8192, 40] / 2  # where the network's 38 MB/s are all that counts


def test_blocks_that_come_early_help_most_where_they_are_small(study):
    rate = values(study("prefetch", "block_bytes=8,64,256"), "mflops", "block_bytes", "prefetch")
    said = [f"{rate[size, 'none']:.1f} to {rate[size, 'next']:.1f}" for size in (8, 64, 256)]
    assert (f"from {said[0]} MFLOPS of eight processors with blocks of 8 bytes, {said[1]} with 64, "
            f"{said[2]} with 256;") in page  # fmt: skip
    for size in (8, 256):
        assert rate[size, "next"] > rate[size, "none"]
        assert rate[size, "strided"] > rate[size, "none"]
    assert rate[8, "next"] / rate[8, "none"] > rate[256, "next"] / rate[256, "none"]


def test_it_runs_on_real_ranks(study):
    rows = study("table-2", "d=16,32", machine="processes:2")
    reads = values(rows, "shared_reads_per_rank", "d")
    assert reads[32] == (2 * 32**3 + 32**2) // 2


def test_updates_spare_the_misses_that_invalidations_cause(study):
    rows = study("update", "block_bytes=8,1024", "remote=16")
    times = {
        (row["params"]["block_bytes"], row["params"]["writes"]): row["value"] for row in rows
    }
    for block_bytes in (8, 1024):
        assert times[block_bytes, "release"] < times[block_bytes, "sequential"]
        assert times[block_bytes, "update"] < 0.6 * times[block_bytes, "sequential"]


def test_where_arrays_begin_is_a_parameter(study):
    rows = study("table-2", "d=16", "base_offset=0,112")
    entries = values(rows, "directory_entries_per_rank", "base_offset")
    # Arrays of 256 bytes a rank that begin with a block share none with each other.
    assert entries == {0: 8, 112: 16}
