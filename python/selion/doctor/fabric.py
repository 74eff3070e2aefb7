# SPDX-License-Identifier: Apache-2.0
"""What the machine `fabric` needs of this host: networks that libfabric knows, and a launcher."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from selion import native
from selion.doctor.check import Check, judged, passed

if TYPE_CHECKING:
    from selion._core import FabricOffer

_launchers = ("mpirun", "prterun", "srun")
_limit_seconds = 20


def _launcher_check() -> Check:
    found = [name for name in _launchers if shutil.which(name)]
    return judged(
        "launcher",
        bool(found),
        ", ".join(found) or f"none of {', '.join(_launchers)} is there",
        ("warn", "install one with a PMIx server, for example Open MPI (Debian: openmpi-bin)"),
    )


def _slurm_check() -> list[Check]:
    """Slurm may have been built without PMIx."""
    if not shutil.which("srun"):
        return []
    done = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, check=False,
                          timeout=_limit_seconds)
    has_pmix = "pmix" in done.stdout + done.stderr
    return [judged("srun --mpi=pmix", has_pmix, "there" if has_pmix else "not there",
                   ("warn", "start with mpirun within the allocation"))]


def _offer_check(offer: FabricOffer) -> Check:
    name = f"{offer.provider} on {offer.interface}"
    place = f" ({offer.network})" if offer.network else ""
    if offer.is_chosen:
        return passed(name, f"chosen{place}")
    return passed(name, f"skipped{place}: {offer.why_not or 'another one comes before it'}")


def checks() -> list[Check]:
    module, reason = native.try_load()
    if module is None:
        cure = "'selion doctor' says more"
        return [Check("networks", "fail", f"cannot be asked: {reason}", cure)]
    try:
        offers = module.fabric_offers()
    except OSError as problem:
        return [Check("networks", "fail", str(problem), "see docs/howto/run-on-a-cluster.md")]
    network = judged(
        "network",
        any(offer.is_chosen for offer in offers),
        "jobs on several hosts have one",
        ("fail", "unset SELION_FABRIC_PROVIDER and SELION_FABRIC_INTERFACE, or name others"),
    )
    return [network, *map(_offer_check, offers), _launcher_check(), *_slurm_check()]
