# SPDX-License-Identifier: Apache-2.0
"""Checks of what Selion needs from this host, each with its cure."""

from __future__ import annotations

from selion.doctor import building, fabric, kernel, package, resources
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


def fabric_checks() -> list[Check]:
    """What programs on many hosts need."""
    return fabric.checks()
