# SPDX-License-Identifier: Apache-2.0
"""Wrong machines and options: one sentence, exit status 2."""

import os
import re

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
    ("sim:multispert,boards=4294967295", ["4294967295 ranks", "at most 1048575"]),
    ("sim:multispert,ranks=18", ["16 boards", "network.most_boards=17"]),
    ("sim:sp-lapi,loss=1", ["loss=1", "at most 0.999"]),
    ("sim:sp-lapi,loss=0.9999999999", ["loss=0.9999999999", "at most 0.999"]),
    ("sim:crossbar,seed=18446744073709551616", ["seed=18446744073709551616", "below 2^64"]),
    ("sim:crossbar,memory.each_rank_gib=99999999999",
     ["each_rank_gib = 99999999999 must be a whole number of bytes, at most 4294967296"]),
    ("sim:clovertown,node.cores_per_cache=3", ["cores_per_cache = 3 must divide", "= 4"]),
    ("sim:multispert,network.write_us_per_byte=6000000,network.expander_us_per_byte=6000000,"
     "network.boards_per_expander=4", ["write or read, and expander, are too long together"]),
    ("sim:multispert,network.expander_us=1", ["network.expander_us=1", "boards_per_expander"]),
    ("sim:multispert,network.slots=3", ["network.slots=3", "room for 3 boards", "4 are asked"]),
    ("sim:epiphany-iii,network.hop_s=1000001", ["hop_s", "too long", "at most 1e+06 s"]),
    ("sim:epiphany-iii,node.cores_per_socket=2", ["epiphany-iii.toml has no [node]"]),
    ("sim:bluegene-p,nodes=8,network.sides=2x2", ["nodes = 8 and sides 2x2, which make 4"]),
    ("sim:bluegene-p,machine.most_ranks=8", ["most_ranks is for a crossbar"]),
    ("sim:now-ultrasparc,coherence.raed_hit_ns=1", ["did you mean read_hit_ns"]),
    ("sim:multispert,offload.call=1", ["call has no unit", "call_UNIT takes"]),
    ("sim:clovertown,node.threads=2", ["[node] has no key threads ([machine] has it)"]),
    ("sim:niagara2,ranks=65", ["room for 64 ranks (1 node of 1 process with 64 threads)"]),
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


def test_a_pipe_is_no_machine_file(on_machine, tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    done = on_machine(f"sim:{tmp_path}/pipe.toml", "em3d", "--random")
    assert done.returncode == 2
    assert done.stderr.endswith("pipe.toml: is a pipe (FIFO); a machine is read from an ordinary "
                                "file\n")


@pytest.mark.parametrize("machine", [
    "sim:epiphany-iii,network.hop_s=1000000",
    "sim:epiphany-iii,network.slot_s=1000000",
    "sim:epiphany-iii,granularity=messages,network.remainder_store_s=1000000",
    "sim:crossbar,network.packet_bytes=1,network.packet_gap_s=1000000",
    "sim:bluegene-p,nodes=8,network.hop_s=1000000",
    "sim:clovertown,node.far_s=1000000",
])
def test_time_does_not_run_backwards_on_a_machine_that_takes_for_ever(on_machine, machine):
    done = on_machine(machine, "em3d", "--random")
    assert done.returncode == 1, done.stdout
    assert re.search(r"rank \d+ (has spent|has begun would take) more virtual time than is "
                     r"counted, 1\.15e\+06 s", done.stderr), done.stderr


@pytest.mark.skipif(not checking_build(), reason="sanitizers need all addresses")
def test_threads_that_cannot_be_started_are_told(on_machine):
    done = on_machine("sim:crossbar,ranks=400,context=threads", "em3d", "--random",
                      address_space=1 << 30, SELION_HEAP="1M")
    assert done.returncode == 1
    assert re.match(r"selion: cannot start the thread of rank \d+ \(.*\); use "
                    r"context=fibers or fewer ranks", done.stderr), done.stderr


@pytest.mark.skipif(not checking_build(), reason="only the checking build looks")
@pytest.mark.parametrize("how", ["chrono", "gettimeofday", "time", "clock", "timespec_get", "raw",
                                 "coarse"])
def test_a_program_that_reads_the_real_clock_is_warned_once(on_machine, how):
    done = on_machine("sim:crossbar", "test_real_clock", how)
    assert done.returncode == 0
    assert done.stderr.count("reads the host's clock") == 1
    assert "world.now()" in done.stderr
    assert on_machine("threads:2", "test_real_clock", how).stderr == ""
