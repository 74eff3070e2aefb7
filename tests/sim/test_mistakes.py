# SPDX-License-Identifier: Apache-2.0
"""Wrong machines and options: one sentence, exit status 2."""

import pytest

from conftest import checking_build


@pytest.mark.parametrize("machine,words", [
    ("sim", ["which machine"]),
    ("sim:crosbar", ["crosbar", "did you mean crossbar"]),
    ("sim:crossbar,rows=4", ["rows"]),
    ("sim:crossbar,seed=x", ["seed=x", "whole number"]),
    ("sim:crossbar,explore=always", ["explore=always", "random"]),
    ("sim:crossbar,kill=3", ["kill=3", "RANK@TIME"]),
    ("sim:crossbar,kill=8@1us", ["rank 8", "0 to 7"]),
    ("sim:crossbar,slow=1", ["slow=1", "RANKxFACTOR"]),
    ("sim:crossbar,slow=9x2", ["rank 9"]),
    ("sim:crossbar,slow=1x2+1x3", ["slow=1x2+1x3", "each rank has one"]),
    ("sim:crossbar,slow=1x1e14", ["slow=1x1e14", "0.001 to 1000000"]),
    ("sim:crossbar,slow=1x1e-9", ["slow=1x1e-9", "0.001 to 1000000"]),
    ("sim:crossbar,delay=2@1us", ["delay=2@1us"]),
    ("sim:crossbar,delay=1@9000000s", ["less than 1000000s"]),
    ("sim:crossbar,seed=1+2", ["seed=1+2", "a whole number"]),
    ("sim:crossbar,explore=random+off", ["explore=random+off", "off, random or delays"]),
    ("sim:crossbar,machine.nodes=7", ["machine.nodes = 7", "[node]"]),
    ("sim:crossbar,machine.processes=3", ["machine.processes = 3", "[node]"]),
    ("sim:crossbar,ranks=1048576", ["1048576 ranks", "at most 1048575"]),
    ("sim:clovertown,node.fpus_per_core=4000000000", ["4000000000", "at most 1024"]),
    ("sim:multispert,boards=17", ["16 boards", "network.most_boards=17"]),
    ("sim:multispert,boards=9999", ["16 boards", "network.most_boards=9999"]),
    ("sim:multispert,ranks=18", ["16 boards", "network.most_boards=17"]),
    ("sim:sp-lapi,loss=1", ["loss=1", "below 1"]),
    ("sim:crossbar,loss=0.1", ["loss", "retransmission"]),
    ("sim:crossbar,compute=fast", ["compute=fast", "measured"]),
    ("sim:crossbar,compute=measuredx1e16", ["measuredx1e16", "at most 1000000"]),
    ("sim:crossbar,context=stacks", ["context=stacks", "fibers"]),
    ("sim:crossbar,payload=some", ["payload=some", "bytes or none"]),
    ("sim:epiphany-iii,granularity=words", ["granularity=words", "transactions, messages"]),
    ("sim:epiphany-iii,ranks=17", ["16", "rows"]),
    ("sim:crossbar,network.latency_us=-1", ["latency_us", "-1"]),
])
def test_a_sentence_names_the_mistake(on_machine, machine, words):
    done = on_machine(machine, "em3d", "--random")
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


@pytest.mark.skipif(not checking_build(), reason="only the checking build looks")
@pytest.mark.parametrize("how", ["chrono", "gettimeofday", "time", "clock", "timespec_get", "raw",
                                 "coarse"])
def test_a_program_that_reads_the_real_clock_is_warned_once(on_machine, how):
    done = on_machine("sim:crossbar", "test_real_clock", how)
    assert done.returncode == 0
    assert done.stderr.count("reads the host's clock") == 1
    assert "world.now()" in done.stderr
    assert on_machine("threads:2", "test_real_clock", how).stderr == ""
