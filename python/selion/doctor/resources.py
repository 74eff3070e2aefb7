# SPDX-License-Identifier: Apache-2.0
"""Processors, memory and limits: what a job may use here."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from selion.doctor.check import Check, judged, looked_at, passed

_gib = 1 << 30
_unlimited_above = 1 << 60  # cgroup v1 writes "no limit" as a huge number


def own_cgroup_files(controller: str, name: str) -> list[Path]:
    """Where the kernel shows a limit of this process' control group, version 2 first, then 1."""
    found: list[Path] = []
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root = Path("/sys/fs/cgroup")
        elif controller in controllers.split(","):
            root = Path("/sys/fs/cgroup", controller)
        else:
            continue
        # A limit of any ancestor holds too; in a container the own path may not be visible.
        for folder in (Path(path), *Path(path).parents):
            found.append(root / str(folder).lstrip("/") / name)
    return [path for path in dict.fromkeys(found) if path.is_file()]


def _cpu_quota() -> float | None:
    """Processors' worth of time that the control group allows; None for no limit."""
    quotas = []
    for path in own_cgroup_files("cpu", "cpu.max"):
        allowed, window = path.read_text(encoding="utf-8").split()
        if allowed != "max":
            quotas.append(int(allowed) / int(window))
    for path in own_cgroup_files("cpu", "cpu.cfs_quota_us"):
        quota = int(path.read_text(encoding="utf-8"))
        period = int(path.with_name("cpu.cfs_period_us").read_text(encoding="utf-8"))
        if quota > 0:
            quotas.append(quota / period)
    return min(quotas, default=None)


def _memory_limit() -> int | None:
    limits = []
    for name in ("memory.max", "memory.limit_in_bytes"):
        for path in own_cgroup_files("memory", name):
            text = path.read_text(encoding="utf-8").strip()
            if text != "max" and int(text) < _unlimited_above:
                limits.append(int(text))
    return min(limits, default=None)


def _processors() -> Check:
    total, usable = os.cpu_count() or 1, len(os.sched_getaffinity(0))
    found = f"{total}, of which this process may use {usable}"
    return judged(
        "processors",
        usable == total,
        found,
        ("warn", "affinity is narrowed (taskset, container or batch system); widen it if unmeant"),
    )


def _quota() -> Check:
    quota = _cpu_quota()
    if quota is None:
        return passed("cpu quota", "none")
    usable = len(os.sched_getaffinity(0))
    return judged(
        "cpu quota",
        quota >= usable,
        f"{quota:g} processors",
        ("warn", f"start about {max(1, int(quota))} ranks, or raise the container's cpu limit"),
    )


def _memory() -> Check:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = min(_memory_limit() or total, total)
    return judged(
        "memory",
        limit >= _gib,
        f"{limit / _gib:.1f} GiB may be used",
        ("warn", "set SELION_HEAP to less than a rank's share, or raise the container's limit"),
    )


def _overcommit() -> Check:
    mode = Path("/proc/sys/vm/overcommit_memory").read_text(encoding="utf-8").strip()
    return judged(
        "overcommit",
        mode != "2",
        f"vm.overcommit_memory={mode}",
        ("warn", "reserved address space counts as used: set SELION_HEAP small, or mode 0"),
    )


def _limit(name: str, which: int, at_least: int, cure: str) -> Check:
    value, _ = resource.getrlimit(which)
    if value == resource.RLIM_INFINITY:
        return passed(name, "unlimited")
    return judged(name, value >= at_least, str(value), ("warn", cure))


def checks() -> list[Check]:
    return [
        _processors(),
        looked_at("cpu quota", _quota),
        looked_at("memory", _memory),
        looked_at("overcommit", _overcommit),
        _limit(
            "address space (ulimit -v)",
            resource.RLIMIT_AS,
            64 * _gib,
            "'ulimit -v unlimited', or set SELION_HEAP small: ranks reserve address space",
        ),
        _limit(
            "locked memory (ulimit -l)",
            resource.RLIMIT_MEMLOCK,
            64 << 10,
            "'ulimit -l unlimited': networks register memory",
        ),
        _limit(
            "processes (ulimit -u)",
            resource.RLIMIT_NPROC,
            256,
            "'ulimit -u 4096': each rank may be a process or thread",
        ),
        _limit(
            "open files (ulimit -n)",
            resource.RLIMIT_NOFILE,
            256,
            "'ulimit -n 1024': a job of processes keeps a few descriptors for each",
        ),
    ]
