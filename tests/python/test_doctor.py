# SPDX-License-Identifier: Apache-2.0
"""`selion doctor`: what it finds, and that it goes on where it may not look."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import clean_environment, needs_module, seconds, write_script
from selion.doctor import fabric, package, paths, resources

_filtering = ("SELION_FABRIC_PROVIDER", "SELION_FABRIC_INTERFACE", "FI_PROVIDER")


_out_of_reach = "other hosts do not reach it"
_names_another = "SELION_FABRIC_INTERFACE names another one"


@needs_module
def test_doctor(selion):
    checks = json.loads(selion("doctor", "--json").stdout)
    by_name = {check["name"]: check for check in checks}
    for name in ("processors", "memory", "kernel", "memfd_create", "futex", "membarrier",
                 "process memory"):
        assert by_name[name]["status"] in ("ok", "warn"), by_name[name]
    assert by_name["compiled module"]["status"] == "ok"
    assert by_name["machine threads"]["status"] == "ok"
    for check in checks:
        assert (check["cure"] == "") == (check["status"] == "ok")


@needs_module
def test_doctor_of_networks(selion):
    checks = json.loads(selion("doctor", "--fabric", "--json").stdout)
    by_name = {check["name"]: check for check in checks}
    if "leaves it out" in checks[0]["found"]:
        pytest.skip(checks[0]["found"])
    assert "launcher" in by_name
    assert re.match(r"at most (\d+|as many as there are)$", by_name["open files"]["found"])
    low = subprocess.run(["/bin/sh", "-c", f"ulimit -n 256; ulimit -l 64; exec {sys.executable} -m "
                                           "selion doctor --fabric --json"],
                         env=clean_environment(), capture_output=True, text=True, timeout=seconds)
    cures = {check["name"]: check["cure"] for check in json.loads(low.stdout)}
    assert "ulimit -n" in cures["open files"] and "ulimit -l" in cures["locked memory"]
    skipped = [check for name, check in by_name.items() if name.endswith(" on lo")]
    assert all("other hosts do not reach it" in check["found"] or "not tried" in check["found"]
               for check in skipped)
    offered = [check["found"] for name, check in by_name.items() if " on " in name]
    form = re.compile(r"; (one stream between two ranks|no single stream), moves (no )?memory.*, "
                      r"(no|has) atomics.*, (wakes idle ranks|idle ranks look every millisecond)$")
    assert all(form.search(found) for found in offered), offered
    for wish in ({"SELION_FABRIC_INTERFACE": "nowhere0"}, {"SELION_FABRIC_INTERFACE": "lo"},
                 {"SELION_FABRIC_PROVIDER": "shm"}):
        wished = json.loads(selion("doctor", "--fabric", "--json", **wish).stdout)
        assert wished[0]["status"] == "fail", wish
        assert not any(check["found"].startswith("chosen") for check in wished), wish


def test_doctor_tells_why_a_faster_network_is_skipped():
    def offer(provider: str, why_not: str = "", is_chosen: bool = False) -> SimpleNamespace:
        return SimpleNamespace(provider=provider, why_not=why_not, is_chosen=is_chosen)

    ranking = ["efa", "verbs", "tcp", "udp"]
    offers = [offer("verbs", "other hosts do not reach it"), offer("tcp", is_chosen=True)]
    (check,) = fabric.faster_check(offers, ranking)
    assert check.name == "before tcp"
    assert check.found == ("verbs: other hosts do not reach it; efa: libfabric finds none that has "
                           "reliable datagrams")
    (check,) = fabric.faster_check([offer("efa", is_chosen=True)], ranking)
    assert check.found == "nothing comes before it"
    assert fabric.faster_check([offer("udp", "not wished for")], ranking) == []


@pytest.mark.parametrize(("reasons", "environment", "found", "cure"), [
    ([], {}, "none with reliable datagrams", "bring up an interface"),
    ([], {"FI_PROVIDER": ""}, "none with reliable datagrams", "unset FI_PROVIDER, or"),
    ([_out_of_reach], {}, "there is loopback only; on one they run", "bring up an"),
    ([_names_another], {"SELION_FABRIC_INTERFACE": "nowhere0"},
     "jobs on several hosts have none; below is why", "unset SELION_FABRIC_INTERFACE, or"),
    ([_names_another, _out_of_reach], {"SELION_FABRIC_INTERFACE": "lo"},
     "have none, below is why; on one they run", "unset SELION_FABRIC_INTERFACE, or"),
])
def test_doctor_tells_why_there_is_no_network(monkeypatch, reasons, environment, found, cure):
    for name in _filtering:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    offers = [SimpleNamespace(why_not=reason, is_chosen=False) for reason in reasons]
    check = fabric.network_check(offers)
    assert check.status == "fail"
    assert found in check.found and check.cure.startswith(cure)


def test_doctor_tells_of_the_filter_of_libfabric(monkeypatch):
    monkeypatch.delenv("FI_PROVIDER", raising=False)
    assert fabric.filter_check() == []
    monkeypatch.setenv("FI_PROVIDER", "^net")
    (check,) = fabric.filter_check()
    assert check.status == "warn" and check.found.startswith("^net: ") and "unset" in check.cure
    (check,) = fabric.faster_check([SimpleNamespace(provider="tcp", is_chosen=True)],
                                   ["net", "tcp"])
    assert check.found == "net: libfabric finds none that has reliable datagrams, with " \
                          "FI_PROVIDER=^net"


@pytest.mark.parametrize(("provider", "is_told"), [("net", False), ("sockets", True),
                                                   ("udp;ofi_rxd", True)])
def test_doctor_warns_of_networks_that_strangers_harm(provider, is_told):
    found = fabric.strangers_check([SimpleNamespace(provider="tcp", is_chosen=False),
                                    SimpleNamespace(provider=provider, is_chosen=True)])
    assert [check.status for check in found] == ["warn"] * is_told
    assert all(provider in check.found for check in found)


def test_doctor_tells_the_ways_between_ranks():
    said = """
        selion: fabric:3: rank 2 of 3 on host b over net on eth0, 32 GiB of symmetric memory \
