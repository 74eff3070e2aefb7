# SPDX-License-Identifier: Apache-2.0
"""Machine specs as text: KIND[:RANKS][,OPTION...]. The library judges whether one is legal."""

from __future__ import annotations

import re
from dataclasses import dataclass

from selion.mistake import Mistake

_counted = re.compile(r"(?P<first>\d+)(?:x(?P<each>\d+))?(?:@\d+)?")
#: Ranks of each process, where a launcher says how many processes there are.
_per_process = re.compile(r"x(?P<each>[1-9]\d*)")
#: Where the machine is a description, and the number of ranks an option.
_simulated = re.compile(r",ranks=(?P<ranks>\d+)(?=,|$)")
_most_digits = 10  # of a number of ranks


def _number(digits: str) -> int:
    """@error Mistake if it is longer than any number of ranks."""
    if len(digits.lstrip("0")) > _most_digits:
        raise Mistake(f"'{digits}' is not a number of ranks; legal: 1 to {2**32 - 1}.")
    return int(digits.lstrip("0") or 0)


@dataclass(frozen=True)
class Spec:
    """The three parts of a machine spec; `shape` is what stands between the colon and the comma."""

    kind: str
    shape: str
    options: str

    def __str__(self) -> str:
        return self.kind + (f":{self.shape}" if self.shape else "") + self.options

    @property
    def ranks(self) -> int | None:
        """How many ranks the spec asks for; None where it leaves that to the machine.

        @error Mistake if it is no number of ranks.
        """
        found = _counted.fullmatch(self.shape)
        if not found:
            return None
        return _number(found["first"]) * _number(found["each"] or "1")

    @property
    def per_process(self) -> int:
        """How many ranks a process has, of kinds whose ranks are those of processes.

        @error Mistake if it is no number of ranks.
        """
        if self.kind == "sim":
            return 1
        found = _per_process.fullmatch(self.shape) or _counted.fullmatch(self.shape)
        return max(1, _number(found["each"] or "1")) if found else 1


def parse(text: str) -> Spec:
    """Splits a spec; never fails, since judging it is the library's affair."""
    head, comma, options = text.partition(",")
    kind, _, shape = head.partition(":")
    return Spec(kind, shape, comma + options)


def with_ranks(text: str, ranks: int, asker: str = "-n") -> str:
    """The spec with its rank count filled in.

    @param asker who wants that many ranks, for the sentence of an error.
    @error Mistake if the spec already asks for another number of ranks.
    """
    if ranks < 1:
        raise Mistake(f"{ranks} ranks were asked for; legal is 1 or more.")
    spec = parse(text)
    if spec.kind == "sim":
        found = _simulated.search(spec.options)
        if found and _number(found["ranks"]) != ranks:
            raise Mistake(
                f"The machine '{text}' has {found['ranks']} ranks but {asker} asks for {ranks}; "
                f"leave out one of them."
            )
        return text if found or not spec.shape else f"{text},ranks={ranks}"
    kind, at, carriers = (spec.shape or spec.kind).partition("@")
    if at and not spec.shape:  # threads@2
        return str(Spec(kind, f"{ranks}@{carriers}", spec.options))
    if at and not kind:  # threads:@2
        return str(Spec(spec.kind, f"{ranks}@{carriers}", spec.options))
    if not spec.shape:
        return str(Spec(spec.kind, str(ranks), spec.options))
    if spec.kind == "fabric" and _per_process.fullmatch(spec.shape):
        if ranks % spec.per_process != 0:
            raise Mistake(
                f"{asker} asks for {ranks} ranks, but a process of the machine '{text}' has "
                f"{spec.per_process}; legal is a multiple of {spec.per_process}."
            )
        return str(Spec(spec.kind, f"{ranks // spec.per_process}x{spec.per_process}", spec.options))
    if spec.ranks is not None and spec.ranks != ranks:
        raise Mistake(
            f"The machine '{text}' has {spec.ranks} ranks but {asker} asks for {ranks}; "
            f"leave out one of them, or write '{spec.kind}:{ranks}'."
        )
    return text
