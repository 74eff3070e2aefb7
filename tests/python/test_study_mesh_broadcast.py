# SPDX-License-Identifier: Apache-2.0
"""The study `mesh-broadcast`: beside its source's figures, what it predicts, and on real ranks."""

from __future__ import annotations

import json

import pytest

from studying import Study, values, where_is


@pytest.fixture(scope="module")
def where() -> dict[str, str]:
    return where_is("study_mesh_broadcast")


@pytest.fixture
def study(selion, where) -> Study:
    return Study(selion, "mesh-broadcast", where)


def test_mapped_gains_what_the_source_says(study):
    gain = values(study("gain"), "gain_percent", "ints")
    assert gain[1] == pytest.approx(25, abs=0.1)  # fitted
    assert gain[11] == pytest.approx(10, abs=0.5)  # all others are predicted
    assert gain[32] == pytest.approx(1, abs=0.5)
    # The source says 10 to 25 % up to 11; at 8 it is a little less here, and at 11 nearly so.
    assert all(9 < gain[ints] < 25.1 for ints in range(1, 12))
    assert [ints for ints in range(1, 12) if gain[ints] < 9.95] == [8]
    assert all(gain[ints] < 10 for ints in range(12, 33))


def test_times_drop_where_the_compiler_unrolls(study):
    rows = study("unrolling", "ints=8,9,16,17,24,25", "unroll=1,8")
    ticks = values(rows, "ticks", "unroll", "ints")
    for last in (8, 16, 24):
        assert ticks[8, last + 1] < ticks[8, last]
        assert ticks[1, last + 1] > ticks[1, last]


def test_waits_grow_in_steps_and_fall_between_them(study):
    percent = values(study("orders", "order=mapped"), "wait_percent", "ints")
    few, more, most = ([percent[ints] for ints in sizes]
                       for sizes in (range(1, 17), range(17, 25), range(25, 33)))
    assert few[0] == 0 and max(few) < 0.1 < min(more)
    assert max(more) == more[0] and max(most) == most[0] < 9  # they leap up, and fall
    assert min(more) < min(most) and sum(more) < sum(most)


def test_waits_stay_a_few_per_cent(study):
    rows = study("orders", "ints=1,16,17,32")
    percent = values(rows, "wait_percent", "order", "ints")
    for order in ("random", "mapped"):
        assert percent[order, 1] == 0 and percent[order, 16] < 0.1
        assert 1 < percent[order, 17] < 6 and 1 < percent[order, 32] < 6
    for order in ("pass_up", "zero_to_n"):
        assert all(percent[order, ints] < 0.5 for ints in (1, 16, 17, 32))
    increase = values(rows, "wait_increase_percent", "order")
    ticks = values(rows, "ticks", "order", "ints")
    waits = values(rows, "wait_ticks", "order", "ints")
    for order, share in increase.items():
        expected = 100 * (waits[order, 32] - waits[order, 1]) / ticks[order, 32]
        assert share == pytest.approx(expected, abs=1e-3)
    # Those whose program is quicker wait more.
    assert min(increase["mapped"], increase["random"]) > 2
    assert max(increase["pass_up"], increase["zero_to_n"]) < 1


def test_counts_are_the_schedule_s(study):
    rows = study("orders", "ints=1,7")
    assert set(values(rows, "messages", "order", "ints").values()) == {240}
    for (_order, ints), hops in values(rows, "hops", "order", "ints").items():
        assert hops == 640 * ints


def test_barriers_are_no_part_of_the_schedule(study):
    hops = values(study("orders", "ints=1,4", "barrier=true", "order=pass_up,random"), "hops",
                  "order", "ints")
    assert {(order, ints): 640 * ints for order, ints in hops} == hops


def test_routers_without_a_rank_are_not_left_out_in_silence(selion, where):
    def run(experiment):
        return selion("study", "mesh-broadcast", "--experiment", experiment, "--set", "ints=4",
                      "--set", "order=pass_up", "--machine", "sim:epiphany-iii,ranks=13", "--json",
                      **where)  # fmt: skip

    orders, links = run("orders"), run("links")
    metrics = {json.loads(line)["metric"] for line in orders.stdout.splitlines()}
    assert {"ticks", "messages", "wait_ticks", "wait_percent"} == metrics
    assert links.stdout == ""
    for done in (orders, links):
        assert "some routers have no rank" in done.stderr.replace("\n", " ")


def test_links_over_the_edge_of_a_mesh_that_wraps_around(selion, where):
    done = selion("study", "mesh-broadcast", "--experiment", "links", "--set", "ints=32", "--set",
                  "order=pass_up", "--machine", "sim:epiphany-iii,network.wraps_around=true",
                  "--json", **where)  # fmt: skip
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    carried = values(rows, "link_bytes", "from", "to")
    between = {link: count for link, count in carried.items() if link[0] != link[1]}
    assert len(between) == 64
    # Over an edge goes what goes between other cores, and ways of two hops go east and south.
    assert between[3, 0] == between[0, 1] == between[12, 0] == between[0, 4]
    assert between[0, 3] == between[1, 0] == between[0, 12] == between[4, 0] < between[0, 1]
    # 240 pairs of cores are two hops apart in the mean of all 256.
    assert sum(between.values()) == 256 * 2 * 32 * 4


