# SPDX-License-Identifier: Apache-2.0
"""What must hold between collectives, or a program could do better by calling others.

After J. L. Träff, W. Gropp, R. Thakur: Self-Consistent MPI Performance Guidelines, IEEE
Transactions on Parallel and Distributed Systems 21(5), 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from selion.explanation import size_text
from selion.tuning.table import Place, Row

_tolerance = 1.10  # beyond what is measured twice alike


@dataclass(frozen=True)
class Violation:
    """`slow` takes longer than `others` together."""

    slow: Place
    others: tuple[Place, ...]
    ns: float
    others_ns: float

    def __str__(self) -> str:
        names = " + ".join(_name(each) for each in self.others)
        return (f"{self.slow.machine}, {self.slow.members} ranks: {_name(self.slow)} takes "
                f"{self.ns:,.0f} ns, {names} {self.others_ns:,.0f} ns")


def _name(place: Place) -> str:
    return place.collective + ("" if place.size == 0 else f" of {size_text(place.size)}")


# Each: the one that must not be slower, and what it must not be slower than, with the bytes of
# their blocks where its own are `size` and there are `ranks`.
_Sizes = Callable[[int, int], int]
_same: _Sizes = lambda size, ranks: size
_all: _Sizes = lambda size, ranks: size * ranks
_part: _Sizes = lambda size, ranks: -(-size // ranks)
_rules: tuple[tuple[str, tuple[tuple[str, _Sizes], ...]], ...] = (
    ("all_reduce", (("reduce", _same), ("broadcast", _same))),
    ("all_gather", (("gather", _same), ("broadcast", _all))),
    ("all_gather", (("exchange", _same),)),
    ("reduce_scatter", (("reduce", _all), ("scatter", _same))),
    ("reduce_scatter", (("all_reduce", _all),)),
    ("broadcast", (("scatter", _part), ("all_gather", _part))),
    ("reduce", (("all_reduce", _same),)),
    ("gather", (("all_gather", _same),)),
    ("scatter", (("broadcast", _all),)),
    ("exscan", (("scan", _same), ("broadcast", _same))),
    ("barrier", (("all_reduce", lambda size, ranks: 8),)),
)


def best(row: Row) -> float:
    """What the way takes that is chosen."""
    return next(iter(row.values()))


def _covering(rows: Mapping[Place, Row], place: Place) -> Place | None:
    """The row that a block of this size falls under."""
    legal = [each for each in rows if each.size >= place.size
             and (each.collective, each.machine, each.members)
             == (place.collective, place.machine, place.members)]
    return min(legal, key=lambda each: each.size, default=None)


def _of_rules(rows: Mapping[Place, Row]) -> Iterator[tuple[Place, tuple[Place | None, ...]]]:
    for place in rows:
        for slow, others in _rules:
            if slow == place.collective:
                yield place, tuple(
                    _covering(rows, Place(name, place.machine, place.members,
                                          size(place.size, place.members)))
                    for name, size in others
                )


def _of_lengths(rows: Mapping[Place, Row]) -> Iterator[tuple[Place, tuple[Place | None, ...]]]:
    """A shorter block must not take longer than the next longer one."""
    for place in rows:
        longer = Place(place.collective, place.machine, place.members, place.size + 1)
        yield place, (_covering(rows, longer),)


def violations(rows: Mapping[Place, Row]) -> list[Violation]:
    """All of them, the worst first."""
    found = []
    for slow, others in (*_of_rules(rows), *_of_lengths(rows)):
        known = tuple(each for each in others if each is not None)
        if len(known) != len(others):
            continue
        ns, others_ns = best(rows[slow]), sum(best(rows[each]) for each in known)
        if ns > _tolerance * others_ns:
            found.append(Violation(slow, known, ns, others_ns))
    return sorted(found, key=lambda each: each.others_ns / each.ns)
