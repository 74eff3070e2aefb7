# SPDX-License-Identifier: Apache-2.0
"""What the machine `fabric` needs of this host: networks that libfabric knows, and a launcher."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from typing import TYPE_CHECKING

from selion import launcher, native
from selion.doctor.check import Check, judged, passed
from selion.mistake import Mistake

if TYPE_CHECKING:
    from selion._core import FabricOffer

_limit_seconds = 20
_good_files = 4096  # connections to two thousand ranks
#: Providers that what strangers send ends or hangs, within libfabric 1.17 itself.
_harmed_by_strangers = ("sockets", "udp;ofi_rxd")
#: What the library says of networks that stay within a host.
_out_of_reach = "other hosts do not reach it"
_good_locked_bytes = 8 << 20  # buffers of an endpoint, and as much for the provider


def _launcher_check() -> Check:
    try:
        return passed("launcher", launcher.find().path)
    except Mistake as problem:
        return Check("launcher", "warn", str(problem),
                     "install one with a PMIx server, for example Open MPI (Debian: openmpi-bin)")


def _slurm_check() -> list[Check]:
    """Slurm may have been built without PMIx."""
    if not shutil.which("srun"):
        return []
    try:
        done = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, check=False,
                              errors="replace", timeout=_limit_seconds)
        has_pmix = "pmix" in done.stdout + done.stderr
        found = "there" if has_pmix else "not there"
    except subprocess.TimeoutExpired:
        has_pmix, found = False, f"'srun --mpi=list' has not ended after {_limit_seconds} s"
    except OSError as problem:
        has_pmix, found = False, f"srun cannot be started: {problem.strerror}"
    return [judged("srun --mpi=pmix", has_pmix, found,
                   ("warn", "start with mpirun within the allocation"))]


def _abilities(offer: FabricOffer) -> str:
    """What it can do, as libfabric tells it, and what is made of it."""
    words = ["one stream between two ranks" if offer.has_stream else "no single stream"]
    if offer.has_moves:
        use = "used for long transfers" if offer.is_moving else "not used"
        words.append(f"moves memory ({use})")
    else:
        words.append("moves no memory")
    words.append("has atomics (not used)" if offer.has_atomics else "no atomics")
    words.append("wakes idle ranks" if offer.has_wait_file else "idle ranks look every millisecond")
    return ", ".join(words)


def _offer_check(offer: FabricOffer) -> Check:
    name = f"{offer.provider} on {offer.interface}"
    place = f" ({offer.network})" if offer.network else ""
    if offer.is_chosen:
        return passed(name, f"chosen{place}; {_abilities(offer)}")
    why = offer.why_not or "another one comes before it"
    return passed(name, f"skipped{place}: {why}; {_abilities(offer)}")


def _filter() -> str | None:
    """libfabric's own setting, by which it leaves providers out."""
    return os.environ.get("FI_PROVIDER")


def filter_check() -> list[Check]:
    if _filter() is None:
        return []
    found = f"{_filter() or 'set and empty'}: libfabric leaves providers out"
    return [Check("FI_PROVIDER", "warn", found, "unset it, unless that is wanted")]


def network_check(offers: list[FabricOffer]) -> Check:
    """Whether jobs on several hosts have a network."""
    if any(offer.is_chosen for offer in offers):
        return passed("network", "jobs on several hosts have one")
    if not offers:
        found = "libfabric offers none with reliable datagrams in order"
    elif all(offer.why_not == _out_of_reach for offer in offers):
        found = "jobs on several hosts have none, because there is loopback only; on one they run"
    elif any(offer.why_not == _out_of_reach for offer in offers):
        found = "jobs on several hosts have none, below is why; on one they run"
    else:
        found = "jobs on several hosts have none; below is why"
    variables = ("SELION_FABRIC_PROVIDER", "SELION_FABRIC_INTERFACE", "FI_PROVIDER")
    set_ones = [name for name in variables if name in os.environ]
    if set_ones:
        cure = f"unset {' and '.join(set_ones)}, or name others"
    else:
        cure = "bring up an interface that other hosts reach: ip link; ip address"
    return Check("network", "fail", found, cure)


def strangers_check(offers: list[FabricOffer]) -> list[Check]:
    chosen = next((offer.provider for offer in offers if offer.is_chosen), None)
    if chosen not in _harmed_by_strangers:
        return []
    return [Check("strangers", "warn",
                  f"{chosen} itself can be ended or hung by whoever reaches a port of the job",
                  "use it on networks that nobody else reaches; docs/reference/security.md")]


def faster_check(offers: list[FabricOffer], ranking: list[str]) -> list[Check]:
    """Which providers come before the one that is chosen, and why they are not it."""
    chosen = next((offer.provider for offer in offers if offer.is_chosen), None)
    if chosen not in ranking:
        return []  # none, or one that was asked for by name
    before = ranking[: ranking.index(chosen)]
    reasons = {offer.provider: offer.why_not for offer in offers if offer.provider in before}
    absent = [name for name in before if name not in reasons]
    words = [f"{name}: {why}" for name, why in reasons.items()]
    if absent:
        filtered = f", with FI_PROVIDER={_filter()}" if _filter() is not None else ""
        words.append(f"{', '.join(absent)}: libfabric finds none that has reliable datagrams"
                     f"{filtered}")
    return [passed("before " + chosen, "; ".join(words) or "nothing comes before it")]


def _limit_checks() -> list[Check]:
    """A connection to each other rank takes a file or two; some networks lock memory."""
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    locked, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    has_files = files == resource.RLIM_INFINITY or files >= _good_files
    has_memory = locked == resource.RLIM_INFINITY or locked >= _good_locked_bytes
    return [
        judged("open files", has_files, f"at most {_limit_text(files)}",
               ("warn", f"for many ranks raise the hard limit: ulimit -n {_good_files}")),
        judged("locked memory", has_memory, f"bytes: at most {_limit_text(locked)}",
               ("warn", "for verbs, efa and their like raise the limit: ulimit -l unlimited")),
    ]


def _limit_text(limit: int) -> str:
    return "as many as there are" if limit == resource.RLIM_INFINITY else str(limit)


def moving_providers() -> set[str]:
    """Providers that would make long transfers by themselves. @pre `checks` have passed"""
    module, _ = native.try_load()
    offers = module.fabric_offers() if module is not None else []
    return {offer.provider for offer in offers if offer.is_moving}


def checks() -> list[Check]:
    module, reason = native.try_load()
    if module is None:
        cure = "'selion doctor' says more"
        return [Check("networks", "fail", f"cannot be asked: {reason}", cure)]
    try:
        offers = module.fabric_offers()
    except OSError as problem:
        return [Check("networks", "fail", str(problem), "see docs/howto/run-on-a-cluster.md")]
    return [network_check(offers), *filter_check(), *strangers_check(offers),
            *faster_check(offers, module.fabric_ranking()), *map(_offer_check, offers),
            _launcher_check(), *_slurm_check(), *_limit_checks()]
