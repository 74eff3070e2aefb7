# SPDX-License-Identifier: Apache-2.0
"""Under which conditions rows were measured, and which of them matter for which rows.

All rows depend on the code, on variables that change what it does, and simulated ones on the
constants of their machine. Only what is measured by a clock depends on the host as well; virtual
times are the same on every one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from selion import spec

Header = Mapping[str, Any]

#: Variables that say where things lie, and what is said of a run: rows are the same.
without_effect = frozenset({
    "SELION_BIN", "SELION_CRASH_REPORT", "SELION_HANG_ACTION", "SELION_HANG_TIMEOUT",
    "SELION_MACHINE", "SELION_PREFIX", "SELION_STUDIES", "SELION_STUDY_DATA", "SELION_TIME",
    "SELION_VERBOSE"})  # fmt: skip
#: Variables that virtual times do not depend on.
_of_real_machines = frozenset({
    "SELION_BIND", "SELION_FABRIC_BATCHES", "SELION_FABRIC_INTERFACE", "SELION_FABRIC_PROVIDER",
    "SELION_FABRIC_TIMEOUT", "SELION_HOSTS", "SELION_MEMBARRIER", "SELION_METERS",
    "SELION_PROCESS_MEMORY", "SELION_SPIN", "SELION_TRACE"})  # fmt: skip
_of_networks = "FI_"  # their library's begin so
_of_host = {
    "host": "the host",
    "cpu": "the processor",
    "cores": "the number of usable processors",
    "kernel": "the kernel",
    "compiler": "the compiler",
    "tuning": "the table of measured collectives",
}
_by_name = ("constants", "programs")  # tables of a header: rows depend on some of what is there
_of_a_run = frozenset({"begun", "resumed"})  # of a header, and no conditions
_dirty = "-dirty"  # behind a commit from which files differ


def is_measured(machine: str) -> bool:
    """Whether a clock of the host is in what this machine yields. @param machine a spec."""
    found = spec.parse(machine)
    return found.kind != "sim" or ",compute=measured" in found.options


def specs_of(machine: str, params: Mapping[str, Any]) -> set[str]:
    """The machines that a row depends on: its own, and simulated ones that its params name."""
    named = (each for each in params.values() if isinstance(each, str))
    return {machine, *(each for each in named if each.startswith("sim:"))}


def _is_of_real_machines(variable: str) -> bool:
    return variable in _of_real_machines or variable.startswith(_of_networks)


def settings(header: Header) -> dict[str, str]:
    """The variables of a header that may change rows."""
    return {name: value for name, value in sorted(header.get("knobs", {}).items())
            if name not in without_effect}


def holds_for(then: Header, now: Header) -> bool:
    """Whether a header says of later rows all that their own would, also of which day they are."""
    def whole(header: Header) -> dict[str, Any]:
        return {key: each for key, each in header.items()
                if key not in _of_a_run and key not in _by_name}

    return whole(then) == whole(now) \
        and str(then.get("begun"))[:10] == str(now["begun"])[:10] \
        and all(then.get(table, {}).get(name) == each
                for table in _by_name for name, each in now[table].items())


def _changed(what: str, then: Any, now: Any) -> str:
    return f"{what} was {then or 'not noted'}, is {now or 'not known'}"


def _of_code(then: Header, now: Header) -> list[str]:
    found = []
    if then.get("selion") != now.get("selion"):
        found.append(_changed("the version", then.get("selion"), now.get("selion")))
    old, new = (str(each.get("commit") or "").removesuffix(_dirty) for each in (then, now))
    if old != new:
        found.append(_changed("the commit", then.get("commit"), now.get("commit")))
    elif str(then.get("commit")).endswith(_dirty) and "changes" not in then:
        found.append("which changes there were to the commit was not noted")
    elif "unknown" in (then.get("changes"), now.get("changes")):
        found.append("which changes there are to the commit is not known: sources are newer than "
                     "what was compiled")
    elif then.get("changes") != now.get("changes"):
        found.append("the changes to the commit were others")
    return found


def _of_settings(then: Header, now: Header, are_measured: bool) -> list[str]:
    old, new = settings(then), settings(now)
    unset = "not set"
    return [f"{name} was {old.get(name, unset)}, is {new.get(name, unset)}"
            for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)
            and (are_measured or not _is_of_real_machines(name))]


def _of_programs(then: Header, now: Header) -> list[str]:
    """Of a program that has not measured before nothing is said."""
    known = then.get("programs", {})
    return [_changed(f"the folder of the program '{name}'", known[name], folder)
            for name, folder in now.get("programs", {}).items()
            if known.get(name, folder) != folder]


def differences(then: Header, old: Iterable[str], now: Header, new: Iterable[str]) -> list[str]:
    """What keeps rows that were measured under `then` from standing beside those of `now`, each in
    a few words.

    @param old machines of the former, as `specs_of`. @param new those of the latter.
    """
    old, new = set(old), set(new)
    are_measured = any(map(is_measured, old)) and any(map(is_measured, new))
    found = _of_code(then, now)
    if are_measured:
        found += [_changed(words, then.get(key), now.get(key)) for key, words in _of_host.items()
                  if then.get(key) != now.get(key)]
        found += _of_programs(then, now)
    known = then.get("constants", {})
    names = {machine.partition(",")[0] for machine in old} \
        & {machine.partition(",")[0] for machine in new}
    return found + _of_settings(then, now, are_measured) + [
        f"the machine '{name}' had other constants, such as those of another calibration"
        for name, digest in now["constants"].items()
        if name in names and known.get(name, digest) != digest
    ]