def test_spread_is_never_slower_than_mapped_and_quicker_where_that_waits(study):
    sizes = (1, 2, 4, 8, 11, 16, 21, 25, 28, 32)
    axis = "ints=" + ",".join(map(str, sizes))
    rows = study("equal-costs", "order=mapped,spread", axis)
    ticks = values(rows, "ticks", "order", "ints")
    waits = values(rows, "wait_ticks", "order", "ints")
    routers = values(rows, "router_wait_ticks", "order", "ints")
    for ints in sizes:
        assert ticks["spread", ints] <= ticks["mapped", ints]
        if waits["mapped", ints] > 0.005 * ticks["mapped", ints]:
            assert ticks["spread", ints] < ticks["mapped", ints]
            assert routers["spread", ints] < routers["mapped", ints] / 2
    assert ticks["spread", 25] < 0.95 * ticks["mapped", 25]


def test_links_carry_what_the_schedule_sends(study):
    rows = study("links", "order=mapped,spread", "ints=4")
    for order in ("mapped", "spread"):
        own = [row for row in rows if row["params"]["order"] == order]
        busy = values(own, "link_busy_ticks", "from", "to")
        carried = values(own, "link_bytes", "from", "to")
        assert len(busy) == 48 + 16  # links between neighbours, and out of cores
        assert all(busy[core, core] == 15 * 4 for core in range(16))
        between = {link: ticks for link, ticks in busy.items() if link[0] != link[1]}
        assert sum(between.values()) == 640 * 4
        assert all(carried[link] == 4 * ticks for link, ticks in busy.items())
        # Horizontal first: the middle links of a row carry two cores' integers for eight others.
        assert busy[1, 2] == busy[2, 1] == 16 * 4


def test_dma_takes_what_others_have_measured(study):
    rows = study("dma", "method=dma", "bytes=8,512,2048,4096,8192")
    assert len(rows) == 5
    for row in rows:
        assert row["value"] == pytest.approx(row["published"], rel=0.05)


def test_stores_are_quicker_than_dma_for_little_data_only(study):
    ticks = values(study("dma", "bytes=8,512,8192"), "ticks", "method", "bytes")
    assert ticks["direct", 8] < ticks["dma", 8] / 5
    assert ticks["direct", 8192] > ticks["dma", 8192]
    assert all(ticks["bulk", size] < ticks["direct", size] for size in (512, 8192))
    rows = study("methods", "bytes=8,1024")
    chain = values(rows, "ticks", "method", "bytes")
    assert chain["dma", 8] > chain["direct", 8]
    assert chain["dma", 1024] > chain["bulk", 1024]


def test_agreement_costs_more_than_the_data(study):
    ticks = values(study("collective", "ints=1,32"), "ticks", "method", "ints")
    for ints in (1, 32):
        direct = ticks["direct", ints]
        barrier = ticks["direct_with_barrier", ints]
        assert direct < barrier < ticks["broadcast_collective", ints]
        assert ticks["all_gather", ints] < ticks["broadcast_collective", ints]
    assert ticks["direct_with_barrier", 1] > 1.3 * ticks["direct", 1]


def test_larger_meshes(study):
    rows = study("larger-meshes", "side=8", "order=mapped,spread", "ints=1,32")
    ticks = values(rows, "ticks", "order", "ints")
    assert values(rows, "messages", "order", "ints")["spread", 1] == 64 * 63
    assert ticks["spread", 1] == ticks["mapped", 1]
    assert ticks["spread", 32] < ticks["mapped", 32]


@pytest.mark.parametrize("machine", ["threads:4", "processes:2"])
def test_real_ranks(selion, where, machine):
    axes = ("--set", "ints=1,32", "--set", "bytes=128")
    done = selion(
        "study", "mesh-broadcast", "--quick", *axes, "--machine", machine, "--json", **where
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["experiment"] for row in rows} >= {"orders", "dma", "collective"}
    assert not any(row["metric"].startswith(("wait", "hops", "link")) for row in rows)
    # What they ask about is nothing that real ranks have.
    assert not {"gain-by-remainder", "unrolling"} & {row["experiment"] for row in rows}
    assert all(row["value"] > 0 for row in rows if row["metric"] == "ticks")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("order=upwards", "pass_up, zero_to_n, random, mapped, spread"),
        ("ints=33", "1 to 32"),
    ],
)
def test_mistakes(selion, where, setting, says):
    asked = ("study", "mesh-broadcast", "--experiment", "orders", "--set", setting)
    done = selion(*asked, **where)
    assert done.returncode == 2
    assert says in done.stderr.replace("\n", " ")
