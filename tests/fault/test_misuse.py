# SPDX-License-Identifier: Apache-2.0
"""A bug of the program ends the job with a sentence that names rank, call site, the wrong value and
the legal ones."""

from __future__ import annotations

import re

import pytest
from jobs import check_level, run, site
from mistakes import complaint, expect, machines

# What the sentence must say; {last} is the last rank. The check level from which on it is noticed.
alone = {
    "rank": (r"the global pointer names rank 99; ranks are 0 to {last}$", 1),
    "get": (r"the global pointer names rank 99; ranks are 0 to {last}$", 1),
    "null": (r"the global pointer is null$", 0),
    "null_index": (r"is reckoned from a null one, by an index or `on` \(rank 0, offset 12\)$", 0),
    "null_on": (r"is reckoned from a null one, by an index or `on` \(rank 2, offset 0\)$", 0),
    "null_before": (r"as if `on` had been given a negative one, or null a negative index "
                    r"\(rank \d+, segment 15\); ranks are 0 to {last}$", 0),
    "offset": (r"4 bytes at offset (\d+) of rank 1 leave the symmetric heap, which ends at \1$", 2),
    "unaligned": (r"offset \d+ of rank 1 is not a multiple of 4, the alignment of the element$", 2),
    "signal": (r"belongs to rank 0; a rank waits only for signals in its own memory, and ", 1),
    "signal_there": (r"belongs to rank 0; a rank waits only for signals in its own memory, ", 1),
    "read_foreign": (r"belongs to rank 0; a rank waits only for signals in its own memory, ", 2),
    "member": (r"world_rank: member 99 of a team of \d; legal: 0 to {last}$", 1),
    "nested": (r"run: a job is under way in this process, which runs one at a time: ", 1),
    "send": (r"send: there is no rank 99; ranks are 0 to {last}$", 1),
    "rpc": (r"rpc: there is no rank 99; ranks are 0 to {last}$", 1),
    "quiet": (r"quiet: there is no rank 99; ranks are 0 to {last}$", 1),
    "rank_next": (r"the global pointer names rank {next}; ranks are 0 to {last}$", 1),
    "send_next": (r"send: there is no rank {next}; ranks are 0 to {last}$", 1),
    "quiet_next": (r"quiet: there is no rank {next}; ranks are 0 to {last}$", 1),
    "send_counter": (r"the target counter belongs to rank 2, the message goes to rank 0$", 1),
    "pieces": (r"one of them belongs to rank 2, the first one to rank 0; all must belong to ", 1),
    "dma_before": (r"start_dma: block 0 of the chain has rows beyond the memory of its rank$", 1),
    "dma_beyond": (r"start_dma: block 0 of the chain has rows beyond the memory of its rank$", 1),
    "dma_nothing": (r"start_dma: block 0 of the chain has no source$", 1),
    "target_counter": (r"the target counter belongs to rank 2, the data to rank 0; both must", 1),
    "taken_future": (r"the future is empty, or its value has been taken already: ", 1),
    "empty_future": (r"the future is empty, or its value has been taken already: ", 1),
    "empty_inner": (r"the future is empty, or its value has been taken already: ", 1),
    "wait_negative": (r"wait: a counter counts up to 9223372036854775807, so it never reaches "
                      r"18446744073709551615 ", 1),
    "store_negative": (r"a counter counts up to 9223372036854775807, so it never reaches ", 1),
    "test_negative": (r"test: a counter counts up to 9223372036854775807, so it never reaches ", 1),
    "any_null": (r"wait_any: pointer 1 of 2 to a counter is null$", 1),
    "any_signal": (r"wait_any: there are no signals$", 1),
    "all_null": (r"wait_all: pointer 1 of 2 to a counter is null$", 1),
    "slot": (r"the directory has no slot 2; a rank's slots are 0 to 1$", 1),
    "two_ranks": (r"put_signal: the data go to rank 0, the signal to rank 2; both must belong ", 2),
    "two_ranks_row": (r"put_signal: the data go to rank 0, the signal to rank 2; both must ", 2),
    "wait": (r"wait of a counter: a handler must not wait: .*; start the operation and let ", 1),
    "wait_in_then": (r"wait for a future: a handler must not wait: .* given to rpc or `then` does; "
                     r"let `then` do what follows; ", 1),
    "collective": (r"barrier is a collective; a handler must not wait$", 1),
    "local": (r"the memory belongs to rank 0; only the rank that allocated it gives it back$", 1),
    "local_twice": (r"no live allocation of this rank starts at offset \d+$", 1),
    "index": (r"index \(3, 10\) is out of range: numbers has 10 elements in dimension 1, so legal "
              r"are 0 to 9$", 2),
    "negative": (r"index \(-1, 0\) is out of range: numbers has 6 elements in dimension 0", 2),
    "box": (r"elements 5 to 6 of dimension 0: numbers has 6 there$", 1),
    "box_wraps": (r"elements 0 to 4294967295 of dimension 0: numbers has 6 there$", 1),
    "box_memory": (r"a box of 4 elements of numbers, and memory for 6$", 1),
    "slice": (r"slice: 1 indices from 6 in steps of 1: numbers has 6 elements in dimension 0$", 1),
    "slice_before": (r"slice: 1 indices from -1 in steps of 1: numbers has 6 elements in ", 1),
    "slice_back": (r"slice: 3 indices from 5 in steps of -1: numbers has 6 elements in ", 1),
    "slice_none": (r"slice: -2 indices from 0 in steps of 1: numbers has 6 elements in ", 1),
    "directory": (r"the global pointer names rank 99; ranks are 0 to {last}$", 1),
    "idle_meter": (r'meter "piece" does not run$', 1),
    "meter_twice": (r'meter "piece" runs already$', 1),
    "running_meter": (r'meter "piece" runs: stop it before reset\(\)$', 1),
    "slice_index": (r"index \(3\) is out of range: a slice of numbers has 3 elements in ", 2),
}
by_foreign_thread = {
    "foreign": r"this thread belongs to no rank: .* make a selion::rank_scope in the thread first$",
    "foreign_collective": r"this thread belongs to no rank: .*selion::rank_scope",
    "scope": r"thread level is single; .* or set SELION_THREAD_LEVEL=multiple$",
}
together = {
    "layouts": r"ranks have not given odd the same extents and distribution$",
    "extents": r"redistribute: numbers has 6 x 10 elements, others has 10 x 6$",
    "root": r"broadcast: root 99 is no member; members are 0 to {last}$",
    "twice": r"deallocate: no live collective allocation starts at offset \d+$",
    "reduce_root": r"reduce: root 99 is no member; members are 0 to {last}$",
    "stranger": r"barrier of a team that rank \d is no member of$",
    "strange_exchange": r"exchange of a team that the rank is no member of$",
    "strange_gather": r"all_gatherv of a team that the rank is no member of$",
    "strange_scatter": r"reduce_scatter of a team that the rank is no member of$",
    "strange_members": r"subteam of a team that rank \d is no member of$",
    "strange_split": r"split of a team that rank \d is no member of$",
    "strange_lengths": r"all_gatherv of a team that rank \d is no member of$",
    "strange_arrival": r"arrive of a team that rank \d is no member of$",
    "moved": r"barrier of a team that rank \d is no member of$",
    "moved_start": r"barrier of a team that rank \d is no member of$",
    "split_between": r"split between arrive\(\) and wait\(\) of its team$",
    "gatherv_root": r"gatherv: root 99 is no member; members are 0 to {last}$",
    "scatterv_root": r"scatterv: root 99 is no member; members are 0 to {last}$",
    "varying_overlap": r"exchangev: the two buffers overlap; pass two that have nothing in common$",
    "allocate_between": r"allocate, which all ranks do together, between arrive\(\) and wait\(\) ",
    "others_block": r"scatterv: the own block lies within all of them, but not where that of rank ",
    "wrapping": r"exchangev: the lengths add up to 18446744073709551615; \d+ elements are given$",
    "broken": r"barrier of a team whose last collective ended in an error: its members may be in ",
    "between": r"all_reduce between arrive\(\) and wait\(\) of its team$",
    "barrier_between": r"barrier between arrive\(\) and wait\(\) of its team$",
    "wait_alone": r"wait: the rank has not arrived; call arrive\(\) first$",
    "member_99": r"subteam: 99 is no member; members are 0 to {last}$",
    "listed_twice": r"subteam: member 1 is listed twice$",
    "team_root": r"broadcast: root 2 is no member; members are 0 to [01]$",
    "gather": r"all_gather: (\d) members with 2 elements each make \d+; \d+ are given$",
    "shifted": r"all_gather: the own block lies within all of them, but not where that of rank \d ",
    "uneven": r"exchange: 2 elements cannot be shared out to \d members equally$",
    "unequal": r"exchange: \d+ elements are sent and 3 received; they must be equally many$",
    "overlap": r"exchange: the two buffers overlap in part; pass the same one twice, or two that ",
    "own_length": r"all_gatherv: the own block has 1 elements; its length is given as 2$",
    "lengths": r"exchangev: \d lengths are given; there are \d members$",
    "sum": r"exchangev: the lengths add up to \d+; \d+ elements are given$",
    "alignments": r"one rank asks for an alignment of 64 and another for 32 \(this one for (64|32)"
                  r"\)$",
    "amounts": r"one rank asks for 32 bytes and another for 16 \(this one for (16|32)\)$",
}
# What rank 1 and rank 0 call, and where.
disagreements = {
    "sizes": (("all_reduce of 3 elements of 8 bytes", "three"),
              ("all_reduce of 4 elements of 8 bytes", "four")),
    "types": (("all_reduce of 1 element of 8 bytes", "long"),
              ("all_reduce of 1 element of 8 bytes", "double")),
    "roots": (("broadcast of 4 bytes from root 1", "roots"),
              ("broadcast of 4 bytes from root 0", "roots")),
    "gather_roots": (("gather of 1 element of 4 bytes at root 1", "gather_roots"),
                     ("gather of 1 element of 4 bytes at root 0", "gather_roots")),
    "scans": (("scan of 1 element of 4 bytes", "scan"),
              ("exscan of 1 element of 4 bytes", "exscan")),
    "splits": (("split", "split"), ("barrier", "no_split")),
    "calls": (("all_reduce of 1 element of 4 bytes", "all_reduce"), ("barrier", "barrier")),
    "broadcast_types": (("broadcast of 8 bytes from root 0", "broadcast_long"),
                        ("broadcast of 8 bytes from root 0", "broadcast_double")),
    "exchange_types": (("exchange of 1 element of 8 bytes", "exchange_long"),
                       ("exchange of 1 element of 8 bytes", "exchange_double")),
    "functions": (("all_reduce of 1 element of 8 bytes", "functions"),) * 2,
    "modes": (("all_reduce of 1 element of 4 bytes", "modes"),) * 2,
}
# What the descriptions of the calls do not tell.
hidden = {
    **dict.fromkeys(("types", "broadcast_types", "exchange_types", "functions", "started_types",
                     "started_functions"), "; types or operations differ"),
    **dict.fromkeys(("modes", "started_modes"), "; their modes differ: entry all, exit all; "
                                                "entry none, exit none"),
}


