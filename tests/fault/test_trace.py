# SPDX-License-Identifier: Apache-2.0
"""Traces show every message, in real and in virtual time, change nothing in virtual time, and can
be read however the job ended."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import traces
from jobs import Job, patiently, run, soon, trying

real = {"threads:3@3": 3, "threads:8@2": 8, "processes:3": 3, "processes:2x2": 4,
        "threads:3@3,direct=off": 3}
virtual = {"sim:crossbar": 8, "sim:crossbar,ranks=3": 3}
machines = {**real, **virtual}

chunk = 10_000  # events of one rank that are kept in memory

puts = 40  # fewer than a chunk


def traced(path: Path, machine: str, count: int = puts, end: str = "return") -> traces.Trace:
    outcome = run("tracing", str(count), end, machine=machine, SELION_TRACE=str(path))
    assert (outcome.status, outcome.err) == (0, "")
    return traces.read(path)


# --- what is in a trace ---------------------------------------------------------------------------


@pytest.mark.parametrize("machine", machines)
def test_slices_of_all_ranks(machine: str, tmp_path: Path):
    trace = traced(tmp_path / "trace.json", machine)
    ranks = machines[machine]
    assert trace.ended_ranks() == {f"rank {rank}" for rank in range(ranks)}
    assert {len(own) for own in trace.of_ranks("put", ranks)} == {puts}
    for rank, own in enumerate(trace.of_ranks("put_signal", ranks)):
        assert [each["args"]["to"] for each in own] == [(rank + 1) % ranks] * 4
        assert [each["args"]["bytes"] for each in own] == [8, 8, 8, 0]
    for name, count in (("get", 3), ("atomic", 3), ("quiet", 3), ("wait: signal", 4), ("round", 3)):
        most = {len(own) for own in trace.of_ranks(name, ranks)}
        # A wait that is over before it begins is none where time is virtual.
        assert most == {count} or name == "wait: signal" and max(most) <= count
    totals = [each["args"]["total"] for each in trace.events if each["ph"] == "C"
              and each["name"] == "rounds (rank 1)"]
    assert totals == [1, 2, 3]
    [about] = trace.metadata("selion_trace")
    assert (about["machine"], about["ranks"]) == (machine, ranks)
    traces.check_nesting(trace)


@pytest.mark.parametrize("machine", real)
def test_arrows_from_signals_to_the_waits_that_they_end(machine: str, tmp_path: Path):
    trace = traced(tmp_path / "trace.json", machine)
    pairs = traces.arrows(trace)
    ranks = machines[machine]
    # Each of a rank's four waits was ended by one of its neighbour's four signals, the first and
    # the last of which lie at one address and have one value.
    assert traces.names_of(pairs) == {("put_signal", "wait: signal"): 4 * ranks}
    for begin, end in pairs:
        assert begin["args"]["to"] == int(trace.tracks[end["tid"]].split()[1])
        assert begin["ts"] <= end["ts"] + end["dur"]
    assert len({id(end) for _, end in pairs}) == 4 * ranks


@pytest.mark.parametrize("machine", virtual)
def test_arrows_of_every_message(machine: str, tmp_path: Path):
    trace = traced(tmp_path / "trace.json", machine)
    pairs = traces.arrows(trace)
    counts = traces.names_of(pairs)
    ranks = machines[machine]
    assert counts["put", "put"] == puts * ranks
    assert counts["put_signal", "put"] == 3 * ranks
    assert counts["put_signal", "signal"] == ranks
    for name in ("get", "atomic"):
        assert counts[name, name] == counts[name, "answer"] == 3 * ranks
    assert counts["send", "put"] + counts["send", "signal"] > 0  # within collectives
    for begin, end in pairs:
        from_track, to_track = trace.tracks[begin["tid"]], trace.tracks[end["tid"]]
        if end["cat"] == "arrival":
            assert from_track.split()[1] == str(end["args"]["from"])
            assert to_track.endswith(" arrivals") and end["ts"] > begin["ts"]
            assert begin["args"]["bytes"] == end["args"]["bytes"]
        else:  # the wait that an arrival ended
            assert end["cat"] == "wait" and begin["cat"] == "arrival"
            assert from_track == f"{to_track} arrivals"
            assert traces.end_ps(end) == traces.end_ps(begin)
    # Every message arrives, and every arrival has left somewhere.
    arrivals = [each for track, slices in trace.slices.items() if track.endswith("arrivals")
                for each in slices]
    assert {id(end) for _, end in pairs if end["cat"] == "arrival"} == {id(a) for a in arrivals}


@pytest.mark.parametrize("machine", ["sim:crossbar,ranks=4", "sim:sp-lapi,ranks=4",
                                     "sim:sp-lapi,ranks=4,progress=interrupt"])
def test_what_handlers_do_is_beside_what_their_ranks_do(machine: str, tmp_path: Path):
    path = tmp_path / "trace.json"
    assert run("recorded", "handlers", machine=machine, SELION_TRACE=str(path)).status == 0
    trace = traces.read(path)
    traces.check_nesting(trace)
    sent = [begin for begin, end in traces.arrows(trace) if end["name"] == "message"
            and end["args"]["from"] == 1 and trace.tracks[end["tid"]] == "rank 3 arrivals"]
    assert len(sent) == 50
    assert {trace.tracks[each["tid"]] for each in sent} == {"rank 1 handlers"}
    assert {each["name"] for each in sent} <= {"send", "rpc_oneway"}
    # Each put of the rank has kept its own arrow.
    assert traces.names_of(traces.arrows(trace))["put", "put"] == 200


@pytest.mark.parametrize("machine", ["sim:niagara2,ranks=4", "sim:clovertown,ranks=3"])
def test_arrows_among_simulated_threads(machine: str, tmp_path: Path):
    """No end without a beginning: within collectives there are none."""
    found = traces.arrows(traced(tmp_path / "trace.json", machine))
    assert {end["name"] for _, end in found} == {"wait: signal"}


def test_each_copy_of_an_array_has_an_arrow(tmp_path: Path):
    path = tmp_path / "trace.json"
    assert run("recorded", "replicas", machine="sim:multispert,boards=4,broadcast=on",
               SELION_TRACE=str(path)).status == 0
    trace = traces.read(path)
    ends = [each["id"] for each in trace.events if each["ph"] == "f"]
    assert len(ends) == len(set(ends))
    copies = [(begin, end) for begin, end in traces.arrows(trace)
              if end["cat"] == "arrival" and end["args"]["bytes"] == 256 * 8]
    assert len(copies) == 5 * 4
    for begin, end in copies:
        assert begin["name"] == "send" and begin["ts"] <= end["ts"]


@pytest.mark.parametrize("machine", virtual)
def test_links(machine: str, tmp_path: Path):
    meters = tmp_path / "meters.jsonl"
    path = tmp_path / "trace.json"
    outcome = run("tracing", str(puts), "return", machine=machine, SELION_TRACE=str(path),
                  SELION_METERS=str(meters))
    assert outcome.status == 0
    rows = [row for row in map(json.loads, meters.read_text().splitlines()) if "link" in row]
    assert len(rows) == 2 * machines[machine]  # a port out and a port in for each rank
    for row in rows:
        assert set(row) == {"link", "messages", "bytes", "busy_ps", "wait_ps", "run_ps"}
        assert row["messages"] > puts and row["bytes"] > 4 * puts and row["busy_ps"] > 0
    shown = traces.read(path).metadata("link")
    assert [{key: row[key] for key in rows[0]} for row in shown] == rows
    [run_ps] = {row["run_ps"] for row in shown}
    assert all(row["busy_ps"] <= run_ps for row in shown)


# --- virtual time ---------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [*virtual, "sim:crossbar,context=threads"])
def test_equal_runs_give_equal_bytes(machine: str, tmp_path: Path):
    for name in ("first", "second"):
        traced(tmp_path / name, machine)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@pytest.mark.parametrize("machine", virtual)
def test_recording_takes_no_virtual_time(machine: str, tmp_path: Path):
    plain = run("tracing", str(puts), "return", machine=machine)
    assert plain.out.count("has the sum") == machines[machine]
    for settings in ({"SELION_TRACE": str(tmp_path / "trace.json")}, {"SELION_METERS": "1"}):
        recorded = run("tracing", str(puts), "return", machine=machine, **settings)
        assert recorded.out == plain.out


def test_traces_of_virtual_time_know_nothing_of_the_host(tmp_path: Path):
    path = tmp_path / "trace.json"
    trace = traced(path, "sim:crossbar")
    [about] = trace.metadata("selion_trace")
    assert about["time"] == "virtual" and "event_cost_ns" not in about
    assert str(tmp_path) not in path.read_text()


# --- jobs that do not return ----------------------------------------------------------------------


#: Who does not end within half a second is killed, and its last events are lost: so it is meant. A
#: busy host may hold a rank up for so long.
rarely_held_up = trying(attempt=range(3))


def expect_everything(path: Path, ranks: int, ended: int = 0) -> None:
    """All that the ranks did before they stayed is there."""
    trace = traces.read(path)
    assert {len(own) for own in trace.of_ranks("put", ranks)} == {puts}
    assert {len(own) for own in trace.of_ranks("round", ranks)} == {3}
    assert len(trace.ended_ranks()) == ended


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("machine", machines)
@rarely_held_up
def test_an_interrupted_job_leaves_all_that_was_recorded(machine: str, number: signal.Signals,
                                                         tmp_path: Path, attempt: int):
    path = tmp_path / f"trace-{attempt}.json"
    ranks = machines[machine]
    with Job("tracing", str(puts), "stay", machine=machine, SELION_TRACE=str(path)) as job:
        job.processes(ranks)
        os.killpg(job.process.pid, number)
        assert job.end(within=soon).status == -number
    expect_everything(path, ranks)


@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
def test_a_signal_is_not_lost_because_its_rank_returns_meanwhile(machine: str, tmp_path: Path):
    """What is recorded is written first, which takes a while."""
    for attempt in range(5):
        outcome = run("tracing", "20000", "term", machine=machine,
                      SELION_TRACE=str(tmp_path / f"{attempt}.json"))
        assert outcome.status == 128 + signal.SIGTERM, outcome.err
        assert "signal 15" in outcome.err


@pytest.mark.parametrize("machine", ["threads:3@3", "processes:3", "sim:crossbar,ranks=3"])
def test_a_killed_job_leaves_all_but_the_last_part(machine: str, tmp_path: Path):
    path = tmp_path / "trace.json"
    count = 25_000
    with Job("tracing", str(count), "stay", machine=machine, SELION_TRACE=str(path)) as job:
        job.processes(3)
        os.killpg(job.process.pid, signal.SIGKILL)
        job.end(within=soon)
    trace = traces.read(path)
    for own in trace.of_ranks("put", 3):
        assert count - chunk <= len(own) <= count
    assert trace.ended_ranks() == set()


@pytest.mark.parametrize("machine", ["processes:3", "processes:2x2"])
@rarely_held_up
def test_the_others_keep_all_when_one_process_is_killed(machine: str, tmp_path: Path,
                                                        attempt: int):
    path = tmp_path / f"trace-{attempt}.json"
    count = 25_000
    ranks = machines[machine]
    with Job("tracing", str(count), "stay", machine=machine, SELION_TRACE=str(path)) as job:
        processes = job.processes(ranks)
        os.kill(processes[ranks - 1], signal.SIGKILL)
        assert job.end(within=soon).status == 128 + signal.SIGKILL
    own = traces.read(path).of_ranks("put", ranks)
    for rank, slices in enumerate(own):
        if processes[rank] == processes[ranks - 1]:
            assert count - chunk <= len(slices) <= count
        else:
            assert len(slices) == count


@pytest.mark.parametrize("end", ["throw", "exit"])
@pytest.mark.parametrize("machine", real)
@rarely_held_up
def test_a_job_that_one_rank_ends_leaves_all_that_was_recorded(machine: str, end: str,
                                                               tmp_path: Path, attempt: int):
    path = tmp_path / f"trace-{attempt}.json"
    outcome = run("tracing", str(puts), end, machine=machine, SELION_TRACE=str(path))
    assert outcome.status == {"throw": 1, "exit": 7}[end]
    expect_everything(path, machines[machine])


@pytest.mark.parametrize("end", ["segv", "abort"])
@pytest.mark.parametrize("machine", real)
@rarely_held_up
def test_a_crash_leaves_all_that_was_recorded(machine: str, end: str, tmp_path: Path,
                                              attempt: int):
    path = tmp_path / f"trace-{attempt}.json"
    outcome = run("tracing", str(puts), end, machine=machine, SELION_TRACE=str(path))
    assert outcome.status != 0
    expect_everything(path, machines[machine])


@patiently
def test_a_hang_that_ends_the_job_leaves_all_that_was_recorded(tmp_path: Path, timeout: str):
    path = tmp_path / f"trace-{timeout}.json"
    outcome = run("tracing", str(puts), "deadlock", machine="threads:3", SELION_TRACE=str(path),
                  SELION_HANG_TIMEOUT=timeout, SELION_HANG_ACTION="abort")
    assert outcome.status == 1
    expect_everything(path, 3)


@pytest.mark.parametrize("end", ["deadlock", "throw"])
def test_a_simulated_job_that_ends_early(end: str, tmp_path: Path):
    path = tmp_path / "trace.json"
    outcome = run("tracing", str(puts), end, machine="sim:crossbar", SELION_TRACE=str(path))
    assert outcome.status == 1
    expect_everything(path, 8)


def test_a_simulated_death(tmp_path: Path):
    path = tmp_path / "trace.json"
    outcome = run("tracing", str(puts), "return", machine="sim:crossbar,kill=2@60us",
                  SELION_TRACE=str(path))
    assert outcome.status == 1 and "was killed" in outcome.err
    trace = traces.read(path)
    assert {len(own) for own in trace.of_ranks("put", 8)} == {puts}
    assert all(each["ts"] <= 60 for slices in trace.slices.values() for each in slices)


@pytest.mark.parametrize(("since", "said"), [
    ("before", "during: the program the runtime\nafterwards: the program nobody\n"),
    ("during", "first: the runtime the runtime\nduring: the program the runtime\n"
               "afterwards: the program nobody\n")])
def test_a_program_that_handles_its_signals_keeps_them(since: str, said: str, tmp_path: Path):
    """SIGTERM is the program's own, SIGINT is not."""
    outcome = run("surroundings", "handling", since, machine="threads:2",
                  SELION_TRACE=str(tmp_path / "trace.json"))
    assert outcome.out == said
    assert outcome.status == 0


def test_a_child_of_a_rank_has_its_own_signals(tmp_path: Path):
    """A program that a rank starts, and a copy of the rank, die of signals as usual."""
    outcome = run("surroundings", "children", machine="threads:2",
                  SELION_TRACE=str(tmp_path / "trace.json"))
    assert outcome.out == "fork died of 15\nexec died of 15\n"
    assert outcome.status == 0
    assert traces.read(tmp_path / "trace.json").ended_ranks() == {"rank 0", "rank 1"}


def test_a_full_disk_stops_the_trace_and_not_the_job(tmp_path: Path):
    def prepare() -> None:
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))

    path = tmp_path / "trace.json"
    outcome = run("tracing", "30000", "return", machine="threads:2", SELION_TRACE=str(path),
                  prepare=prepare)
    assert outcome.status == 0
    assert "the trace stops: cannot write" in outcome.err
    assert outcome.err.count("\n") <= 3
    assert len(traces.read(path).events) > 100
