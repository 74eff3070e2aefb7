# SPDX-License-Identifier: Apache-2.0
"""Checks of what Selion needs from this host, each with its cure."""

from __future__ import annotations

from selion.doctor import building, fabric, kernel, package, paths, resources
from selion.doctor.check import Check

__all__ = ["Check", "all_checks", "fabric_checks"]


def all_checks() -> list[Check]:
    """Every check, in the order in which to read them."""
    return [
        *resources.checks(),
        *kernel.checks(),
        *building.checks(),
        *package.checks(),
    ]


def fabric_checks(ranks: int | None = None, hosts: str | None = None) -> list[Check]:
    """What programs on many hosts need. With a number of ranks or hosts: also how the ranks of such
    a job reach each other."""
    found = fabric.checks()
    if (ranks is None and hosts is None) or any(check.status == "fail" for check in found):
        return found
    return [*found, *paths.checks(ranks, hosts, fabric.moving_providers())]