@pytest.mark.parametrize("what", alone)
@pytest.mark.parametrize("machine", machines)
def test_a_mistake_of_one_rank(machine: str, what: str):
    pattern, level = alone[what]
    if check_level < level:
        pytest.skip(f"noticed from check level {level} on")
    expect(machine, what, pattern, f"rank 1 of {machines[machine]}")


@pytest.mark.skipif(check_level < 1, reason="noticed from check level 1 on")
def test_a_signal_of_another_rank_than_the_data():
    # Where both are mapped nobody looks: they are two stores.
    expect("threads:3,direct=off", "two_ranks", r"put_signal: the data go to rank 0, the signal to "
           r"rank 2; both must belong to one rank$", "rank 1 of 3")


@pytest.mark.skipif(check_level < 1, reason="noticed from check level 1 on")
@pytest.mark.parametrize("what,operation", [("get_in_handler", "get"),
                                            ("fetch_in_handler", "fetch_add")])
def test_a_handler_that_would_wait_for_memory(what: str, operation: str):
    expect("threads:3,direct=off", what, rf"{operation} of memory of rank 0, which is not mapped "
           r"here: a handler must not wait: .*; ask for a future \(selion::as_future\) and let "
           r"`then` do what follows$", "rank 1 of 3")
    assert run("misusing", what, machine="threads:3").status == 0