reserved, all memory its own, idle ranks sleep
        selion: fabric:3: rank 0 of 3 on host a over net on eth0, 32 GiB of symmetric memory \
reserved, memory shared by ranks 0 to 1, idle ranks sleep"""
    first, last = paths.read_places(said)
    near = paths.path_check(first, {"net"})
    assert near.name == "rank 0 on a"
    assert near.found == ("ranks 0 to 1 through shared memory of the host; rank 2 by frames over "
                          "net on eth0, long transfers by moves")
    assert paths.path_check(last, set()).found == (
        "ranks 0 to 1 by frames over net on eth0, long transfers by frames too")


@pytest.mark.parametrize(("content", "found"), [
    ("import signal; signal.pause()", "'srun --mpi=list' has not ended after 0.2 s"),
    ("import sys; sys.stdout.buffer.write(b'\\xff pmix')", "there"),
    ("print('pmi2')", "not there"),
])
def test_doctor_asks_slurm_for_pmix(tmp_path, monkeypatch, content, found):
    write_script(tmp_path / "srun", content)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(fabric, "_limit_seconds", 0.2 if "pause" in content else seconds)
    (check,) = fabric._slurm_check()
    assert check.found == found
    assert check.status == ("ok" if found == "there" else "warn")


def test_doctor_tells_that_slurm_is_no_program(tmp_path, monkeypatch):
    (tmp_path / "srun").write_bytes(b"\x00\x01")
    (tmp_path / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (check,) = fabric._slurm_check()
    assert (check.status, check.found) == ("warn", "srun cannot be started: Exec format error")


def test_doctor_starts_a_job(selion, for_mpirun):
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")
    done = selion("doctor", "--fabric", "-n", "3", "--json", SELION_TEST_HOSTS="2", **for_mpirun)
    checks = json.loads(done.stdout)
    if "leaves it out" in checks[0]["found"] or checks[0]["status"] == "fail":
        pytest.skip(checks[0]["found"])
    ways = [check["found"] for check in checks if check["name"].startswith("rank ")]
    assert len(ways) == 3, done.stdout
    assert all("by frames over" in way for way in ways)
    assert sum("shared memory of the host" in way for way in ways) == 2


@pytest.mark.parametrize(("arguments", "words"), [
    (("-n", "2"), "add --fabric"),
    (("--hosts", "a,b"), "add --fabric"),
    (("--fabric", "--hosts", "a,,b"), "in the list of hosts is none"),
])
def test_doctor_refuses_jobs_that_cannot_be(selion, arguments, words):
    done = selion("doctor", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


@needs_module
def test_doctor_names_unknown_variables(selion):
    done = selion("doctor", SELION_MACHIN="threads:2")
    assert done.returncode == 0
    assert "SELION_MACHIN is set, which nobody reads" in done.stdout
    assert "did you mean SELION_MACHINE?" in done.stdout


@needs_module
@pytest.mark.parametrize("name", ["SELION_HOSTS", "SELION_BIN", "SELION_TEST_HOSTS",
                                  "SELION_JOB_PLACE"])
def test_doctor_knows_variables_of_the_package_and_of_tests(selion, tmp_path, name):
    done = selion("doctor", **{name: "localhost"})
    assert f"{name}=localhost" in done.stdout
    assert "which nobody reads" not in done.stdout


@needs_module
@pytest.mark.parametrize(("name", "value", "words"), [
    ("SELION_HEAP", "lots", "SELION_HEAP=lots is not understood; it takes a size"),
    ("SELION_HANG_ACTION", "shout", "SELION_HANG_ACTION=shout"),
    ("SELION_MACHINE", "thread:2", "'thread' is not a machine (did you mean 'threads'?)"),
    ("SELION_MACHINE", "threads:0", "'threads:0' is not a machine; legal: "),
    ("SELION_MACHINE", "sim:niagra2", "did you mean niagara2?"),
])
def test_doctor_names_values_that_no_job_would_start_with(selion, name, value, words):
    done = selion("doctor", **{name: value})
    assert done.returncode == 1
    [line] = [line for line in done.stdout.splitlines() if line.startswith("fail")]
    assert words in line


def test_doctor_goes_on_where_it_may_not_look(monkeypatch):
    def no_file(self, **_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "read_text", no_file)
    by_name = {check.name: check for check in resources.checks()}
    told = by_name["overcommit"]
    assert (told.status, told.found) == ("warn", "cannot be looked at: [Errno 13] Permission "
                                                 "denied: '/proc/sys/vm/overcommit_memory'")
    assert by_name["processors"].found


@needs_module
def test_doctor_goes_on_where_names_are_too_long(selion):
    done = selion("doctor", SELION_STUDIES="x" * 300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "studies" in done.stdout


def test_doctor_knows_launchers_that_are_none_for_the_machine(tmp_path, monkeypatch):
    write_script(tmp_path / "mpirun", "print('HYDRA build details')")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = fabric._launcher_check()
    assert found.status == "warn"
    assert f"{tmp_path / 'mpirun'} is none of them" in found.found


def test_variables_that_nobody_reads():
    known = ["SELION_HEAP", "SELION_MACHINE"]
    (warning,) = package.unknown_variables(["SELION_HEAP", "SELION_HEEP"], known)
    assert warning.cure == "did you mean SELION_HEAP?"
    (warning,) = package.unknown_variables(["SELION_ZQX"], known)
    assert warning.cure == "legal: SELION_HEAP, SELION_MACHINE"


def test_limits_of_control_groups_are_found(tmp_path, monkeypatch):
    own = tmp_path / "cpu.max"
    monkeypatch.setattr(
        resources, "own_cgroup_files", lambda _, name: [own] if name == "cpu.max" else []
    )
    own.write_text("150000 100000\n")
    assert resources._cpu_quota() == 1.5
    own.write_text("max 100000\n")
    assert resources._cpu_quota() is None
