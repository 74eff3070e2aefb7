# SPDX-License-Identifier: Apache-2.0
"""The study `offload`: its source's tables and formulas, what it predicts, and real workers."""

from __future__ import annotations

import os
import subprocess

import pytest

from studying import Study, values, where_is


@pytest.fixture(scope="module")
def where() -> dict[str, str]:
    return where_is("study_offload")


@pytest.fixture
def study(selion, where) -> Study:
    return Study(selion, "offload", where)


def test_table_1_comes_out_to_the_printed_digit(study):
    rate = values(study("transfer", "bytes=65536"), "bandwidth_mb_per_s", "host", "direction")
    assert f"{rate['sparc_2', 'read']:.1f}" == "3.2"
    assert f"{rate['ultra_1_expander', 'read']:.2f}" == "3.22"
    assert f"{rate['ultra_1_direct', 'read']:.1f}" == "3.8"
    writes = [rate[host, "write"] for host in ("sparc_2", "ultra_1_expander", "ultra_1_direct")]
    assert [f"{each:.0f}" for each in writes] == ["5", "7", "10"]


def test_short_blocks_are_slower(study):
    rows = study("transfer", "host=ultra_1_expander", "direction=write", "bytes=4,64,1024,65536")
    rate = values(rows, "bandwidth_mb_per_s", "bytes")
    assert rate[4] < rate[64] < rate[1024] < rate[65536] < 7


def test_table_2_comes_out(study):
    us = values(study("call-overhead"), "time_us", "step")
    assert us == {
        "call_no_arguments": pytest.approx(25, abs=0.01),
        "call_with_arguments": pytest.approx(50, abs=0.01),
        "synchronise": pytest.approx(10, abs=0.01),
        "read_result": pytest.approx(5, abs=0.01),
    }


def test_communication_shrinks_as_matrices_grow(study):
    rows = study("matmul", "n=64,128,256,512")
    ratio = values(rows, "r_cc", "n")
    for n in (128, 256):
        assert ratio[n] / ratio[2 * n] == pytest.approx(2, rel=0.02)
    speed = values(rows, "mmac_per_s", "n")
    for n in (64, 512):  # achieved = peak / (1 + r_cc)
        assert speed[n] == pytest.approx(320 / (1 + ratio[n]), rel=1e-3)
    (crossing,) = [row["value"] for row in rows if row["metric"] == "n_where_r_cc_is_1"]
    # 8 n^2 bytes at 5 MB/s take as long as n^3 of 320 million a second, and calls a little more.
    assert crossing == pytest.approx(512, abs=1)


@pytest.mark.parametrize("pipelined", ["false", "true"])
@pytest.mark.parametrize("broadcast", ["false", "true"])
def test_rounds_take_what_the_formulas_say(study, pipelined, broadcast):
    for times in ((5000, 10000, 60000), (10000, 5000, 60000), (8000, 2000, 30000)):
        t_in, t_out, t_c = times
        rows = study(
            "scaling",
            f"t_in_us={t_in}",
            f"t_out_us={t_out}",
            f"t_c_us={t_c}",
            f"pipelined={pipelined}",
            f"broadcast={broadcast}",
            "workers=1,2,3,4,6,9,16",
        )
        total = values(rows, "total_us", "workers")
        predicted = values(rows, "predicted_us", "workers")
        for workers, us in total.items():
            each = workers if broadcast == "true" else 1
            bus = each * (t_in + t_out)
            one = (t_in + t_out) * each / workers + t_c / workers
            if pipelined == "true":
                expected = max(one, bus)
            else:
                first = t_in * each / workers + t_c / workers + each * t_out
                last = each * t_in + t_c / workers + t_out * each / workers
                expected = max(bus, first, last)
            assert predicted[workers] == pytest.approx(expected, rel=1e-4)
            assert us == pytest.approx(expected, rel=0.01)  # where two of them meet


def test_shares_shorter_than_a_call_s_own_words_are_predicted_from_what_those_take(study):
    rows = study("scaling", "t_in_us=100", "t_out_us=50", "t_c_us=1000", "workers=16")
    total = values(rows, "total_us", "pipelined", "broadcast")
    predicted = values(rows, "predicted_us", "pipelined", "broadcast")
    for (pipelined, broadcast), us in total.items():
        parts = 0.15 if not (pipelined or broadcast) else 0.01
        assert us == pytest.approx(predicted[pipelined, broadcast], rel=parts)