@pytest.mark.skipif(check_level < 1, reason="noticed from check level 1 on")
@pytest.mark.parametrize("what", by_foreign_thread)
@pytest.mark.parametrize("machine", machines)
def test_a_mistake_of_a_foreign_thread(machine: str, what: str):
    expect(machine, what, by_foreign_thread[what], "a thread of the program")


@pytest.mark.skipif(check_level < 1, reason="noticed from check level 1 on")
@pytest.mark.parametrize("what", together)
@pytest.mark.parametrize("machine", machines)
def test_a_mistake_of_all_ranks_is_told_once(machine: str, what: str):
    expect(machine, what, together[what], rf"rank \d of {machines[machine]}")


@pytest.mark.skipif(check_level < 1, reason="noticed from check level 1 on")
@pytest.mark.parametrize("machine", [*machines, "sim:crossbar,ranks=3"])
def test_ranks_that_give_back_different_memory(machine: str):
    [line, *_] = complaint(machine, "given_back")
    told_at_once = (r"the ranks disagree about collective #\d+: rank \d calls deallocate of what "
                    r"starts at offset \d+ at .*, rank \d calls deallocate of what starts at ")
    told_later = r"allocate is symmetric, but one rank's memory would start at offset \d+ and "
    assert re.search(f"{told_at_once}|{told_later}", line)


