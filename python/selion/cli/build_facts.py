# SPDX-License-Identifier: Apache-2.0
"""selion --version: the version, and what was built how."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

from selion import native
from selion.version import version


def _numpy() -> str:
    try:
        return metadata.version("numpy")
    except metadata.PackageNotFoundError:
        return "not there"


def _of_the_module() -> list[tuple[str, str]]:
    module, reason = native.try_load()
    if module is None:
        return [("library", f"not there: {reason}")]
    facts = dict(module.build_facts())
    kinds = [kind.name for kind in module.machine_kinds() if kind.available]
    simulated = len(module.simulated_machines())
    machines = ", ".join(kinds) + (f" ({simulated} simulated ones)" if "sim" in kinds else "")
    return [("library", f"{facts.pop('library')} in {module.__file__}"), *facts.items(),
            ("machines", machines)]  # fmt: skip


def facts() -> list[tuple[str, str]]:
    """Names and values, in words."""
    from selion.study.header import commit

    return [
        ("commit", commit() or "unknown"),
        *_of_the_module(),
        ("Python", f"{platform.python_version()} in {sys.executable}"),
        ("NumPy", _numpy()),
    ]


def show() -> None:
    print(f"selion {version()}")
    for name, value in facts():
        print(f"{name:12} {value}")
