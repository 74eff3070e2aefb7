# SPDX-License-Identifier: Apache-2.0
"""Jobs on the machine `fabric`: how they are launched and refused, and that whatever happens to one
rank ends all of them in bounded time, with a sentence and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from jobs import (
    clean_environment, is_alive, is_sanitized, limit, programs, site, trying, wait_until_gone,
)
from launched import Launched, skip_without_fabric, soon

skip_without_fabric()


def test_ranks_find_each_other_without_being_told():
    with Launched(3, "test_mailbox", "right", SELION_VERBOSE="1") as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    hosts = re.findall(r"fabric:3: rank (\d) of 3 on host (\S+) over (\S+) on", outcome.err)
    assert sorted(int(rank) for rank, *_ in hosts) == [0, 1, 2]
    assert len({(host, provider) for _, host, provider in hosts}) == 1


@pytest.mark.parametrize("machine", ["fabric", "fabric,progress=interrupt"])
def test_idle_ranks_sleep(machine: str):
    with Launched(2, "test_dying", "none", "1", "barrier", SELION_MACHINE=machine) as job:
        processes = job.processes(2)
        job.wait_for("^dying$")
        assert max(_shares(job, processes.values())) <= 0.1


@pytest.mark.parametrize("changes", [
    {}, {"SELION_TEST_HOSTS": "2"}, {"SELION_TEST_HOSTS": "2", "SELION_RANK_DEATH": "report"},
    {"SELION_MACHINE": "fabric:x2,progress=interrupt", "SELION_TEST_HOSTS": "2"}])
def test_a_job_ends_when_what_handlers_send_is_handled(changes: dict[str, str]):
    with Launched(3, "test_completing", "relay", **changes) as job:
        outcome = job.end(within=soon)
    assert (outcome.status, outcome.err) == (0, "")
    assert sorted(outcome.out.split()) == ["many", "passed"]


def _cpu_ticks(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def _shares(job: Launched, processes: Collection[int]) -> list[float]:
    """Of a processor, that each uses in a job that waits."""
    job.run_for(1)  # beyond their patience
    start = time.monotonic()
    before = {one: _cpu_ticks(one) for one in processes}
    job.run_for(2)
    used = [_cpu_ticks(one) - before[one] for one in processes]
    return [ticks / os.sysconf("SC_CLK_TCK") / (time.monotonic() - start) for ticks in used]


deaths = {
    "segv": "rank 1 of 3 died of Segmentation fault",
    "abort": "rank 1 of 3 died of Aborted",
    "throw": "rank 1 of 3 ended with an exception of type std::runtime_error: the cause is told",
    "exit0": r"rank 1 of 3 called exit\(0\) before its function returned",
    "exit7": r"rank 1 of 3 called exit\(7\) before its function returned",
}


@pytest.mark.parametrize("how", deaths)
def test_a_death_is_told_and_ends_all(how: str):
    if is_sanitized and how in ("segv", "abort"):
        pytest.skip("the sanitizer reports fatal signals itself")
    with Launched(3, "test_dying", how, "1", "barrier") as job:
        processes = job.processes(3)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(deaths[how], outcome.err), outcome.err
    assert not wait_until_gone(processes.values(), soon)


def test_a_death_is_told_whatever_networks_do_with_signals():
    """Plugins of libfabric take fatal signals for themselves, if no launcher tells them not to."""
    if is_sanitized:
        pytest.skip("the sanitizer reports fatal signals itself")
    before = ("env", "-u", "IPATH_NO_BACKTRACE", "-u", "HFI_NO_BACKTRACE")
    with Launched(3, "test_dying", "segv", "1", "barrier", before=before) as job:
        outcome = job.end(within=soon)
    assert re.search(deaths["segv"], outcome.err), outcome.err
    assert "called exit" not in outcome.err


def test_a_rank_that_is_killed_ends_all():
    with Launched(3, "test_dying", "none", "1", "busy") as job:
        processes = job.processes(3)
        job.wait_for("^dying$")
        os.kill(processes[1], signal.SIGKILL)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(r"rank 1\b", outcome.err), outcome.err
    assert not wait_until_gone(processes.values(), soon)


def test_an_interrupt_ends_all():
    with Launched(3, "test_dying", "none", "1", "busy") as job:
        processes = job.processes(3)
        job.wait_for("^dying$")
        os.kill(job.process.pid, signal.SIGINT)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert not wait_until_gone(processes.values(), soon)


def test_ranks_do_not_outlive_their_launcher():
    with Launched(3, "test_dying", "none", "1", "busy") as job:
        processes = job.processes(3)
        job.wait_for("^dying$")
        os.kill(job.process.pid, signal.SIGKILL)
        left = wait_until_gone(processes.values(), soon)
        for one in left:
            os.kill(one, signal.SIGKILL)
    assert not left


def test_processes_do_not_outlive_their_launcher_between_jobs(tmp_path: Path):
    words = tmp_path / "words"  # the launcher passes nothing on when it is gone
    command = f"exec {programs / 'test_surroundings'} resting 2>>{words}"
    with Launched(2, "/bin/sh", "-c", command) as job:
        processes = job.processes(2)
        job.wait_for("^resting$", 2)
        os.kill(job.process.pid, signal.SIGKILL)
        left = wait_until_gone(processes.values(), soon)
        for one in left:
            os.kill(one, signal.SIGKILL)
    assert not left
    assert sorted(re.findall(r"process (\d) of 2 on host \S+: the launcher is gone .*; it ends",
                             words.read_text())) == ["0", "1"]


def _listening_ports(process: int) -> list[tuple[str, int]]:
    """Address and port of each TCP socket on which a process listens."""
    own = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            own |= set(re.findall(r"^socket:\[(\d+)\]$", os.readlink(entry)))
    lines = Path(f"/proc/{process}/net/tcp").read_text().split("\n")[1:]
    rows = [line.split() for line in lines if line]
    listening = [row[1].split(":") for row in rows if row[3] == "0A" and row[9] in own]
    return [(socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16))
            for host, port in listening]


@pytest.mark.skipif(sys.byteorder != "little", reason="the kernel prints addresses as it has them")
def test_strangers_are_not_minded():
    with Launched(2, "test_dying", "none", "1", "barrier", SELION_FABRIC_INTERFACE="lo",
                  SELION_MACHINE="fabric,direct=off",
                  SELION_FABRIC_PROVIDER="tcp;ofi_rxm") as job:
        processes = job.processes(2)
        job.wait_for("^dying$")
        places = [place for one in processes.values() for place in _listening_ports(one)]
        assert {host for host, _ in places} == {"127.0.0.1"}
        for garbage in (b"\0" * 3000, bytes(range(256)) * 20, b"GET / HTTP/1.0\r\n\r\n"):
            for place in places:
                with contextlib.suppress(OSError), socket.create_connection(place, limit) as line:
                    line.sendall(garbage)
        job.run_for(1)
        assert all(is_alive(one) for one in processes.values())
        assert job.err == ""


# --- how it must not be launched ------------------------------------------------------------------


def _refusal(*command, **changes: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, env=clean_environment(**changes), capture_output=True, text=True,
                          timeout=limit)


def test_alone_it_says_how_to_launch():
    out = _refusal(programs / "test_dying", "none", "9", SELION_MACHINE="fabric")
    assert out.returncode == 1
    assert "no PMIx server answers" in out.stderr and "mpirun -n 4" in out.stderr


def test_tasks_without_a_server_are_refused():
    out = _refusal(programs / "test_dying", "none", "9", PMI_SIZE="4", PMI_RANK="2")
    assert out.returncode == 1
    assert "PMI_SIZE says that 4 processes" in out.stderr
    assert "srun --mpi=pmix" in out.stderr


@pytest.mark.parametrize("spec, sentence", {
    "fabric:0": '"0" is not a number of ranks',
    "fabric:x0": '"0" is not a number of ranks in each process (1 to 1048575); legal forms are',
    "fabric:x": '"" is not a number of ranks in each process',
    "fabric:4x": '"" is not a number of ranks in each process',
    "fabric:ax4": '"a" is not a number of processes',
    "fabric:x64@2": "none of them fibers: leave the @ out",
    "fabric,direct=maybe": "direct=maybe is neither on nor off",
    "fabric,direct=on,progress=interrupt": "leave direct=on out",
    "fabric,progress=seldom": "progress=seldom is no way of progress",
}.items())
def test_specs_that_are_wrong_are_explained(spec: str, sentence: str):
    out = _refusal(programs / "test_dying", "none", "9", SELION_MACHINE=spec)
    assert out.returncode == 2
    assert sentence in out.stderr


@pytest.mark.parametrize("changes, sentence", [
    ({"SELION_MACHINE": "fabric:3"}, "the launcher has started 2;"),
    ({"SELION_MACHINE": "fabric:4"}, "the launcher has started 2, and fabric:x2 has 4 ranks"),
    ({"SELION_MACHINE": "fabric:4x2"}, "the launcher has started 2;"),
    ({"SELION_MACHINE": "fabric:x1048575"}, "more than 1048575 ranks"),
    ({"SELION_FABRIC_PROVIDER": "carrier-pigeon"}, "no usable provider"),
    ({"SELION_FABRIC_INTERFACE": "nowhere0"}, "no usable provider"),
])
def test_wishes_that_cannot_be_met_are_explained(changes: dict, sentence: str):
    with Launched(2, "test_dying", "none", "9", **changes) as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert sentence in outcome.err


def test_too_few_files_are_told_at_the_start():
    command = f"ulimit -n 24; exec {programs / 'test_mailbox'} right"
    with Launched(3, "/bin/sh", "-c", command) as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(r"rank \d of 3 on host \S+: it may open 24 files and needs \d+ for "
                     r"connections to 3 ranks; raise the limit on its host: ulimit -n \d+",
                     outcome.err), outcome.err


def test_a_limit_of_files_is_raised_where_that_is_allowed():
    command = f"ulimit -S -n 24; exec {programs / 'test_mailbox'} right"
    with Launched(3, "/bin/sh", "-c", command) as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err


@trying(timeout=("0.5", "4", "20"))
def test_a_completion_handler_that_waits_for_ever_is_told(timeout: str):
    with Launched(2, "test_completing", "stuck", SELION_MACHINE="fabric,progress=interrupt",
                  SELION_HANG_TIMEOUT=timeout, SELION_HANG_ACTION="abort") as job:
        outcome = job.end(within=soon + float(timeout))
    assert outcome.status != 0
    assert re.search(r"hang: .* rank 1 of 2 on host \S+ waits in its completion handlers at \S+; a "
                     r"completion handler of it waits in wait_until at "
                     rf"{re.escape(site('completing.cpp', 'stuck'))}\n", outcome.err), outcome.err


@pytest.mark.parametrize("what, call", [
    ("send", "send"), ("block", "send"), ("put", "put"), ("get", "get"), ("atomic", "an atomic"),
    ("quiet", "quiet"),
])
@trying(timeout=("0.5", "4", "20"))
def test_a_call_that_nobody_serves_is_told_with_its_line(what: str, call: str, timeout: str):
    with Launched(2, "test_waiting", "vain", what, SELION_MACHINE="fabric,direct=off",
                  SELION_HANG_TIMEOUT=timeout, SELION_HANG_ACTION="abort") as job:
        outcome = job.end(within=soon + float(timeout))
    assert outcome.status != 0
    assert re.search(rf"hang: {timeout} s are over: rank 0 of 2 on host \S+ waits in {call} at "
                     rf"{re.escape(site('waiting.cpp', what))}\n", outcome.err), outcome.err


def test_what_has_been_started_last_is_told():
    with Launched(2, "test_dying", "throw", "1", "starts") as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(r"rank 1 of 2 .*, in its own code, after broadcast at "
                     rf"{re.escape(site('dying.cpp', 'start'))}\b", outcome.err), outcome.err


@pytest.mark.parametrize("checked, hint", [
    ("off", r"; perhaps the ranks disagree in kind, .* \(SELION_CHECK_CALLS=on tells most of that "
            r"at the call\)"),
    ("on", ""),
])
@trying(timeout=("0.5", "4", "20"))
def test_a_hang_in_a_collective_names_what_compares_them(checked: str, hint: str, timeout: str):
    with Launched(2, "test_waiting", "skip", SELION_CHECK_CALLS=checked,
                  SELION_HANG_TIMEOUT=timeout) as job:
        told = rf"hang: {timeout} s are over: rank {{}} of 2 on host \S+ waits in {{}} at "
        job.wait_for(told.format(0, r"barrier #\d") +
                     re.escape(site("waiting.cpp", "barrier")) + hint + "$")
        job.wait_for(told.format(1, "wait_until") +
                     re.escape(site("waiting.cpp", "instead")) + "$")