def test_a_collective_without_a_rank_that_has_returned():
    [line] = complaint("sim:crossbar,ranks=2", "absent", SELION_CHECK_CALLS="off")
    assert re.search(r"rank 1 has sent a message of a collective to rank 0, whose function has "
                     r"returned without taking part in it$", line)


def test_the_end_after_a_collective_that_has_failed():
    """Ranks that share memory leave as usual; others could wait for each other's messages."""
    assert run("misusing", "broken_to_the_end", machine="threads:2").status == 0
    [line] = complaint("threads:2,direct=off", "broken_to_the_end")
    assert re.search(r"a collective of all ranks has ended in an error, and ranks that do not "
                     r"share memory cannot agree", line)


def test_what_gives_a_core_more_is_named():
    [line] = complaint("sim:epiphany-iii", "no_room", SELION_HEAP="1M")
    assert ("let other teams go, or give each rank more than 32 KiB: memory.each_rank_kib= of the "
            "simulated machine") in line
    assert "SELION_HEAP" not in line


in_completion = {
    "completion_barrier": "barrier",
    "completion_reduce": "all_reduce",
    "completion_allocate": "allocate",
}


@pytest.mark.skipif(check_level < 1, reason="noticed from check level 1 on")
@pytest.mark.parametrize("what", in_completion)
@pytest.mark.parametrize("machine", [*machines, "threads:3,progress=interrupt"])
def test_a_collective_in_a_completion_handler(machine: str, what: str):
    first, second = complaint(machine, what)
    assert re.match(rf"selion: rank 1 of \d: {in_completion[what]} is a collective; a completion "
                    r"handler runs beside its rank's own calls, and must not take part in one$",
                    first)
    assert second == f"  called at {site('misusing*', what)}"


# Of handlers: where they were called from is in no rank's call.
of_handlers = {
    "throws": r"a handler of a message from rank 1 ended with an exception of type "
              r"std::runtime_error: no room; the job ends$",
    "completion_throws": r"a completion handler of a message from rank 1 ended with an exception "
                         r"of type std::runtime_error: no room; the job ends$",
    "oneway": r"a call that rank 1 had sent without waiting for an answer ended with an exception "
              r"of type std::runtime_error: no room; the job ends$",
    "oneway_later": r"a call that rank 1 had sent without waiting for an answer ended with an "
                    r"exception of type std::runtime_error: no room; the job ends$",
    "unknown": r"a message from rank 1 names the handler 0x77770000000012, which is not registered "
               r"here: all ranks must run the same program and load the same libraries; the job",
}


@pytest.mark.skipif(check_level < 1, reason="noticed from check level 1 on")
@pytest.mark.parametrize("what", of_handlers)
@pytest.mark.parametrize("machine", [*machines, "threads:3,progress=interrupt"])
def test_a_mistake_of_a_handler(machine: str, what: str):
    [line] = complaint(machine, what)
    where = 1 if what == "completion_throws" else 0
    assert re.match(rf"selion: rank {where} of \d: ", line)
    assert re.search(of_handlers[what], line)