def test_the_outlook_s_improvements(study):
    rows = study("improvements", "workers=16", "pipelined=true")
    total = values(rows, "total_us", "option")
    assert total["burst=1"] / total["burst=2"] == pytest.approx(2, rel=0.1)
    assert total["dma=true"] < total["burst=1"]
    # With transfers while boards compute fewer of them fill the bus.
    overlapped = values(study("improvements", "workers=4", "pipelined=true"), "total_us", "option")
    assert overlapped["clock=33"] < 0.85 * overlapped["burst=1"]
    to_all = values(study("broadcast", "boards=8"), "total_us", "option")
    assert to_all["broadcast=false"] / to_all["broadcast=true"] == pytest.approx(8, rel=0.02)
    around = values(study("exchange", "boards=4"), "total_us", "option")
    assert around["direct=true"] < 0.4 * around["direct=false"]


def test_real_workers(study):
    rows = study(
        "scaling",
        "workers=1",
        "t_in_us=20",
        "t_out_us=20",
        "t_c_us=300",
        "broadcast=false",
        machine="threads:1",
    )
    total = values(rows, "total_us", "pipelined")
    assert total[False] > 300
    assert total[True] > 150  # a difference of two rows of calls, one of which may be disturbed
    steps = values(study("call-overhead", machine="threads:1"), "time_us", "step")
    assert steps["call_no_arguments"] > 0
    # Of one and the same call: computing is a part of what it takes.
    ratios = values(study("matmul", "n=16,200", machine="threads:1"), "r_cc", "n")
    assert all(ratio > 0 for ratio in ratios.values()), ratios


def test_what_only_a_bus_has_is_no_parameter_of_real_workers(study):
    rows = study("transfer", "direction=read", "bytes=4096", machine="threads:1")
    assert [row["params"]["host"] for row in rows] == ["-"]
    rows = study("broadcast", "boards=1,2", "bytes=1024", machine="threads:1")
    assert [(row["params"]["boards"], row["params"]["option"]) for row in rows] == [(1, "-"),
                                                                                    (2, "-")]


def test_training_is_the_same_and_as_quick_as_predicted(study):
    rows = study("train", "workers=1,2,4", "epochs=5", "batch=479")
    accuracy = values(rows, "accuracy", "workers")
    alone = values(rows, "accuracy_alone", "workers")
    assert accuracy[1] > 0.8
    assert all(abs(accuracy[each] - alone[each]) <= 0.005 for each in accuracy)
    speedup = values(rows, "speedup", "workers")
    predicted = values(rows, "predicted_speedup", "workers")
    assert all(speedup[each] == pytest.approx(predicted[each], rel=0.02) for each in speedup)
    assert speedup[2] > 1 > speedup[4]  # the bus: weights and gradients of every worker


def test_larger_batches_pay_for_the_bus(study):
    rows = study("train", "workers=4", "epochs=1", "batch=479,1437")
    speedup = values(rows, "speedup", "batch")
    assert speedup[1437] > 1.3 * speedup[479]


def test_training_on_this_computer(study):
    rows = study("train", "workers=1", "epochs=1", "batch=479", machine="threads:1")
    assert values(rows, "accuracy", "workers")[1] > 0.3
    assert values(rows, "connections_per_s", "workers")[1] > 0
    assert values(rows, "predicted_speedup", "workers") == {1: 1}


@pytest.mark.parametrize("boards", ["4294967297", "-1", "1.5", '"1"'])
def test_a_number_that_does_not_fit_is_refused(where, boards):
    """4294967297 is 1 in 32 bits."""
    params = f'{{"bytes":8,"boards":{boards},"workers":1}}'
    done = subprocess.run(
        [f"{where['SELION_BIN']}/study_offload", "--experiment", "broadcast", "--params", params],
        env={**os.environ, "SELION_MACHINE": "threads:1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"'boards' is {boards}; legal: an integer from 0 to 4294967295." in done.stderr


def test_training_without_digits(where):
    program = f"{where['SELION_BIN']}/study_offload"
    params = '{"workers":1,"epochs":1,"batch":479}'
    done = subprocess.run(
        [program, "--experiment", "train", "--params", params],
        env={**os.environ, "SELION_MACHINE": "sim:multispert,boards=1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "does not name a file of digits" in done.stderr
