# SPDX-License-Identifier: Apache-2.0
"""Reads constants of a machine file, to hold them against a fit."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_folder = Path(__file__).resolve().parents[2] / "machines"


def constant(machine: str, dotted: str) -> Any:
    """The value of "network.latency_us", or of the second regime's "operations.put.2.origin_us"."""
    found: Any = tomllib.loads((_folder / f"{machine}.toml").read_text(encoding="utf-8"))
    for part in dotted.split("."):
        found = found[int(part) - 1] if isinstance(found, list) else found[part]
    return found["value"] if isinstance(found, dict) else found


def differences(machine: str, fitted: dict[str, float], digits: int) -> list[str]:
    """Sentences on constants of the file that are not the fitted ones, rounded."""
    sentences = []
    for key, value in fitted.items():
        written = constant(machine, key)
        if abs(written - value) > 0.5000001 * 10**-digits:
            sentences.append(f"{machine}: {key} is {written}, and the fit gives {value:.{digits}f}")
    return sentences


def report(machine: str, fitted: dict[str, float], digits: int) -> int:
    """Prints the fitted constants; @return an exit status: 1 if the file has others."""
    print(f"\nconstants of machines/{machine}.toml")
    for key, value in fitted.items():
        print(f"  {key} = {value:.{digits}f}")
    wrong = differences(machine, fitted, digits)
    for sentence in wrong:
        print(sentence)
    return 1 if wrong else 0