@pytest.mark.parametrize("what", ["operation", "long_operation", "scan_operation",
                                  "started_operation"])
@pytest.mark.parametrize("machine", [*machines, "threads:3,progress=interrupt",
                                     "sim:crossbar,ranks=3"])
def test_an_operation_that_throws(machine: str, what: str):
    """Also where its rank would go on: others wait for what it was to give."""
    [line] = complaint(machine, what)
    where = r".*misusing\.cpp.*"
    if what == "started_operation" and "interrupt" in machine:
        where += "|before its first collective call or wait"  # on the thread that serves the rank
    assert re.match(r"selion: rank \d of \d: the operation of a reduction has thrown an exception "
                    r"of type std::runtime_error: no sum; it must not throw, because other members "
                    rf"wait for what it gives, ({where}); the job ends$", line), line


@pytest.mark.parametrize("what,machine,cure", [
    ("charge", "sim:crossbar,ranks=2", "; charge less"),
    ("charge", "sim:epiphany-iii,ranks=2", "; charge less"),  # whose tick is 833 ps
    ("20_days", "sim:crossbar,ranks=2", ", in a wait; give that a limit that comes before"),
    ("120_days", "sim:crossbar,ranks=2", ", in a wait; give that a limit that comes before"),
])
def test_more_virtual_time_than_is_counted_is_told_where_it_is_spent(what, machine, cure):
    outcome = run("misusing", what, machine=machine)
    assert outcome.status == 1
    [sentence] = outcome.sentences()
    told = "rank 1 has spent more virtual time than is counted, 1.15e+06 s"
    assert told + cure in sentence


def test_a_charge_of_less_than_nothing_is_told():
    outcome = run("misusing", "negative_charge", machine="sim:crossbar,ranks=2")
    assert outcome.status == 1
    [sentence] = outcome.sentences()
    assert "rank 1 charges a time of -5000 ps; legal are those of 0 or more" in sentence


@pytest.mark.parametrize("machine", machines)
def test_a_result_that_is_too_long(machine: str):
    """Its length is the program's, what is possible the user's choice: an exception."""
    [line] = complaint(machine, "long_result", SELION_MESSAGE_MEMORY="64K")
    assert ("with an exception of type selion::error: rpc: a result of 49152 bytes is too long; at "
            "most 32640 are possible. Set ") in line


@pytest.mark.skipif(check_level < 1, reason="noticed from check level 1 on")
@pytest.mark.parametrize("machine", ["threads:3", "processes:2x2"])
def test_an_empty_future_among_others(machine: str):
    first, _ = complaint(machine, "empty_part")
    assert "when_all: future 2 of 2 is empty, or its value has been taken already, or " in first


@pytest.mark.skipif(check_level < 1, reason="noticed from check level 1 on")
@pytest.mark.parametrize("what", ["stale", "stale_wait", "stale_test"])
@pytest.mark.parametrize("machine", ["threads:3", "threads:8@2", "threads:3,direct=off"])
def test_a_counter_of_a_job_that_has_finished(machine: str, what: str):
    expect(machine, what, r"the counter was used in job 1 of this process, which has finished; "
           r"this is job 2: make a new counter for each job$", f"rank 1 of {machines[machine]}")


@pytest.mark.parametrize("what", disagreements)
@pytest.mark.parametrize("machine", machines)
def test_ranks_that_disagree(machine: str, what: str):
    """The checking build compares unasked."""
    [line] = complaint(machine, what, **({} if check_level >= 2 else {"SELION_CHECK_CALLS": "on"}))
    (odd, odd_site), (even, even_site) = disagreements[what]
    assert line.startswith(
        f"selion: the ranks disagree about collective #4: rank 1 calls {odd} at "
        f"{site('misusing*', odd_site)}, rank 0 calls {even} at "
        f"{site('misusing*', even_site)}")
    assert line.endswith(f"{site('misusing*', even_site)}{hidden.get(what, '')}")


@pytest.mark.parametrize("machine", [*machines, "threads:3,progress=interrupt", "sim:crossbar"])
def test_ranks_that_start_different_collectives(machine: str):
    [line] = complaint(machine, "started")
    assert line.startswith("selion: the ranks disagree about started collective #1 of all ranks: ")
    told = re.findall(r"rank (\d) starts all_reduce of 1 element of (\d) bytes at (.*?:\d+)", line)
    assert len(told) == 2
    for rank, size, where in told:
        expected = ("4", "floats") if rank == "1" else ("8", "doubles")
        assert (size, where) == (expected[0], site("misusing*", expected[1]))
    assert {size for _, size, _ in told} == {"4", "8"}


