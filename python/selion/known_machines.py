# SPDX-License-Identifier: Apache-2.0
"""The machines that the library knows, and what is said of one that it does not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from selion import native, spec
from selion.mistake import Mistake, listing, nearest_name


_most_ranks = 2**20 - 1  # that an address can name
_count = r"([1-9]\d{0,6})"


def is_file(name: str) -> bool:
    """Whether a machine's name is that of a file, which a spec has behind "sim:"."""
    return "/" in name or spec.parse(name).kind.endswith(".toml")


def unknown_machine(name: str, legal: Iterable[str]) -> Mistake:
    """@param legal kinds, and simulated ones as `sim:NAME`, which may be meant by NAME alone."""
    if is_file(name):
        return Mistake(f"'{name}' is not a machine (did you mean 'sim:{name}'?); "
                       f"legal: {listing(legal)}.")
    by_word = {one.removeprefix("sim:"): one for one in legal}
    near = nearest_name(name, by_word)
    hint = f" (did you mean '{by_word[near]}'?)" if near else ""
    return Mistake(f"'{name}' is not a machine{hint}; legal: {listing(by_word.values())}.")


def expect_form(machine: str, forms: Iterable[str]) -> None:
    """@param forms of the machine's kind, such as "threads:N@C". @error Mistake for a spec that has
    none of them, or more ranks than there can be. Options are for the library to judge."""
    plain = machine.partition(",")[0]
    forms = list(forms)
    ranks = spec.parse(plain).ranks or 1
    for form in forms:
        found = re.fullmatch(re.sub("[A-Z]", lambda _: _count, form), plain)
        if found and all(number <= _most_ranks for number in (ranks, *map(int, found.groups()))):
            return
    raise Mistake(f"'{machine}' is not a machine; legal: {listing(forms)}, of 1 to {_most_ranks} "
                  "ranks.")


def expect_counts(machine: str) -> None:
    """Judges how many ranks a spec asks for, before any are started.

    @error Mistake for a spec of a real machine that has none of its kind's forms.
    """
    module, _ = native.try_load()
    kind = spec.parse(machine).kind
    if module is None or kind == "sim" or machine.partition(",")[0] == kind:
        return
    for one in module.machine_kinds():
        if one.name == kind:
            expect_form(machine, one.forms)


def explain(machine: str) -> str:
    """What a simulated machine is.

    @param machine its name, a path of a file, or a spec that begins with "sim:".
    @error Mistake if there is none, or it lacks one of the spec's options.
    """
    module = native.load()
    try:
        # A name from a command line may have bytes that are no text.
        return str(module.explain_machine(machine.encode(errors="replace").decode()))
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
        raise unknown_machine(machine if is_file(machine) else kind, kinds)
