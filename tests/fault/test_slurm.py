# SPDX-License-Identifier: Apache-2.0
"""Jobs on the machine `fabric` that Slurm starts: `srun --mpi=pmix`."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence

import pytest
from jobs import Job, programs, wait_until_gone
from launched import skip_without_fabric, soon
from slurm_cluster import Absent, slurm_cluster

skip_without_fabric()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    try:
        with slurm_cluster(tmp_path_factory.mktemp("slurm")) as variables:
            yield variables
    except Absent as why:
        pytest.skip(f"no Slurm: {why}")


class Srun(Job):
    def __init__(self, cluster: dict[str, str], ranks: int, program: str, *arguments: str,
                 mpi: str = "pmix", options: Sequence[str] = (), **changes: str):
        launch = [shutil.which("srun"), f"--mpi={mpi}", "-n", str(ranks), *options,
                  programs / program]
        super().__init__(program, *arguments, command=launch, **cluster, **changes)


def test_ranks_meet(cluster):
    with Srun(cluster, 4, "test_mailbox", "right", SELION_VERBOSE="1") as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    found = re.findall(r"fabric:4: rank (\d) of 4 on host", outcome.err)
    assert sorted(found) == ["0", "1", "2", "3"]


def test_several_ranks_of_a_process_meet(cluster):
    with Srun(cluster, 2, "test_mailbox", "right", SELION_MACHINE="fabric:x2",
              SELION_VERBOSE="1") as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
    found = re.findall(r"rank (\d) of 4 on host", outcome.err)
    assert sorted(found) == ["0", "1", "2", "3"]


@pytest.mark.skipif(not (programs / "conformance_tests").exists(), reason="it is not built")
def test_operations(cluster):
    kinds = "put_get*:signal*:litmus*:atomics*:message*:rpc*:completion*:broadcast*"
    with Srun(cluster, 3, "conformance_tests", "--gtest_brief=1", f"--gtest_filter={kinds}",
              SELION_TUNING="off") as job:
        outcome = job.end()
    assert outcome.status == 0, outcome.out + outcome.err


def test_a_death_is_told_and_ends_all(cluster):
    with Srun(cluster, 3, "test_dying", "throw", "1", "barrier") as job:
        processes = job.processes(3)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert "rank 1 of 3 ended with an exception of type std::runtime_error" in outcome.err
    assert not wait_until_gone(processes.values(), soon)


def test_a_rank_that_is_killed_ends_all(cluster):
    with Srun(cluster, 3, "test_dying", "none", "1", "busy") as job:
        processes = job.processes(3)
        job.wait_for("^dying$")
        os.kill(processes[1], signal.SIGKILL)
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert re.search(r"\b1\b.*Killed|rank 1\b", outcome.err), outcome.err
    assert not wait_until_gone(processes.values(), soon)


def test_a_rank_that_is_killed_is_outlived(cluster):
    with Srun(cluster, 3, "test_outliving", "pending", "1", "0", SELION_RANK_DEATH="report",
              options=["--kill-on-bad-exit=0"]) as job:
        processes = job.processes(3)
        job.wait_for("^dying$")
        os.kill(processes[1], signal.SIGKILL)
        job.wait_for(r"^rank [02] is content$", 2)
        outcome = job.end(within=2 * soon)
    assert outcome.status == 128 + signal.SIGKILL, outcome.err  # Slurm's, of the rank that died
    assert not wait_until_gone(processes.values(), soon)


def test_ranks_do_not_outlive_their_launcher(cluster):
    with Srun(cluster, 3, "test_dying", "none", "1", "busy") as job:
        processes = job.processes(3)
        job.wait_for("^dying$")
        os.kill(job.process.pid, signal.SIGKILL)
        left = wait_until_gone(processes.values(), soon)
        for one in left:
            os.kill(one, signal.SIGKILL)
    # Slurm may think of its job for minutes, as nobody has told it that the launcher is no more.
    subprocess.run(["scancel", "--state=RUNNING", f"--user={getpass.getuser()}"],
                   env={**os.environ, **cluster}, check=True, timeout=soon)
    assert not left


@pytest.mark.parametrize("mpi", ["none", "pmi2"])
def test_tasks_without_pmix_are_refused(cluster, mpi: str):
    with Srun(cluster, 2, "test_dying", "none", "9", mpi=mpi) as job:
        outcome = job.end(within=soon)
    assert outcome.status != 0
    assert "that 2 processes of this program were launched, but no PMIx server is there" in \
        outcome.err
    assert "srun --mpi=pmix" in outcome.err


def test_such_tasks_may_be_jobs_of_their_own(cluster):
    with Srun(cluster, 2, "test_mailbox", "right", mpi="none",
              SELION_MACHINE="threads:2") as job:
        outcome = job.end(within=soon)
    assert outcome.status == 0, outcome.err