@pytest.mark.parametrize("machine", [*machines, "threads:3,progress=interrupt", "sim:crossbar"])
@pytest.mark.parametrize("what", ["started_types", "started_functions", "started_modes"])
def test_what_the_descriptions_of_started_calls_do_not_tell(machine: str, what: str):
    [line] = complaint(machine, what)
    assert line.startswith("selion: the ranks disagree about started collective #1 of all ranks: ")
    first, _, second = hidden[what].partition(": ")[2].partition("; ")
    other_way = hidden[what].replace(f"{first}; {second}", f"{second}; {first}")
    assert line.endswith((hidden[what], other_way))


@pytest.mark.parametrize("machine", [*machines, "sim:crossbar,ranks=3"])
def test_a_call_that_consists_of_others_is_told_by_its_own_name(machine: str):
    """Both gather lengths first, but in one of them short blocks travel with these."""
    [line] = complaint(machine, "varying", SELION_CHECK_CALLS="on")
    assert line.startswith("selion: the ranks disagree about collective #4: rank ")
    assert f" calls all_gatherv at {site('misusing*', 'all_gatherv')}" in line
    assert f" calls gatherv at {site('misusing*', 'gatherv')}" in line


@pytest.mark.parametrize("machine", [*machines, "threads:3,progress=interrupt", "sim:crossbar"])
def test_a_started_barrier_is_told_without_data(machine: str):
    [line] = complaint(machine, "started_barrier")
    assert line.startswith("selion: the ranks disagree about started collective #1 of all ranks: ")
    assert f"rank 1 starts barrier at {site('misusing*', 'started_barrier')}" in line
    assert ("starts broadcast of 4 bytes from root 0 at "
            f"{site('misusing*', 'started_broadcast')}") in line


@pytest.mark.parametrize("machine", [*machines, "sim:crossbar,ranks=2"])
def test_bytes_and_equal_functions_agree(machine: str):
    outcome = run("misusing", "bytes", machine=machine, SELION_CHECK_CALLS="on")
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("machine", ["threads:2", "processes:2", "sim:crossbar,ranks=2"])
def test_ranks_that_start_broadcasts_of_different_roots(machine: str):
    """Each of them only sends, so that both are over when the messages come."""
    [line] = complaint(machine, "started_roots")
    assert "started" in line and "disagree" in line or "without starting it" in line


@pytest.mark.parametrize("machine", ["threads:2", "threads:3", "processes:2",
                                     "processes:3,direct=off", "sim:crossbar,ranks=3"])
def test_ranks_that_all_wait_for_the_message_of_another(machine: str):
    [line] = complaint(machine, "started_receivers", SELION_CHECK_CALLS="on")
    here = re.escape(site("misusing*", "started_receivers"))
    call = rf"rank \d starts broadcast of 4 bytes from root [01] at {here}"
    assert re.fullmatch("selion: the ranks disagree about started collective #1 of all ranks: "
                        f"{call}, {call}", line)
    assert "root 0" in line and "root 1" in line


@pytest.mark.parametrize("machine", ["threads:2", "processes:2", "sim:crossbar,ranks=2"])
def test_ranks_that_give_different_lengths(machine: str):
    [line] = complaint(machine, "started_lengths")
    # Rank 0 gives one number and says that all do, rank 1 two.
    ends = ("0 has sent 4 bytes to rank 1, which expects 8|"
            "1 has sent 8 bytes to rank 0, which expects 4")
    assert re.match(rf"selion: rank ({ends}), in started collective #1: all_gatherv at "
                    r".*misusing\w*\.[ch]pp:", line)


@pytest.mark.parametrize("what", disagreements)
def test_simulated_ranks_that_disagree(what: str):
    [line] = complaint("sim:crossbar,ranks=3", what)
    assert line.startswith("selion: the ranks disagree about collective #4: rank ")
    for text, where in disagreements[what]:
        assert f" calls {text} at {site('misusing*', where)}" in line
