# SPDX-License-Identifier: Apache-2.0
"""By what, where and with which settings a search measures, and which of that must be the same for
its cells to be those of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from selion.measuring_program import withheld
from selion.study import conditions
from selion.tuning import program

Circumstances = Mapping[str, Any]


def _knobs(header: Mapping[str, Any]) -> dict[str, str]:
    """The variables that the program sees, and that may change what it measures: the table in use
    has no part in it."""
    return {name: value for name, value in conditions.settings(header).items()
            if name not in (*withheld, "SELION_TUNING")}


def circumstances(header: Mapping[str, Any], any_order: bool) -> Circumstances:
    """Of a search that begins now. @param header as studies have it."""
    return {
        "selion": header["selion"],
        "commit": header["commit"],
        "program": program.digest(),
        "compiler": header["compiler"],
        "node": header["host"],
        "processor": header["cpu"],
        "cores": header["cores"],
        "kernel": header["kernel"],
        "knobs": _knobs(header),
        "any_order": any_order,
    }


def _of_program(then: Circumstances, now: Circumstances) -> list[str]:
    """What is the same program measures alike, whatever became of other files since."""
    if then.get("program") == now.get("program"):
        return []
    found = [f"the {key if key != 'selion' else 'version'} was {then.get(key) or 'not noted'}, "
             f"is {now.get(key) or 'not known'}"
             for key in ("selion", "commit") if then.get(key) != now.get(key)]
    return found or ["the measuring program was of another build"]


def _of_knobs(then: Circumstances, now: Circumstances) -> list[str]:
    old, new = then.get("knobs", {}), now.get("knobs", {})
    unset = "not set"
    return [f"{name} was {old.get(name, unset)}, is {new.get(name, unset)}"
            for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]


def differences(then: Circumstances, now: Circumstances) -> list[str]:
    """What keeps cells of `then` from being those of `now`, each in a few words."""
    if not then:
        return ["of which build and settings they are was not noted"]
    found = _of_program(then, now)
    if then.get("kernel") != now.get("kernel"):
        found.append(f"the kernel was {then.get('kernel')}, is {now.get('kernel')}")
    found += _of_knobs(then, now)
    if then.get("any_order") != now.get("any_order"):
        given = "was given, and is not" if then.get("any_order") else "was not given, and is"
        found.append(f"--any-order {given}")
    return found
