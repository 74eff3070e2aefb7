# SPDX-License-Identifier: Apache-2.0
"""The machines that the library knows, and what is said of one that it does not."""

from __future__ import annotations

from collections.abc import Iterable

from selion import native, spec
from selion.mistake import Mistake, listing, nearest_name


def unknown_machine(name: str, legal: Iterable[str]) -> Mistake:
    """@param legal kinds, and simulated ones as `sim:NAME`, which may be meant by NAME alone."""
    by_word = {one.removeprefix("sim:"): one for one in legal}
    near = nearest_name(name, by_word)
    hint = f" (did you mean '{by_word[near]}'?)" if near else ""
    return Mistake(f"'{name}' is not a machine{hint}; legal: {listing(by_word.values())}.")


def explain(machine: str) -> str:
    """What a simulated machine is.

    @param machine its name, a path of a file, or a spec that begins with "sim:".
    @error Mistake if there is none, or it lacks one of the spec's options.
    """
    try:
        return str(native.load().explain_machine(machine))
    except ValueError as problem:
        raise Mistake(str(problem)) from None


def check(machine: str) -> None:
    """Judges a spec as far as that can be done without starting ranks.

    @error Mistake for a kind of machine that does not exist, and for a simulated one that cannot be
    had. Counts and options of other kinds are for the library to judge, at the start.
    """
    module, _ = native.try_load()
    if module is None:  # nobody knows
        return
    kind = spec.parse(machine).kind
    if kind == "sim":
        explain(machine)
        return
    kinds = [one.name for one in module.machine_kinds()]
    if kind not in kinds:
        raise unknown_machine(kind, kinds)
