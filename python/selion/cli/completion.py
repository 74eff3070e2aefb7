# SPDX-License-Identifier: Apache-2.0
"""What a shell may complete an argument with. Nothing here ever fails: a shell asks while somebody
types, and an answer that cannot be had is no answer."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

Found = list[tuple[str, str]]
"""Words with a help text each, which may be empty."""


def _beginning_with(incomplete: str, words: Iterable[tuple[str, str]]) -> Found:
    # A longer text would be broken into lines, and fish takes every line for an answer.
    return [(word, textwrap.shorten(text, 60, placeholder=" …")) for word, text in words
            if word.startswith(incomplete)]  # fmt: skip


def _silently(find: Callable[[Any, str], Found]) -> Callable[[Any, str], Found]:
    @functools.wraps(find)
    def found(ctx: Any, incomplete: str) -> Found:
        try:
            return find(ctx, incomplete)
        except Exception:
            return []

    return found


def _words(ctx: Any) -> list[str]:
    """What stands behind the command so far."""
    from selion.cli.catalogue import words_key

    return list(ctx.meta.get(words_key, ()))


def _first_of(legal: Iterable[str], words: Iterable[str]) -> str:
    names = set(legal)
    return next(word for word in words if word in names)


def _module() -> Any:
    from selion import native

    return native.load()


@_silently
def machines(ctx: Any, incomplete: str) -> Found:
    """Kinds of machines and simulated ones."""
    kinds = [(kind.name, kind.summary) for kind in _module().machine_kinds() if kind.name != "sim"]
    simulated = [(f"sim:{one.name}", one.summary) for one in _module().simulated_machines()]
    return _beginning_with(incomplete, [*kinds, *simulated])


@_silently
def studies(ctx: Any, incomplete: str) -> Found:
    from selion import places
    from selion.study import catalog

    folder = places.studies_folder()
    return _beginning_with(incomplete, [(name, "") for name in (*catalog.names(folder), "all")])


def _study(ctx: Any) -> Any:
    from selion import places
    from selion.study import catalog

    folder = places.studies_folder()
    return catalog.read_study(folder / _first_of(catalog.names(folder), _words(ctx)))


@_silently
def experiments(ctx: Any, incomplete: str) -> Found:
    """Those of the study that stands before it."""
    found = _study(ctx).experiments.values()
    return _beginning_with(incomplete, [(each.name, each.summary) for each in found])


def _usual(axis: Any) -> list[str]:
    """Values as one writes them."""
    values = axis.legal.listed or axis.default
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]


@_silently
def settings(ctx: Any, incomplete: str) -> Found:
    """KEY=VALUE of an axis of the study, or of the experiment if that is given; behind a comma
    another value."""
    study = _study(ctx)
    words = _words(ctx)
    wanted = [word for before, word in pairwise(words) if before == "--experiment"]
    chosen = [study.experiment(wanted[-1])] if wanted else study.experiments.values()
    axes = {name: axis for each in chosen for name, axis in each.axes.items()}
    key, equals, values = incomplete.partition("=")
    if not equals:
        near = {name: axis for name, axis in axes.items() if name.startswith(key)}
        found = [(f"{name}={text}", axis.summary) for name, axis in near.items()
                 for text in _usual(axis)]  # fmt: skip
        return _beginning_with(key, found)
    before, comma, _ = values.rpartition(",")
    found = [(f"{key}={before}{comma}{text}", "") for text in _usual(axes[key])]
    return _beginning_with(incomplete, found)


@_silently
def collectives(ctx: Any, incomplete: str) -> Found:
    from selion import schedules

    return _beginning_with(incomplete, [(name, "") for name in schedules.collectives()])


@_silently
def algorithms(ctx: Any, incomplete: str) -> Found:
    """Those of the collective that stands before it, else all."""
    from selion import schedules

    legal = schedules.collectives()
    named = [word for word in _words(ctx) if word in legal]
    chosen = named[:1] or legal
    names = dict.fromkeys(name for each in chosen for name in schedules.algorithms(each))
    return _beginning_with(incomplete, [(name, "") for name in names])


@_silently
def benchmarks(ctx: Any, incomplete: str) -> Found:
    from selion.benchmarks import benchmarks as legal

    return _beginning_with(incomplete, [(name, each.summary) for name, each in legal.items()])
