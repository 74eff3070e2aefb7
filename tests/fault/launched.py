# SPDX-License-Identifier: Apache-2.0
"""Jobs of the machine `fabric`, as mpirun starts them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

import pytest
from jobs import Job, clean_environment, limit, programs
from two_hosts import TwoHosts

#: The launcher asks its daemons first, and gives ranks a second to end by themselves: where
#: nobody else has the processors, all is over in a tenth of this.
soon = 30.0

mpirun = shutil.which("mpirun") or ""

#: What Open MPI's launcher needs here: root, and more ranks than processors.
for_mpirun = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def _kinds() -> str:
    command = [programs / "test_misusing", "build"]
    environment = clean_environment(SELION_MACHINE="fabric")
    return subprocess.run(command, env=environment, capture_output=True, text=True,
                          timeout=limit).stderr


def skip_without_fabric() -> None:
    """For a module of tests that all need it."""
    if "this build leaves it out" in _kinds():
        pytest.skip("this build has no machine fabric", allow_module_level=True)
    if not mpirun:
        pytest.skip("there is no mpirun (Debian: openmpi-bin)", allow_module_level=True)


class Launched(Job):
    """A job that mpirun starts."""

    def __init__(self, ranks: int, program: str, *arguments: str, hosts: TwoHosts | None = None,
                 before: Sequence[str] = (), **changes: str):
        launch = [mpirun, "-n", str(ranks)]
        if hosts is not None:
            launch = hosts.mpirun(mpirun, ranks, list(changes))
        super().__init__(program, *arguments, command=[*launch, *before, programs / program],
                         **for_mpirun, **changes)
