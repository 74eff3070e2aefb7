# SPDX-License-Identifier: Apache-2.0
"""The package itself: its compiled module, its studies, and the variables that are set for it."""

from __future__ import annotations

import difflib
import os
from types import ModuleType

from selion import known_machines, native, places
from selion.doctor.check import Check, judged, looked_at, passed
from selion.mistake import Failure, Mistake
from selion.study import catalog
from selion.version import version

_package_knobs = ("SELION_BIN", "SELION_HOSTS", "SELION_STUDIES")
#: Of names that the library sets for itself, and that tests set.
_private = ("SELION_JOB_", "SELION_TEST_")


def _module() -> Check:
    module, reason = native.try_load()
    if module is None:
        cure = "'pip install .' in the source tree, once the lines above are in order"
        return Check("compiled module", "fail", reason, cure)
    built = module.version()
    return judged(
        "compiled module",
        built == version(),
        f"version {built}",
        ("warn", f"it is not of this package's version {version()}: 'pip install .' again"),
    )


def _studies() -> Check:
    try:
        studies = catalog.read_all(places.studies_folder())
        programs = {
            experiment.program
            for study in studies.values()
            for experiment in study.experiments.values()
        }
        for name in sorted(programs):
            places.study_program(name)
    except (Failure, Mistake) as problem:
        return Check("studies", "warn", str(problem), "build them, or set SELION_BIN")
    return passed("studies", f"{len(studies)} with their programs: {', '.join(studies)}")


def unknown_variables(names: list[str], known: list[str]) -> list[Check]:
    """One warning for each SELION_ variable that nobody reads, with the nearest name."""
    warnings = []
    for name in names:
        if name in known or name.startswith(_private):
            continue
        # Without the prefix, which makes all names look alike.
        near = difflib.get_close_matches(name[7:], [each[7:] for each in known], n=1)
        cure = f"did you mean SELION_{near[0]}?" if near else f"legal: {', '.join(known)}"
        warnings.append(Check("variables", "warn", f"{name} is set, which nobody reads", cure))
    return warnings


def _variables() -> list[Check]:
    module, _ = native.try_load()
    if module is None:
        return []
    known = sorted({*(knob.name for knob in module.knobs()), *_package_knobs})
    present = sorted(name for name in os.environ if name.startswith("SELION_"))
    said = ", ".join(f"{name}={os.environ[name]}" for name in present) or "none of SELION_* is set"
    return [*unknown_variables(present, known), *_senseless_values(module)] \
        or [passed("variables", said)]


def _senseless_values(module: ModuleType) -> list[Check]:
    """With these no job would start."""
    if trouble := module.knob_trouble():
        return [Check("variables", "fail", trouble, "set it to one of those, or unset it")]
    machine = os.environ.get("SELION_MACHINE")
    if not machine:
        return []
    try:
        known_machines.check(machine)
        known_machines.expect_counts(machine)
    except Mistake as problem:
        return [Check("SELION_MACHINE", "fail", str(problem), "'selion machines' lists all")]
    return []


def _machines() -> list[Check]:
    module, _ = native.try_load()
    if module is None:
        return []
    return [
        judged(
            f"machine {kind.name}",
            kind.available,
            "available" if kind.available else kind.reason,
            ("warn", "'selion machines --explain " + kind.name + "' says more"),
        )
        for kind in module.machine_kinds()
    ]


def checks() -> list[Check]:
    return [_module(), *_machines(), looked_at("studies", _studies), *_variables()]
