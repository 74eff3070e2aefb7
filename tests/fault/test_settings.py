# SPDX-License-Identifier: Apache-2.0
"""A setting that makes no sense is told in one sentence that names it and what is legal."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest
from jobs import clean_environment, is_sanitized, programs, run

machines = ("threads:2", "processes:2")
all_machines = (*machines, "sim:crossbar,ranks=2")

bad_machines = {
    "threads:0": ['"0" is not a number of ranks', "threads:N"],
    "threads:-1": ['"-1" is not a number of ranks', "threads:N"],
    "threads:99999999999": ["is not a number of ranks", "1 to 1048575"],
    "thread:4": ['no kind "thread"', "did you mean threads?", "threads:N@C", "processes:PxT"],
    "thraeds": ["did you mean threads?"],
    "gpu": ['no kind "gpu"', "processes:PxT"],
    "fabric:0": ['"0" is not a number of', "fabric:N"],
    "fabric:x": ['is not a number of', "fabric:N"],
    "processes:2x": ['"" is not a number of threads', "processes:PxT"],
    "processes:x2": ['"" is not a number of processes', "processes:PxT"],
    "processes:2x2x2": ['"2x2" is not a number of threads', "processes:PxT"],
    "processes:0": ['"0" is not a number of processes', "processes:N"],
    "threads:4@0": ['"0" is not a number of threads', "threads:N@C"],
    "threads:2@4": ["4 threads for 2 ranks", "threads:N@C"],
    "threads:": ["nothing follows the colon"],
    ":4": ["no kind before the colon"],
    "threads:4,fast=on": ['no option "fast"', "direct=on"],
    "threads:4,direct=maybe": ["direct=maybe is neither on nor off"],
    "threads:4,direct": ['option "direct" is not of the form key=value'],
    "threads:4,": ["is not of the form key=value"],
    "threads:4,direct=on,direct=off": ["direct is given twice"],
}
bad_values = {
    ("SELION_HEAP", "banana"): "512M",
    ("SELION_HEAP", "0"): "512M",
    ("SELION_HEAP", "-1G"): "512M",
    ("SELION_HEAP", "2T"): "1 TiB",
    ("SELION_HEAP", "1K"): "1 MiB or more",
    ("SELION_MESSAGE_MEMORY", "1K"): "64 KiB or more",
    ("SELION_MESSAGE_MEMORY", "4194304T"): "1 TiB or less",
    ("SELION_HANG_TIMEOUT", "soon"): "0.5 or 60",
    ("SELION_HANG_TIMEOUT", "1e9999"): "0.5 or 60",
    ("SELION_HANG_ACTION", "explode"): "report, abort",
    ("SELION_BIND", "maybe"): "auto, on, off",
    ("SELION_STACK", "1"): "64 KiB or more",
    ("SELION_STACK", "tall"): "a size such as",
    ("SELION_SPIN", "-1"): "a whole number",
    ("SELION_JOINED_THREADS", "many"): "a whole number",
    ("SELION_THREAD_LEVEL", "all"): "single, serialized, multiple",
    ("SELION_PREFIX", "perhaps"): "on or off",
    ("SELION_VERBOSE", "loud"): "on or off",
    ("SELION_MEMBARRIER", "maybe"): "auto or off",
    ("SELION_CRASH_REPORT", "sometimes"): "on or off",
    ("SELION_CHECK_CALLS", "often"): "on or off",
    ("SELION_PROCESS_MEMORY", "none"): "auto or off",
    ("SELION_RANK_DEATH", "never"): "end, report",
    ("SELION_CACHE_BLOCK", "48"): "a power of two from 8 to 65536",
    ("SELION_CACHE_BLOCK", "128K"): "a power of two from 8 to 65536",
    ("SELION_CACHE_BLOCK", "large"): "a power of two from 8 to 65536",
    ("SELION_FABRIC_TIMEOUT", "long"): "0.5 or 60",
    ("SELION_FABRIC_BATCHES", "some"): "on or off",
}


def complaint(**settings: str) -> str:
    outcome = run("surroundings", "arguments", **settings)
    assert outcome.out == "", settings
    [sentence] = outcome.err.rstrip("\n").split("\n")
    assert sentence.startswith("selion: ")
    assert outcome.status == 2, sentence
    return sentence


@pytest.mark.parametrize("spec", bad_machines)
def test_a_malformed_machine(spec: str):
    sentence = complaint(SELION_MACHINE=spec)
    assert f'machine "{spec}"' in sentence
    for part in bad_machines[spec]:
        assert part in sentence


def test_more_processes_than_the_system_runs():
    limits = ("pid_max", "threads-max")
    most = min(int(Path(f"/proc/sys/kernel/{name}").read_text()) for name in limits)
    if most >= 1_000_000:
        pytest.skip("the system runs a million of them")
    sentence = complaint(SELION_MACHINE="processes:1000000,direct=off")
    assert f"more than this system runs at once ({most} by kernel." in sentence
    assert "threads:N" in sentence


def test_processes_whose_tables_fill_the_memory():
    # Each process has some 280 bytes for each rank of the job.
    if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") > 250 << 30:
        pytest.skip("there is memory for them")
    sentence = complaint(SELION_MACHINE="processes:1000x1000,direct=off")
    assert "1000 processes would take 261.2 GiB of memory before they begin" in sentence


@pytest.mark.parametrize("machine", all_machines)
@pytest.mark.parametrize("setting", bad_values, ids="=".join)
def test_a_malformed_value(machine: str, setting: tuple[str, str]):
    sentence = complaint(SELION_MACHINE=machine, **dict([setting]))
    assert sentence.startswith(f"selion: {'='.join(setting)} is not understood")
    assert bad_values[setting] in sentence


good_values = [("SELION_BIND", "OFF"), ("SELION_BIND", "1"), ("SELION_VERBOSE", "FALSE"),
               ("SELION_HANG_ACTION", "Abort"), ("SELION_THREAD_LEVEL", "SINGLE"),
               ("SELION_MEMBARRIER", "AUTO"), ("SELION_MEMBARRIER", "On"),
               ("SELION_RANK_DEATH", "END"), ("SELION_TUNING", "OFF"), ("SELION_TRACE", "OFF")]


@pytest.mark.parametrize("machine", all_machines)
@pytest.mark.parametrize("setting", good_values, ids="=".join)
def test_words_in_upper_or_lower_case(machine: str, setting: tuple[str, str]):
    outcome = run("surroundings", "arguments", machine=machine, **dict([setting]))
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("machine", ["threads:2,direct=OFF", "processes:2,direct=0"])
def test_switches_of_a_machine(machine: str):
    outcome = run("surroundings", "arguments", machine=machine)
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("machine", all_machines)
def test_a_longer_spin_than_can_be_counted(machine: str):
    outcome = run("surroundings", "arguments", machine=machine, SELION_SPIN=str(2**64 - 1))
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("name", ["SELION_TRACE", "SELION_METERS"])
@pytest.mark.parametrize("machine", machines)
def test_a_file_that_cannot_be_written(machine: str, name: str, tmp_path):
    path = tmp_path / "no such folder" / "file"
    sentence = complaint(SELION_MACHINE=machine, **{name: str(path)})
    assert f"{name}={path}" in sentence and "No such file or directory" in sentence


@pytest.mark.parametrize("machine", machines)
def test_one_file_for_trace_and_meters(machine: str, tmp_path):
    path = tmp_path / "file"
    link = tmp_path / "link"
    link.symlink_to(path)
    other = f"{tmp_path}/./file"
    for meters in (path, other, link):
        path.touch()
        sentence = complaint(SELION_MACHINE=machine, SELION_TRACE=str(path),
                             SELION_METERS=str(meters))
        assert sentence == (f"selion: SELION_METERS and SELION_TRACE both name the file {path}; "
                            "legal are two files")
        assert path.read_text() == ""
    path.unlink()
    assert "both name" in complaint(SELION_MACHINE=machine, SELION_TRACE=str(path),
                                    SELION_METERS=other)
    assert not path.exists()


@pytest.mark.parametrize("machine", machines)
def test_one_file_through_a_link_to_what_is_not_there(machine: str, tmp_path):
    path = tmp_path / "file"
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").symlink_to(".")
    for other in ("link", "folder/link", "folder/file"):
        assert "both name" in complaint(SELION_MACHINE=machine, SELION_TRACE=str(path),
                                        SELION_METERS=str(tmp_path / other))
        assert not path.exists()


@pytest.mark.parametrize("machine", machines)
def test_names_of_which_one_is_the_other_s_of_a_later_job(machine: str, tmp_path):
    for meters, trace in (("x.json", "x.2.json"), ("x.17.json", "x.json"), ("x", "./x.3")):
        sentence = complaint(SELION_MACHINE=machine, SELION_METERS=f"{tmp_path}/{meters}",
                             SELION_TRACE=f"{tmp_path}/{trace}")
        assert sentence == (
            f"selion: SELION_METERS and SELION_TRACE name {tmp_path}/{meters} and "
            f"{tmp_path}/{trace}: a later job of the program would write one of them as its other "
            "file; legal are names of which none is the other with a number")
        assert not list(tmp_path.iterdir())
    for meters, trace in (("x.json", "x.1.json"), ("x.json", "x.02.json"), ("x.json", "x.2.txt"),
                          ("x.json", "x.two.json"), ("x.json", "y.2.json")):
        outcome = run("surroundings", "arguments", machine=machine,
                      SELION_METERS=f"{tmp_path}/{meters}", SELION_TRACE=f"{tmp_path}/{trace}")
        assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("name", ["SELION_TRACE", "SELION_METERS"])
@pytest.mark.parametrize("machine", machines)
def test_a_pipe_whose_reader_may_have_gone(machine: str, name: str, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    sentence = complaint(SELION_MACHINE=machine, **{name: str(path)})
    assert sentence == f"selion: {name}={path}: neither a file nor a device such as /dev/stdout"


@pytest.mark.parametrize("machine", machines)
def test_meters_on_standard_output(machine: str):
    """Which is a pipe here."""
    outcome = run("surroundings", "exchange", machine=machine, SELION_METERS="/dev/stdout")
    assert outcome.status == 0 and '"name":"barrier"' in outcome.out


@pytest.mark.parametrize("name", ["SELION_TRACE", "SELION_METERS"])
@pytest.mark.parametrize("machine", machines)
def test_records_in_the_file_of_the_output(machine: str, name: str, tmp_path):
    """Each would write over the other."""
    environment = clean_environment(SELION_MACHINE=machine, **{name: "/dev/stdout"})
    with (tmp_path / "out").open("w") as out:
        done = subprocess.run([programs / "test_surroundings", "exchange"], stdout=out, text=True,
                              stderr=subprocess.PIPE, timeout=60, env=environment)
    assert done.returncode == 2 and (tmp_path / "out").read_text() == ""
    assert f"{name}=/dev/stdout: standard output goes to this file as well" in done.stderr


@pytest.mark.parametrize("machine", machines)
def test_a_device_takes_trace_and_meters(machine: str):
    outcome = run("surroundings", "arguments", machine=machine, SELION_TRACE="/dev/null",
                  SELION_METERS="/dev/null")
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize("machine", [*machines, "processes:2x2"])
def test_a_variable_that_nobody_reads(machine: str):
    outcome = run("surroundings", "arguments", machine=machine, SELION_HANG_TIMEOT="5",
                  SELION_SOMETHING_ELSE_ENTIRELY="1")
    assert outcome.status == 0
    assert sorted(outcome.err.rstrip("\n").split("\n")) == [
        "selion: warning: SELION_HANG_TIMEOT is not a variable of Selion; did you mean "
        "SELION_HANG_TIMEOUT?",
        "selion: warning: SELION_SOMETHING_ELSE_ENTIRELY is not a variable of Selion",
    ]


@pytest.mark.skipif(is_sanitized, reason="a sanitizer needs the address space itself")
@pytest.mark.parametrize("machine", machines)
def test_too_little_address_space(machine: str):
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, hard))

    outcome = run("surroundings", "arguments", machine=machine, prepare=prepare, SELION_HEAP="1G")
    fitting = run("surroundings", "arguments", machine=machine, prepare=prepare)
    [sentence] = outcome.err.rstrip("\n").split("\n")
    assert sentence.startswith("selion: cannot ")
    for part in ("2 ranks of 1 GiB each", "SELION_HEAP", "ulimit -v"):
        assert part in sentence
    assert outcome.status == 1 and outcome.out == ""
    assert fitting.status == 0 and fitting.err == ""


@pytest.mark.skipif(is_sanitized, reason="a sanitizer maps more than that")
@pytest.mark.parametrize(("limit", "name"), [(resource.RLIMIT_AS, "`ulimit -v`"),
                                             (resource.RLIMIT_DATA, "`ulimit -d`")])
@pytest.mark.parametrize(("change", "named"), [
    ({"SELION_HEAP": "1G"}, "SELION_HEAP"),
    ({"SELION_MESSAGE_MEMORY": "1G", "SELION_HEAP": "64M"}, "SELION_MESSAGE_MEMORY"),
    ({"SELION_STACK": "512M", "SELION_HEAP": "64M"}, "SELION_STACK"),
])
@pytest.mark.parametrize("machine", ["threads:4@2", "sim:crossbar,ranks=4"])
def test_what_is_too_large_and_the_limit_are_named(machine: str, change: dict[str, str], named: str,
                                                   limit: int, name: str):
    if machine.startswith("sim") and named != "SELION_STACK":
        pytest.skip("its memory is another")

    def prepare() -> None:
        resource.setrlimit(limit, (1 << 30, 1 << 30))

    outcome = run("surroundings", "arguments", machine=machine, prepare=prepare, **change)
    [sentence] = outcome.err.rstrip("\n").split("\n")
    assert sentence.startswith("selion: cannot map ")
    assert f"set {named} to a smaller size" in sentence
    assert f"raise {name}" in sentence
    assert outcome.status == 1 and outcome.out == ""


@pytest.mark.parametrize("machine", machines)
def test_more_address_space_than_a_process_has(machine: str):
    outcome = run("surroundings", "arguments", machine=machine.replace("2", "512"),
                  SELION_HEAP="1T")
    [sentence] = outcome.err.rstrip("\n").split("\n")
    assert "512 ranks of 1 TiB each" in sentence and "SELION_HEAP" in sentence
    assert outcome.status == 1 and outcome.out == ""


@pytest.mark.parametrize("machine", [*machines, "threads:2,direct=off"])
def test_an_allocation_that_does_not_fit(machine: str):
    outcome = run("surroundings", "allocate", str(1 << 30), machine=machine, SELION_HEAP="64M")
    assert outcome.status == 1
    [sentence] = outcome.err.rstrip("\n").split("\n")
    for part in ("ended with an exception of type selion::error", "out of symmetric memory",
                 "asks for 1 GiB", "of the 64 MiB reserved", "set SELION_HEAP"):
        assert part in sentence


def test_memory_that_the_host_does_not_have():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    outcome = run("surroundings", "allocate", str(memory), machine="threads:2")
    assert outcome.status == 1
    [sentence] = outcome.err.rstrip("\n").split("\n")
    assert "out of symmetric memory" in sentence


def test_binding_more_ranks_than_processors_is_no_mistake():
    outcome = run("surroundings", "status", "0", machine="processes:8", SELION_BIND="on")
    assert outcome.status == 0
